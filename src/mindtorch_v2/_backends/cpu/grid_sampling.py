"""Sampling of images and volumes at given positions: `grid_sampler_2d`, `grid_sampler_3d` and their transposes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from math import prod
from typing import Any

import numpy as np

from ..._dispatch.registry import kernel
from .unsupported import type_word

BILINEAR, NEAREST, BICUBIC = 0, 1, 2
ZEROS, BORDER, REFLECTION = 0, 1, 2
_CUBIC = -0.75


# --- from [-1, 1] to positions in the image
def _to_pixels(x: np.ndarray, size: int, corners: bool) -> tuple[np.ndarray, float]:
    """Positions in pixels, and their derivative."""
    if corners:
        return (x + 1) * ((size - 1) / 2), (size - 1) / 2
    return ((x + 1) * size - 1) / 2, size / 2


def _clip(x: np.ndarray, size: int) -> tuple[np.ndarray, Any]:
    """Positions inside the image, and 0 where the border was taken, else 1."""
    return np.clip(x, 0, size - 1), (x > 0) & (x < size - 1)


def _reflect(x: np.ndarray, size: int, corners: bool) -> tuple[np.ndarray, Any]:
    """Positions mirrored at the edges until they are inside, and the sign of the last direction."""
    low, high = (0, 2 * (size - 1)) if corners else (-1, 2 * size - 1)
    if low == high:
        return np.zeros_like(x), np.zeros_like(x)
    start, span = low / 2, (high - low) / 2
    moved = x - start
    sign = np.where(moved < 0, -1, 1)
    extra = np.fmod(np.abs(moved), span)
    flips = np.floor(np.abs(moved) / span).astype(np.int64)
    even = flips % 2 == 0
    return np.where(even, extra + start, span - extra + start), np.where(even, sign, -sign)


def _positions(x: np.ndarray, size: int, padding: int, corners: bool) -> tuple[np.ndarray, Any]:
    """Where to read, and the derivative with respect to the grid's number."""
    positions, slope = _to_pixels(x, size, corners)
    grad: Any = slope
    if padding == REFLECTION:
        positions, sign = _reflect(positions, size, corners)
        grad = grad * sign
    if padding != ZEROS:
        positions, inside = _clip(positions, size)
        grad = grad * inside
    return positions, grad


# --- reading
def _indices(positions: Sequence[np.ndarray], sizes: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """Flat positions (0 where outside) and whether they are inside."""
    inside: Any = True
    for p, size in zip(positions, sizes):
        inside = inside & (p >= 0) & (p < size)
    flat: Any = 0
    for p, size in zip(positions, sizes):
        flat = flat * size + np.where(inside, p, 0).astype(np.int64)
    return flat, inside


def _read(image: np.ndarray, flat: np.ndarray, inside: np.ndarray) -> np.ndarray:
    """image (N, C, all pixels) at (N, P) -> (N, C, P), 0 outside."""
    taken = np.take_along_axis(image, flat[:, None], axis=2)
    return np.where(inside[:, None], taken, taken.dtype.type(0))


def _cubic_weights(t: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """The weights of the four neighbours, and their derivatives."""
    a = _CUBIC
    out: list[tuple[np.ndarray, np.ndarray]] = []
    for d, sign in ((t + 1, 1), (t, 1), (1 - t, -1), (2 - t, -1)):
        if d is t or sign == -1 and len(out) == 2:
            out.append((((a + 2) * d - (a + 3)) * d * d + 1, sign * (3 * (a + 2) * d - 2 * (a + 3)) * d))
        else:
            out.append((((a * d - 5 * a) * d + 8 * a) * d - 4 * a, sign * ((3 * a * d - 10 * a) * d + 8 * a)))
    return out


class _Sampling:
    """The neighbours that one call reads: flat positions, weights and the weights' derivatives. Dimensions are in
    the order of the image's; the grid names them backwards, x first.
    """

    def __init__(self, grid: np.ndarray, sizes: Sequence[int], mode: int, padding: int, corners: bool) -> None:
        rank = len(sizes)
        points = grid.reshape(grid.shape[0], prod(grid.shape[1:-1]), rank)
        self.sizes, self.mode, self.padding, self.corners = sizes, mode, padding, corners
        self.positions: list[np.ndarray] = []
        self.slopes: list[Any] = []
        for axis, size in enumerate(sizes):
            along = points[..., rank - 1 - axis]
            # In cubic mode neighbours, not the position itself, are brought inside.
            position, slope = (
                _to_pixels(along, size, corners) if mode == BICUBIC else _positions(along, size, padding, corners)
            )
            self.positions.append(position)
            self.slopes.append(slope)

    def neighbours(self) -> Iterator[tuple[np.ndarray, np.ndarray, Any, list[Any]]]:
        """(flat, inside, weight, derivatives of the weight by the positions), in pixels."""
        if self.mode == NEAREST:
            flat, inside = _indices([np.rint(p) for p in self.positions], self.sizes)
            yield flat, inside, 1, [0] * len(self.sizes)
            return
        for chosen in product(*(self._along(p, size) for p, size in zip(self.positions, self.sizes))):
            flat, inside = _indices([position for position, _, _ in chosen], self.sizes)
            weights = [w for _, w, _ in chosen]
            yield (
                flat,
                inside,
                prod(weights),
                [prod([*weights[:i], slope, *weights[i + 1 :]]) for i, (_, _, slope) in enumerate(chosen)],
            )

    def _along(self, position: np.ndarray, size: int) -> list[tuple[np.ndarray, Any, Any]]:
        """The neighbours along one dimension: where, weight, derivative of the weight."""
        first = np.floor(position)
        t = position - first
        if self.mode == BILINEAR:
            return [(first, 1 - t, -1), (first + 1, t, 1)]
        return [(self._inside(first + (i - 1), size), w, slope) for i, (w, slope) in enumerate(_cubic_weights(t))]

    def _inside(self, p: np.ndarray, size: int) -> np.ndarray:
        if self.padding == REFLECTION:
            p, _ = _reflect(p, size, self.corners)
        return p if self.padding == ZEROS else np.clip(p, 0, size - 1)


def _as_float_arrays(*arrays: np.ndarray) -> list[np.ndarray]:
    return [np.ascontiguousarray(a, np.float32 if a.dtype == np.float16 else None) for a in arrays]


@kernel("grid_sampler_2d", "grid_sampler_3d")
def grid_sampler(
    input: np.ndarray, grid: np.ndarray, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> np.ndarray:
    if grid.dtype != input.dtype:
        raise RuntimeError(f"expected scalar type {type_word(input)} but found {type_word(grid)}")
    x, positions = _as_float_arrays(input, grid)
    n, c, *sizes = x.shape
    image = x.reshape(n, c, prod(sizes))
    total: Any = np.zeros((n, c, prod(grid.shape[1:-1])), x.dtype)
    for flat, inside, weight, _ in _Sampling(
        positions, sizes, interpolation_mode, padding_mode, align_corners
    ).neighbours():
        taken = _read(image, flat, inside)
        total += taken if isinstance(weight, int) else taken * weight[:, None]
    return total.reshape(n, c, *grid.shape[1:-1]).astype(input.dtype, copy=False)


@kernel("grid_sampler_2d_backward", "grid_sampler_3d_backward")
def grid_sampler_backward(
    grad_output: np.ndarray,
    input: np.ndarray,
    grid: np.ndarray,
    interpolation_mode: int,
    padding_mode: int,
    align_corners: bool,
    output_mask: Sequence[bool],
) -> tuple[Any, ...]:
    g, x, positions = _as_float_arrays(grad_output, input, grid)
    n, c, *sizes = x.shape
    pixels = prod(sizes)
    g = g.reshape(n, c, prod(g.shape[2:]))
    image = x.reshape(n, c, pixels)
    to_input = np.zeros(n * c * pixels, np.float64) if output_mask[0] else None
    sampling = _Sampling(positions, sizes, interpolation_mode, padding_mode, align_corners)
    by_position = [np.zeros(g.shape[::2], x.dtype) for _ in sizes]
    planes = (np.arange(n * c) * pixels).reshape(n, c, 1)
    for flat, inside, weight, slopes in sampling.neighbours():
        if to_input is not None:
            share = np.where(inside[:, None], g * (weight if isinstance(weight, int) else weight[:, None]), 0)
            to_input += np.bincount((flat[:, None] + planes).ravel(), share.ravel(), to_input.size)
        if not isinstance(weight, int):
            along = np.vecdot(g.swapaxes(1, 2), _read(image, flat, inside).swapaxes(1, 2))
            for total, slope in zip(by_position, slopes):
                total += along * slope
    made = np.stack(
        [by * slope for by, slope in zip(reversed(by_position), reversed(sampling.slopes))], axis=-1
    ).reshape(grid.shape)
    return (
        None if to_input is None else to_input.astype(input.dtype).reshape(input.shape),
        made.astype(grid.dtype) if output_mask[1] else None,
    )

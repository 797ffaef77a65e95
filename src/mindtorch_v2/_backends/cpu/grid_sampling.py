"""Sampling of images at given places: `grid_sampler_2d` and its transpose."""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..._dispatch.registry import kernel
from .unsupported import type_word

BILINEAR, NEAREST, BICUBIC = 0, 1, 2
ZEROS, BORDER, REFLECTION = 0, 1, 2
_CUBIC = -0.75


# --- from [-1, 1] to places in the image --------------------------------------------------------------------------------
def _unnormalized(x: np.ndarray, size: int, corners: bool) -> tuple[np.ndarray, float]:
    """Places in pixels, and their derivative."""
    if corners:
        return (x + 1) * ((size - 1) / 2), (size - 1) / 2
    return ((x + 1) * size - 1) / 2, size / 2


def _clipped(x: np.ndarray, size: int) -> tuple[np.ndarray, Any]:
    """Places inside the image, and 0 where the border was taken, else 1."""
    return np.clip(x, 0, size - 1), (x > 0) & (x < size - 1)


def _reflected(x: np.ndarray, size: int, corners: bool) -> tuple[np.ndarray, Any]:
    """Places mirrored at the edges until they are inside, and the sign of the last direction."""
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


def _places(x: np.ndarray, size: int, padding: int, corners: bool) -> tuple[np.ndarray, Any]:
    """Where to read, and the derivative with respect to the grid's number."""
    places, slope = _unnormalized(x, size, corners)
    grad: Any = slope
    if padding == REFLECTION:
        places, sign = _reflected(places, size, corners)
        grad = grad * sign
    if padding != ZEROS:
        places, inside = _clipped(places, size)
        grad = grad * inside
    return places, grad


# --- reading ------------------------------------------------------------------------------------------------------------
def _indices(y: np.ndarray, x: np.ndarray, height: int, width: int) -> tuple[np.ndarray, np.ndarray]:
    """Flat positions (0 where outside) and whether they are inside."""
    inside = (x >= 0) & (x < width) & (y >= 0) & (y < height)
    flat = np.where(inside, y, 0).astype(np.int64) * width + np.where(inside, x, 0).astype(np.int64)
    return flat, inside


def _read(image: np.ndarray, flat: np.ndarray, inside: np.ndarray) -> np.ndarray:
    """image (N, C, H * W) at (N, P) -> (N, C, P), 0 outside."""
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
    """The neighbours that one call reads: flat positions, weights and the weights' derivatives by x and y."""

    def __init__(self, grid: np.ndarray, height: int, width: int, mode: int, padding: int, corners: bool) -> None:
        n = grid.shape[0]
        points = grid.reshape(n, -1, 2)
        self.size = height, width
        self.mode, self.padding, self.corners = mode, padding, corners
        if mode == BICUBIC:  # neighbours, not the place itself, are brought inside
            self.x, self.slope_x = _unnormalized(points[..., 0], width, corners)
            self.y, self.slope_y = _unnormalized(points[..., 1], height, corners)
        else:
            self.x, self.slope_x = _places(points[..., 0], width, padding, corners)
            self.y, self.slope_y = _places(points[..., 1], height, padding, corners)

    def neighbours(self) -> Iterator[tuple[np.ndarray, np.ndarray, Any, Any, Any]]:
        """(flat, inside, weight, d weight / d x, d weight / d y), in pixels."""
        height, width = self.size
        if self.mode == NEAREST:
            flat, inside = _indices(np.rint(self.y), np.rint(self.x), height, width)
            yield flat, inside, 1, 0, 0
            return
        x0, y0 = np.floor(self.x), np.floor(self.y)
        tx, ty = self.x - x0, self.y - y0
        if self.mode == BILINEAR:
            along_x, along_y = [(1 - tx, -1), (tx, 1)], [(1 - ty, -1), (ty, 1)]
            first = 0
        else:
            along_x, along_y = _cubic_weights(tx), _cubic_weights(ty)  # type: ignore[assignment]
            first = -1
        for j, (wy, dy) in enumerate(along_y):
            for i, (wx, dx) in enumerate(along_x):
                py, px = y0 + (j + first), x0 + (i + first)
                if self.mode == BICUBIC:
                    px, py = self._inside(px, width), self._inside(py, height)
                flat, inside = _indices(py, px, height, width)
                yield flat, inside, wx * wy, dx * wy, wx * dy

    def _inside(self, p: np.ndarray, size: int) -> np.ndarray:
        if self.padding == REFLECTION:
            p, _ = _reflected(p, size, self.corners)
        return p if self.padding == ZEROS else np.clip(p, 0, size - 1)


def _prepared(*arrays: np.ndarray) -> list[np.ndarray]:
    return [np.ascontiguousarray(a, np.float32 if a.dtype == np.float16 else None) for a in arrays]


@kernel("grid_sampler_2d")
def grid_sampler_2d(input: np.ndarray, grid: np.ndarray, interpolation_mode: int, padding_mode: int, align_corners: bool) -> np.ndarray:
    if grid.dtype != input.dtype:
        raise RuntimeError(f"expected scalar type {type_word(input)} but found {type_word(grid)}")
    x, places = _prepared(input, grid)
    n, c, height, width = x.shape
    image = x.reshape(n, c, height * width)
    total: Any = np.zeros((n, c, grid.shape[1] * grid.shape[2]), x.dtype)
    for flat, inside, weight, _, _ in _Sampling(places, height, width, interpolation_mode, padding_mode, align_corners).neighbours():
        taken = _read(image, flat, inside)
        total += taken if isinstance(weight, int) else taken * weight[:, None]
    return total.reshape(n, c, *grid.shape[1:3]).astype(input.dtype, copy=False)


@kernel("grid_sampler_2d_backward")
def grid_sampler_2d_backward(grad_output: np.ndarray, input: np.ndarray, grid: np.ndarray, interpolation_mode: int, padding_mode: int,
                             align_corners: bool, output_mask: Sequence[bool]) -> tuple[Any, ...]:
    g, x, places = _prepared(grad_output, input, grid)
    n, c, height, width = x.shape
    g = g.reshape(n, c, -1)
    image = x.reshape(n, c, height * width)
    to_input = np.zeros(n * c * height * width, np.float64) if output_mask[0] else None
    sampling = _Sampling(places, height, width, interpolation_mode, padding_mode, align_corners)
    by_x, by_y = np.zeros(g.shape[::2], x.dtype), np.zeros(g.shape[::2], x.dtype)
    planes = (np.arange(n * c) * (height * width)).reshape(n, c, 1)
    for flat, inside, weight, dx, dy in sampling.neighbours():
        if to_input is not None:
            share = np.where(inside[:, None], g * (weight if isinstance(weight, int) else weight[:, None]), 0)
            to_input += np.bincount((flat[:, None] + planes).ravel(), share.ravel(), to_input.size)
        if not isinstance(weight, int):
            along = np.vecdot(g.swapaxes(1, 2), _read(image, flat, inside).swapaxes(1, 2))
            by_x += along * dx
            by_y += along * dy
    made = np.stack((by_x * sampling.slope_x, by_y * sampling.slope_y), axis=-1).reshape(grid.shape)
    return (None if to_input is None else to_input.astype(input.dtype).reshape(input.shape),
            made.astype(grid.dtype) if output_mask[1] else None)

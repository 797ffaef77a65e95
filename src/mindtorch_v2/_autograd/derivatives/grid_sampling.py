"""Second derivatives of sampling images at given positions: the sampling is written once more, with ops that can be
differentiated twice."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod
from typing import Any

from ..._dispatch import aten, modes
from ..._dtype import int64
from ..engine import run_backward

NEAREST, BICUBIC = 1, 2
ZEROS, REFLECTION = 0, 2
_CUBIC = -0.75


def _reflect(x: Any, size: int, corners: bool) -> Any:
    """Positions mirrored at the edges until they are inside."""
    low, high = (0.0, size - 1.0) if corners else (-0.5, size - 0.5)
    if low == high:
        return x * 0
    away = aten.abs(x - low)
    flips = aten.floor(away / (high - low)).detach()
    rest = away - flips * (high - low)
    return aten.where(aten.remainder(flips, 2) == 0, rest + low, high - rest)


def _inside(x: Any, size: int, padding: int, corners: bool) -> Any:
    if padding == REFLECTION:
        x = _reflect(x, size, corners)
    return x if padding == ZEROS else aten.clamp(x, 0, size - 1)


def _cubic_weights(t: Any) -> list[Any]:
    a = _CUBIC
    far = [((a * d - 5 * a) * d + 8 * a) * d - 4 * a for d in (t + 1, 2 - t)]
    near = [((a + 2) * d - (a + 3)) * d * d + 1 for d in (t, 1 - t)]
    return [far[0], *near, far[1]]


def _along(x: Any, size: int, mode: int, padding: int, corners: bool) -> list[tuple[Any, Any]]:
    """What is read along one dimension: (positions in pixels, weights)."""
    positions = (x + 1) * ((size - 1) / 2) if corners else ((x + 1) * size - 1) / 2
    if mode != BICUBIC:
        positions = _inside(positions, size, padding, corners)
    if mode == NEAREST:
        return [(aten.round(positions).detach(), aten.ones_like(positions))]
    first = aten.floor(positions).detach()
    t = positions - first
    if mode == BICUBIC:
        return [(_inside(first + (i - 1), size, padding, corners), w) for i, w in enumerate(_cubic_weights(t))]
    return [(first, 1 - t), (first + 1, t)]


def _sample(input: Any, grid: Any, mode: int, padding: int, corners: bool) -> Any:
    n, c, *sizes = input.shape
    rank = len(sizes)
    image = aten.reshape(input, (n, c, prod(sizes)))
    points = aten.reshape(grid, (n, prod(grid.shape[1:-1]), rank))
    total: Any = 0
    for read in product(
        *(_along(points[..., rank - 1 - d], size, mode, padding, corners) for d, size in enumerate(sizes))
    ):
        there: Any = True
        flat: Any = 0
        for (position, _), size in zip(read, sizes):
            there = (position >= 0) & (position < size) & there
            flat = flat * size + position
        flat = aten.to(aten.where(there, flat, 0), int64)
        taken = aten.gather(image, 2, aten.expand(aten.unsqueeze(flat, 1), (n, c, flat.shape[1])))
        total = total + taken * aten.unsqueeze(prod(weight for _, weight in read) * there, 1)
    return aten.reshape(total, (n, c, *grid.shape[1:-1]))


def second_derivatives(
    g: Any,
    needs: Sequence[bool],
    grad_output: Any,
    input: Any,
    grid: Any,
    interpolation_mode: int,
    padding_mode: int,
    align_corners: bool,
) -> Sequence[Any]:
    """Gradients of the first derivatives (weighted by `g`) with respect to what they were made of."""
    return modes.call_with_grad(
        True,
        _second_derivatives,
        modes.grad_enabled(),
        g,
        needs,
        (grad_output, input, grid),
        (interpolation_mode, padding_mode, align_corners),
    )


def _second_derivatives(
    again: bool, g: Any, needs: Sequence[bool], tensors: tuple[Any, ...], options: tuple[Any, ...]
) -> Sequence[Any]:
    # without a third derivative the graphs of the arguments are not touched: running back through them would free them
    given = [t if again and t.requires_grad else t.detach().requires_grad_() for t in tensors]
    out = _sample(given[1], given[2], *options)
    first = run_backward([out], [given[0]], True, True, given[1:], True)
    pairs = [(f, w) for f, w in zip(first, g) if f is not None and w is not None and f.requires_grad]
    wanted = [t for t, needed in zip(given, needs) if needed]
    if not pairs:
        return (None, None, None)
    found = iter(run_backward([f for f, _ in pairs], [w for _, w in pairs], again, again, wanted, True))
    return [next(found) if needed else None for needed in needs]

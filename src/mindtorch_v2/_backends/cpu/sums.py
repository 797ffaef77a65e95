"""Sums that are fast and as exact as PyTorch's.

numpy adds pairwise along the last dimension only; along others it adds row by row, and its error grows with the
number of rows. A product with a vector of ones is faster in both cases. Long sums are cut into blocks, whose sums
are summed again.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ..._native import accelerated

SMALL = 512  # below this many elements a plain reduction is as fast, and exact enough
_PAIRWISE = 1 << 14  # numpy's pairwise sum of everything is exact, and fast enough up to here
_BLOCK = 256
_ROW = 1024  # a product adds along a row in many lanes, so that longer rows stay exact
_ones: dict[str, np.ndarray] = {"f": np.ones(_ROW, np.float32), "d": np.ones(_ROW, np.float64)}  # by the type's letter

Axes = int | tuple[int, ...] | None
add_reduce: Any = np.add.reduce  # its stubs know keepdims as a literal only


def contiguous(a: Any) -> Any:
    """`a` in row-major order: reductions of permuted arrays come out permuted, while PyTorch's are always in order."""
    return a if a.ndim < 2 or a.flags.c_contiguous else np.ascontiguousarray(a)


@accelerated("sum_over")
def sum_over(a: np.ndarray, axes: Axes, keepdims: bool = False) -> Any:
    """The sum over `axes` (None: all; they may be negative) in the type of `a`, which is not narrower than float32."""
    if a.size < SMALL or a.dtype.char not in _ones:
        return contiguous(add_reduce(a, axes, None, None, keepdims))
    shape, ndim = a.shape, a.ndim
    if axes.__class__ is not int:
        if axes is None or len(axes) == ndim:  # type: ignore[arg-type]
            total = _sum_all(a)
            return total.reshape((1,) * ndim) if keepdims else total
        wanted = {d % ndim for d in axes}  # type: ignore[union-attr]
        if len(wanted) > 1:
            left = tuple(1 if i in wanted else n for i, n in enumerate(shape) if keepdims or i not in wanted)
            return _sum_some(a, wanted).reshape(left)
        axes = wanted.pop() if wanted else None
        if axes is None:
            return a.copy()
    axis = axes % ndim  # type: ignore[operator]
    left = shape[:axis] + ((1,) if keepdims else ()) + shape[axis + 1 :]
    if not a.flags.c_contiguous:
        return _sum_some(a, {axis}).reshape(left)
    if axis == ndim - 1:
        return _sum_rows(a.reshape(-1, shape[axis])).reshape(left)
    return _sum_columns(a.reshape(prod(shape[:axis]), shape[axis], -1)).reshape(left)


def _sum_all(a: np.ndarray) -> Any:
    if a.size < _PAIRWISE:
        return np.add.reduce(a, axis=None)
    flat = a.reshape(-1) if a.flags.c_contiguous else a.ravel("K")
    return _sum_rows(flat.reshape(1, -1))[0]


def _sum_some(a: np.ndarray, wanted: set[int]) -> np.ndarray:
    """Sums runs of neighbouring dimensions, the innermost in memory first; the result is row-major, without
    `wanted`.
    """
    order = sorted(range(a.ndim), key=lambda i: -abs(a.strides[i]))
    if not a.flags.c_contiguous:
        a = a.transpose(order)
        if not a.flags.c_contiguous:
            a = np.ascontiguousarray(a)
    else:
        order = list(range(a.ndim))
    left = list(order)
    end = a.ndim
    while end > 0:
        start = end
        while start > 0 and left[start - 1] in wanted:
            start -= 1
        if start < end:
            a = _sum_run(a, start, end)
            del left[start:end]
        end = start - 1
    return contiguous(a.transpose(np.argsort(left))) if left != sorted(left) else a


def _sum_run(a: np.ndarray, start: int, end: int) -> np.ndarray:
    """Sums the dimensions start..end-1 of a row-major array."""
    outer, inner = a.shape[:start], a.shape[end:]
    cube = a.reshape(prod(outer), prod(a.shape[start:end]), prod(inner))
    return (_sum_columns(cube) if inner else _sum_rows(cube[:, :, 0])).reshape(outer + inner)


def _sum_rows(rows: np.ndarray) -> np.ndarray:
    """(m, n) -> (m,)"""
    m, n = rows.shape
    ones = _ones[rows.dtype.char]
    if n <= _ROW:
        return rows @ ones[:n]
    blocks = n // _BLOCK
    whole = blocks * _BLOCK
    pieces = rows[:, :whole].reshape(m, blocks, _BLOCK)
    if whole == n or m == 1:  # one large product instead of one per row
        total = _sum_rows((pieces.reshape(-1, _BLOCK) @ ones[:_BLOCK]).reshape(m, blocks))
    else:
        total = _sum_rows(pieces @ ones[:_BLOCK])
    return total + _sum_rows(rows[:, whole:]) if whole < n else total


def _sum_columns(cube: np.ndarray) -> np.ndarray:
    """(m, n, k) -> (m, k)"""
    m, n, k = cube.shape
    ones = _ones[cube.dtype.char]
    if n <= _BLOCK:
        # Many tiny products cost more than they save.
        return np.matmul(ones[:n], cube) if m == 1 or n * k >= _BLOCK else np.add.reduce(cube, axis=1)
    blocks = n // _BLOCK
    whole = blocks * _BLOCK
    total = _sum_columns(np.matmul(ones[:_BLOCK], cube[:, :whole].reshape(m, blocks, _BLOCK, k)))
    return total + _sum_columns(cube[:, whole:]) if whole < n else total

"""Lines: an array seen as many rows of the values along one dimension, for kernels that order or select values."""

from __future__ import annotations

import numpy as np


def last_axis(a: np.ndarray, axis: int) -> np.ndarray:
    """A view with `axis` as the last one, the others in their order."""
    if axis == a.ndim - 1:
        return a
    return a.transpose([*range(axis), *range(axis + 1, a.ndim), axis])


def from_last(a: np.ndarray, axis: int) -> np.ndarray:
    """The opposite of last_axis, in row-major order."""
    if axis == a.ndim - 1:
        return a if a.flags.c_contiguous else np.ascontiguousarray(a)
    order = list(range(a.ndim - 1))
    order.insert(axis, a.ndim - 1)
    return np.ascontiguousarray(a.transpose(order))


def take_from(lines: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """The elements of each line (..., n) at the positions (..., k)."""
    if lines.ndim == 1:
        return lines.take(positions)
    if not lines.flags.c_contiguous:
        return np.take_along_axis(lines, positions, -1)
    n = lines.shape[-1]
    if n == 0:
        return np.empty(positions.shape, lines.dtype)
    return lines.reshape(-1).take(positions + np.arange(0, lines.size, n).reshape(*lines.shape[:-1], 1))


def ascending(lines: np.ndarray) -> np.ndarray:
    """Positions that sort each line upwards, NaN last; equal values keep their order."""
    if lines.dtype.char not in "fd" or lines.size < 256:
        return lines.argsort(axis=-1, kind="stable")
    order = lines.argsort(axis=-1)  # much faster, and the same where no two values are equal
    ranked = take_from(lines, order)
    tied = ~(ranked[..., 1:] > ranked[..., :-1]).all(axis=-1)
    if tied.any():
        order[tied] = lines[tied].argsort(axis=-1, kind="stable")
    return order


def descending(lines: np.ndarray) -> np.ndarray:
    """Positions that sort each line downwards, NaN first; equal values keep their order."""
    n = lines.shape[-1]
    return (n - 1 - ascending(lines[..., ::-1]))[..., ::-1]


def nth(lines: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The value that would be k-th in order in each line, and its first position. There must be no NaN."""
    values = np.asarray(np.partition(lines, k, axis=-1).take(k, axis=-1))
    return values, (lines == values[..., None]).argmax(axis=-1)

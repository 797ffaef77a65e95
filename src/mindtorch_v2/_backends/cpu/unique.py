"""CPU kernels that find distinct values, lines and runs."""

from __future__ import annotations

import numpy as np

from ..._dispatch.registry import kernel
from ..._shape import normalize_dim

Distinct = tuple[np.ndarray, np.ndarray, np.ndarray]


def _none() -> np.ndarray:
    return np.empty(0, np.int64)


def _summary(
    starts: np.ndarray, order: np.ndarray | None, want_inverse: bool, want_counts: bool
) -> tuple[np.ndarray, np.ndarray]:
    """From where runs of equal items start (a mask): each item's run number, in the order before sorting, and run
    lengths.
    """
    inverse = counts = _none()
    if want_inverse:
        run = np.cumsum(starts) - 1
        inverse = run
        if order is not None:
            inverse = np.empty_like(run)
            inverse[order] = run
    if want_counts:
        counts = np.diff(np.flatnonzero(starts), append=starts.size)
    return inverse, counts


def _starts(flat: np.ndarray) -> np.ndarray:
    mask = np.ones(flat.size, bool)
    np.not_equal(flat[1:], flat[:-1], out=mask[1:])
    return mask


@kernel("_unique2")
def unique_values(self: np.ndarray, sorted: bool, return_inverse: bool, return_counts: bool) -> Distinct:
    flat = self.ravel()
    order = np.argsort(flat, kind="stable") if return_inverse else None
    ranked = np.sort(flat) if order is None else flat[order]
    starts = _starts(ranked)
    inverse, counts = _summary(starts, order, return_inverse, return_counts)
    return ranked[starts], inverse.reshape(self.shape) if return_inverse else inverse, counts


def _lines(self: np.ndarray, axis: int) -> np.ndarray:
    """The slices along `axis` as rows."""
    moved = np.moveaxis(self, axis, 0)
    if self.shape[axis] and 0 in moved.shape:
        raise RuntimeError("There are 0 sized dimensions, and they aren't selected, so unique cannot be applied")
    return moved.reshape(moved.shape[0], -1) if self.size else moved.reshape(moved.shape[0], 0)


def _unlines(rows: np.ndarray, self: np.ndarray, axis: int) -> np.ndarray:
    rest = self.shape[:axis] + self.shape[axis + 1 :]
    return np.moveaxis(np.ascontiguousarray(rows).reshape(len(rows), *rest), 0, axis)


def _row_starts(rows: np.ndarray) -> np.ndarray:
    mask = np.ones(len(rows), bool)
    mask[1:] = (rows[1:] != rows[:-1]).any(axis=1)
    return mask


@kernel("unique_dim")
def unique_lines(self: np.ndarray, dim: int, sorted: bool, return_inverse: bool, return_counts: bool) -> Distinct:
    axis = normalize_dim(dim, self.ndim)
    rows = _lines(self, axis)
    order = np.lexsort(rows.T[::-1]) if rows.shape[1] else np.arange(len(rows))
    ranked = rows[order]
    starts = _row_starts(ranked)
    inverse, counts = _summary(starts, order, return_inverse, return_counts)
    return _unlines(ranked[starts], self, axis), inverse, counts


@kernel("unique_consecutive")
def unique_runs(self: np.ndarray, return_inverse: bool, return_counts: bool, dim: int | None) -> Distinct:
    if dim is None:
        flat = self.ravel()
        starts = _starts(flat)
        inverse, counts = _summary(starts, None, return_inverse, return_counts)
        return flat[starts], inverse.reshape(self.shape) if return_inverse else inverse, counts
    axis = normalize_dim(dim, self.ndim)
    rows = _lines(self, axis)
    starts = _row_starts(rows)
    inverse, counts = _summary(starts, None, return_inverse, return_counts)
    return _unlines(rows[starts], self, axis), inverse, counts

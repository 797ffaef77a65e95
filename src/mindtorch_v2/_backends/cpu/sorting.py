"""CPU kernels that order values and search in ordered ones. NaN is greater than every number."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._dispatch.registry import kernel
from ..._native import accelerated
from ..._shape import normalize_dim
from .errors import outside, refuse_types
from .lines import ascending, descending, from_last, last_axis, nth, take_from
from .sums import contiguous
from .unsupported import type_word

_ROUNDS = 16  # for so few results, taking the best again and again is faster than sorting

_SHORT, _FEW = 48, 4096  # rows of so few elements are sorted at once, if they are few altogether


def _laid_out_like(a: np.ndarray, values: np.ndarray) -> np.ndarray:
    """`values` with the memory order of `a`."""
    if values.strides == a.strides or (a.flags.c_contiguous and values.flags.c_contiguous):
        return values
    out = np.empty_like(a, values.dtype)
    out[...] = values
    return out


def _sort(self: np.ndarray, dim: int, falling: bool) -> tuple[Any, Any]:
    axis = normalize_dim(dim, self.ndim)
    if self.dtype.kind == "c":
        raise RuntimeError(" Sort does not support complex dtypes on CPU")
    if self.ndim == 0:
        return self.copy(), np.int64(0)
    lines = last_axis(self, axis)
    lines = np.ascontiguousarray(lines)
    values, order = np.empty(lines.shape, lines.dtype), np.empty(lines.shape, np.int64)
    _sort_lines(lines, falling, values, order)
    if self.ndim == 1 or (axis == self.ndim - 1 and self.flags.c_contiguous):
        return values, order
    return _laid_out_like(self, from_last(values, axis)), _laid_out_like(self, from_last(order, axis))


@accelerated("sort_lines")
def _sort_lines(lines: np.ndarray, falling: bool, values: np.ndarray, order: np.ndarray) -> None:
    """Fills `values` and `order` with the elements of every line in order, and the positions where they stood."""
    order[...] = (descending if falling else ascending)(lines)
    values[...] = take_from(lines, order)


kernel("sort")(lambda self, dim, descending: _sort(self, dim, descending))
kernel("sort.stable")(lambda self, stable, dim, descending: _sort(self, dim, descending))


def _best_in_rounds(lines: np.ndarray, k: int, largest: bool) -> np.ndarray | None:
    """Positions of the k best values per line, found one after another; None if a value cannot be told from a taken
    one.
    """
    left = np.array(lines).reshape(-1, lines.shape[-1])
    float_like = left.dtype.kind == "f"
    if float_like:
        taken: Any = -np.inf if largest else np.inf
    else:
        limits = np.iinfo(left.dtype)
        taken = limits.min if largest else limits.max
    if float_like and not largest and np.isnan(left).any():
        return None
    rows = np.arange(len(left))
    out = np.empty((len(left), k), np.int64)
    for j in range(k):
        best = left.argmax(axis=1) if largest else left.argmin(axis=1)
        out[:, j] = best
        if (left[rows, best] == taken).any():
            return None
        left[rows, best] = taken
    return out.reshape(*lines.shape[:-1], k)


def _select(lines: np.ndarray, k: int, largest: bool) -> np.ndarray:
    """Positions of the k largest or smallest values of each line, best first."""
    n = lines.shape[-1]
    if k <= _ROUNDS and n > 4 * k:
        found = _best_in_rounds(lines, k, largest)
        if found is not None:
            return found
    if k * 4 > n:
        return (descending(lines) if largest else ascending(lines))[..., :k]
    found = (
        np.argpartition(lines, n - k, axis=-1)[..., n - k :]
        if largest
        else np.argpartition(lines, k - 1, axis=-1)[..., :k]
    )
    found = np.sort(found, axis=-1)
    values = np.take_along_axis(lines, found, -1)
    return np.take_along_axis(found, descending(values) if largest else ascending(values), -1)


@kernel("topk")
def topk(self: np.ndarray, k: int, dim: int, largest: bool, sorted: bool) -> tuple[Any, Any]:
    axis = normalize_dim(dim, self.ndim)
    if not 0 <= k <= (self.shape[axis] if self.ndim else 1):
        raise RuntimeError("selected index k out of range")
    if self.dtype.kind == "c":
        raise RuntimeError(" topk does not support complex dtypes on CPU")
    if self.dtype.kind == "b":
        raise RuntimeError("topk does not support bool dtypes on CPU")
    if self.ndim == 0:
        return self.copy(), np.int64(0)
    lines = last_axis(self, axis)
    if k == 0 or lines.size == 0:
        shape = (*self.shape[:axis], k, *self.shape[axis + 1 :])
        return np.empty(shape, self.dtype), np.empty(shape, np.int64)
    if lines.shape[-1] <= _SHORT and lines.size <= _FEW and lines.dtype.kind in "fiu":
        lines = np.ascontiguousarray(lines)
        values, order = np.empty(lines.shape, lines.dtype), np.empty(lines.shape, np.int64)
        _sort_lines(lines, largest, values, order)
        return from_last(values[..., :k].copy(), axis), from_last(order[..., :k].copy(), axis)
    found = _select(lines, k, largest)
    return from_last(take_from(lines, found), axis), from_last(found, axis)


@kernel("kthvalue")
def kthvalue(self: np.ndarray, k: int, dim: int, keepdim: bool) -> tuple[Any, Any]:
    axis = normalize_dim(dim, self.ndim)
    n = self.shape[axis] if self.ndim else 1
    if n == 0:
        raise IndexError(f"kthvalue(): Expected reduction dim {axis} to have non-zero size.")
    if not 1 <= k <= n:
        raise RuntimeError(f"kthvalue(): selected number k out of range for dimension {axis}")
    refuse_types("kthvalue_cpu", self, "bc")
    if self.ndim == 0:
        return self.copy(), np.int64(0)
    lines = last_axis(self, axis)
    if self.dtype.kind == "f" and np.isnan(lines).any():
        where = ascending(lines)[..., k - 1]
        values = take_from(lines, where[..., None])[..., 0]
    else:
        values, where = nth(lines, k - 1)
    return tuple(contiguous(np.expand_dims(x, axis) if keepdim else x) for x in (values, where))  # type: ignore[return-value]


# --- searching
def _check_search(
    edges: np.ndarray, values: np.ndarray, right: bool, side: str | None, sorter: np.ndarray | None
) -> None:
    name = "torch.searchsorted():"
    if side is not None and side not in ("left", "right"):
        raise RuntimeError(f"{name} side can only be 'left' or 'right' but got {side}")
    if side == "left" and right:
        raise RuntimeError(f"{name} side and right can't be set to opposites, got side of left while right was True")
    if edges.ndim == 0:
        raise RuntimeError(f"{name} boundaries tensor should have positive dimension, but got 0 dimension")
    if sorter is not None:
        if sorter.shape != edges.shape:
            raise RuntimeError(
                f"{name} boundary and sorter must have the same size, but got boundary tensor {list(edges.shape)}and "
                f"got sorter tensor {list(sorter.shape)}"
            )
        if sorter.dtype != np.int64:
            raise RuntimeError(f"{name} sorter must be a tensor of long dtype but got dtype {type_word(sorter)}")
        if outside(sorter, edges.shape[-1]) is not None:
            raise RuntimeError(f"{name} sorter index out of range")
    if edges.ndim > 1 and values.ndim == 0:
        raise RuntimeError(
            f"{name} input value can be a scalar only when boundaries tensor dimension is 1, but we got boundaries "
            f"tensor dim({edges.ndim}) and input value's dim(0) numel(1)"
        )
    if edges.ndim > 1 and edges.shape[:-1] != values.shape[:-1]:
        raise RuntimeError(
            f"{name} boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries tensor and "
            f"input value tensor must match, but we got boundaries tensor {list(edges.shape)} and input value tensor "
            f"{list(values.shape)}"
        )


def _search(edges: np.ndarray, values: np.ndarray, side: Any, out_int32: bool, sorter: np.ndarray | None) -> Any:
    kind = np.int32 if out_int32 else np.int64
    if edges.ndim == 1:
        return contiguous(np.asarray(np.searchsorted(edges, values, side, sorter))).astype(kind, copy=False)
    out = np.empty(values.shape, kind)
    for line in np.ndindex(edges.shape[:-1]):
        out[line] = np.searchsorted(edges[line], values[line], side, None if sorter is None else sorter[line])
    return out


@kernel("searchsorted.Tensor", "searchsorted.Scalar")
def searchsorted(
    sorted_sequence: np.ndarray, self: Any, out_int32: bool, right: bool, side: str | None, sorter: np.ndarray | None
) -> Any:
    values = np.asarray(self)
    _check_search(sorted_sequence, values, right, side, sorter)
    return _search(sorted_sequence, values, side or ("right" if right else "left"), out_int32, sorter)


@kernel("bucketize.Tensor", "bucketize.Scalar")
def bucketize(self: Any, boundaries: np.ndarray, out_int32: bool, right: bool) -> Any:
    if boundaries.ndim != 1:
        raise RuntimeError(f"boundaries tensor must be 1 dimension, but got dim({boundaries.ndim})")
    return _search(boundaries, np.asarray(self), "right" if right else "left", out_int32, None)

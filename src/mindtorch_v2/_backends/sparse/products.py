"""Matrix products in which a factor is sparse."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import _dtype as dt
from ..._dispatch import aten
from ..._tensor import sparse_coo, sparse_csr, wrap
from .arithmetic import add
from .conversion import as_coo, coalesce, to_compressed, to_dense
from .handlers import HANDLERS, handles, is_sparse
from .shapes import transpose
from .tensor import coo


@handles("mm", "matmul", "rmatmul", "spmm", "smm", "bmm")
def matmul(self: Any, other: Any) -> Any:
    if is_sparse(self) and is_sparse(other):
        made = _sparse_product(as_coo(self), as_coo(other))
        return made if self._layout is sparse_coo else to_compressed(made, self._layout)
    if is_sparse(self):
        vector = other.dim() == 1
        out = _sparse_dense(as_coo(self), aten.unsqueeze(other, -1) if vector else other)
        return aten.squeeze(out, -1) if vector else out
    out = _sparse_dense(transpose(as_coo(other), 0, 1), aten.t(self) if self.dim() == 2 else aten.unsqueeze(self, -1))
    return aten.t(out) if self.dim() == 2 else aten.squeeze(out, -1)


HANDLERS["mv"] = matmul


def _sparse_dense(self: Any, other: Any) -> Any:
    """A sparse matrix [m, n] times a dense one [n, k]: rows of the dense one, weighted and added."""
    if len(self.shape) != 2 or other.dim() != 2 or self.shape[1] != other.shape[0]:
        raise RuntimeError(
            "mat1 and mat2 shapes cannot be multiplied "
            f"({'x'.join(map(str, self.shape))} and {'x'.join(map(str, other.shape))})"
        )
    indices, values = self._parts
    rows = aten.index_select(other, 0, aten.select(indices, 0, 1))
    weighted = aten.mul(rows, aten.unsqueeze(values, -1))
    return aten.index_add(
        aten.new_zeros(weighted, [self.shape[0], other.shape[1]]), 0, aten.select(indices, 0, 0), weighted
    )


def _sparse_product(a: Any, b: Any) -> Any:
    """Two sparse matrices: every entry of a row of the first meets the entries of the second's row of that number."""
    if a.shape[1] != b.shape[0]:
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({a.shape[0]}x{a.shape[1]} and {b.shape[0]}x{b.shape[1]})"
        )
    b = coalesce(b)
    (ai, av), (bi, bv) = a._parts, b._parts
    inner, rows = ai._array[1], bi._array[0]
    starts = np.searchsorted(rows, inner, "left")
    counts = np.searchsorted(rows, inner, "right") - starts
    left = np.repeat(np.arange(len(inner)), counts)
    right = np.repeat(
        starts - np.concatenate([[0], np.cumsum(counts)[:-1]]) if len(counts) else starts, counts
    ) + np.arange(counts.sum())
    lefts, rights = wrap(left.astype(np.int64)), wrap(right.astype(np.int64))
    values = aten.index_select(av, 0, lefts) * aten.index_select(bv, 0, rights)
    indices = aten.stack(
        [aten.index_select(aten.select(ai, 0, 0), 0, lefts), aten.index_select(aten.select(bi, 0, 1), 0, rights)]
    )
    return coalesce(coo(indices, values, (a.shape[0], b.shape[1])))


def mm_reduce(self: Any, other: Any, reduce: str) -> Any:
    """A CSR matrix [m, n] times a dense one [n, k], the terms of an element reduced by "sum", "mean", "amax" or
    "amin". Rows without entries are zero; of equal extremes the first gets the gradient.
    """
    if reduce not in _REDUCTIONS:
        raise RuntimeError(
            f"sparse_mm_reduce: reduce type of {reduce} has not been enabled."
            if reduce == "prod"
            else f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}"
        )
    if self.layout is not sparse_csr:
        found = {"sparse_coo": "Sparse", "sparse_csc": "SparseCsc"}.get(self.layout.name, "Strided")
        raise RuntimeError(f"sparse_mm_reduce: expect self to be SparseCsr, got {found}")
    if reduce in ("sum", "mean"):
        total = _sparse_dense(as_coo(self), other)
        counts = np.maximum(np.diff(self._parts[0]._array), 1)
        return total if reduce == "sum" else total / aten.to(aten.unsqueeze(wrap(counts), -1), total.dtype)
    borders, columns, values = self._parts
    terms = aten.mul(aten.index_select(other, 0, aten.to(columns, dt.int64)), aten.unsqueeze(values, -1))
    filled = np.flatnonzero(np.diff(borders._array))
    out = aten.new_zeros(terms, [self.shape[0], other.shape[1]])
    if not len(filled):
        return out
    first = _first_extremes(terms.detach()._array, borders._array[filled], _REDUCTIONS[reduce])
    return aten.index_copy(out, 0, wrap(filled.astype(np.int64)), aten.gather(terms, 0, wrap(first)))


_REDUCTIONS: dict[str, Any] = {
    "sum": None,
    "mean": None,
    **dict.fromkeys(("amax", "max"), np.maximum),
    **dict.fromkeys(("amin", "min"), np.minimum),
}


def _first_extremes(terms: np.ndarray, starts: np.ndarray, extreme: Any) -> np.ndarray:
    """For stretches of rows that begin at `starts`, and for each column, the index of the row with the extreme."""
    found = extreme.reduceat(terms, starts, axis=0)
    lengths = np.diff(np.append(starts, len(terms)))
    whole = np.repeat(found, lengths, axis=0)
    is_extreme = (terms == whole) | (np.isnan(terms) & np.isnan(whole))
    rows = np.where(is_extreme, np.arange(len(terms), dtype=np.int64)[:, None], len(terms))
    return np.minimum.reduceat(rows, starts, axis=0)


@handles("linear")
def linear(input: Any, weight: Any, bias: Any = None) -> Any:
    product = matmul(input, transpose(weight, 0, 1) if is_sparse(weight) else aten.t(weight))
    return product if bias is None else aten.add(product, bias)


@handles("addmm")
def addmm(self: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    return (
        add(self * beta if beta != 1 else self, matmul(mat1, mat2), alpha=alpha)
        if is_sparse(self)
        else aten.add(self * beta if beta != 1 else self, to_dense(matmul(mat1, mat2)), alpha=alpha)
    )

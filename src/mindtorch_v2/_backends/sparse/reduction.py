"""Sums, norms, comparisons and softmax of sparse tensors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..._dispatch import aten
from ..._shape import normalize_dim, normalize_dims
from ..._tensor import wrap
from .conversion import as_coo, coalesce, to_dense
from .handlers import handles
from .tensor import coo, zeros_for


@handles("sum")
def total(self: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    if dim is None or dim == []:
        return aten.sum(self._parts[-1], dtype=dtype)
    source = as_coo(self)
    indices, values = source._parts
    lead = source.sparse_dim()
    dims = sorted(normalize_dims(dim, len(self.shape)))
    inner = [d - lead + 1 for d in dims if d >= lead]
    if inner:
        values = aten.sum(values, inner)
    kept = [d for d in range(lead) if d not in dims]
    if not kept:
        return aten.sum(values, [0], dtype=dtype)
    shape = [n for d, n in enumerate(self.shape) if d not in dims]
    made = coalesce(coo(aten.index_select(indices, 0, wrap(np.array(kept, np.int64))), values, shape))
    return made if not keepdim else aten.sum(to_dense(self), dims, True)


@handles("norm", "linalg_vector_norm")
def norm(self: Any, p: Any = 2, dim: Any = None, keepdim: bool = False, **options: Any) -> Any:
    if dim is not None:
        return aten.linalg_vector_norm(to_dense(self), p, dim, keepdim)
    source = coalesce(as_coo(self))
    return aten.linalg_vector_norm(source._parts[1], 2 if p in (None, "fro") else p)


@handles("equal", "allclose")
def equal(self: Any, other: Any, **options: Any) -> bool:
    return (
        aten.allclose(to_dense(self), to_dense(other), **options)
        if options
        else bool(aten.equal(to_dense(self), to_dense(other)))
    )


def softmax(self: Any, dim: int, logarithm: bool) -> Any:
    """softmax over the given entries of each line along a sparse dimension; the others count as minus infinity."""
    source = coalesce(as_coo(self))
    indices, values = source._parts
    d = normalize_dim(dim, len(self.shape))
    lead = source.sparse_dim()
    if d >= lead:
        return source._with_values((aten.log_softmax if logarithm else aten.softmax)(values, d - lead + 1))
    others = [i for i in range(lead) if i != d]
    lines = (
        np.unique(indices._array[others], axis=1, return_inverse=True)[1].reshape(-1)
        if others
        else np.zeros(source._nnz(), int)
    )
    count = int(lines.max(initial=-1)) + 1
    line = wrap(lines.astype(np.int64))
    highest = np.full((count, *values.shape[1:]), -math.inf)
    np.maximum.at(highest, lines, values.detach()._array)
    shifted = values - wrap(highest.astype(values._array.dtype))[line]
    sums = aten.index_add(zeros_for(values, (count, *values.shape[1:])), 0, line, aten.exp(shifted))
    at = aten.index_select(sums, 0, line)
    return source._with_values(shifted - aten.log(at) if logarithm else aten.exp(shifted) / at)

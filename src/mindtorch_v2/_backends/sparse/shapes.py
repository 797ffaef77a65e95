"""Transposition, joining and selection of sparse tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._dispatch import aten
from ..._shape import normalize_dim
from ..._tensor import sparse_coo, sparse_csc, sparse_csr, wrap
from .arithmetic import elements_at
from .conversion import as_coo, coalesce, to_compressed, to_dense
from .handlers import handles
from .tensor import coo, make_sparse


@handles("transpose", "swapaxes")
def transpose(self: Any, dim0: int, dim1: int) -> Any:
    if self._layout is not sparse_coo:
        other = sparse_csc if self._layout is sparse_csr else sparse_csr
        return make_sparse(other, self._parts, (self.shape[1], self.shape[0]), True)
    a, b = normalize_dim(dim0, len(self.shape)), normalize_dim(dim1, len(self.shape))
    lead = self.sparse_dim()
    if a >= lead or b >= lead:
        raise RuntimeError("transpose: only sparse dimensions can be exchanged")
    order, shape = list(range(lead)), list(self.shape)
    order[a], order[b] = order[b], order[a]
    shape[a], shape[b] = shape[b], shape[a]
    return coo(aten.index_select(self._parts[0], 0, wrap(np.array(order, np.int64))), self._parts[1], shape, False)


@handles("t", "T")
def t(self: Any) -> Any:
    return transpose(self, 0, 1)


@handles("mT", "adjoint")
def matrix_transpose(self: Any) -> Any:
    return transpose(self, -2, -1)


@handles("cat", "concat")
def cat(tensors: Sequence[Any], dim: int = 0) -> Any:
    parts = [as_coo(p) for p in tensors]
    d = normalize_dim(dim, len(parts[0].shape))
    lead, shape = parts[0].sparse_dim(), list(parts[0].shape)
    if d >= lead:
        raise RuntimeError("cat: sparse tensors are joined along sparse dimensions")
    coordinates, offset = [], 0
    for p in parts:
        shift = np.zeros((lead, 1), np.int64)
        shift[d] = offset
        coordinates.append(p._parts[0] + wrap(shift))
        offset += p.shape[d]
    shape[d] = offset
    return coo(aten.cat(coordinates, 1), aten.cat([p._parts[1] for p in parts]), shape, False)


@handles("index_select")
def index_select(self: Any, dim: int, index: Any) -> Any:
    source = coalesce(as_coo(self))
    d = normalize_dim(dim, len(self.shape))
    indices, values = source._parts
    column = indices._array[d]
    wanted = index._array.reshape(-1)
    order = np.argsort(column, kind="stable")
    low, high = np.searchsorted(column[order], wanted, "left"), np.searchsorted(column[order], wanted, "right")
    columns = np.concatenate([order[a:b] for a, b in zip(low, high)] or [np.zeros(0, np.int64)]).astype(np.int64)
    moved = indices._array[:, columns].copy()
    moved[d] = np.repeat(np.arange(len(wanted)), high - low)
    shape = list(self.shape)
    shape[d] = len(wanted)
    return coo(wrap(moved), aten.index_select(values, 0, wrap(columns)), shape, False)


@handles("select", "getitem")
def select(self: Any, dim: Any, index: Any = None) -> Any:
    if index is None:
        dim, index = 0, dim
    if not isinstance(index, int):
        raise NotImplementedError("sparse tensors can be indexed by one integer; call .to_dense() first")
    n = self.shape[dim]
    if not -n <= index < n:
        raise IndexError(f"index {index} is out of bounds for dimension {dim} with size {n}")
    picked = index_select(self, dim, wrap(np.array([index % n], np.int64)))
    lead = picked.sparse_dim()
    kept = [d for d in range(lead) if d != dim % len(self.shape)]
    shape = [s for d, s in enumerate(self.shape) if d != dim % len(self.shape)]
    if not kept:
        return aten.sum(picked._parts[1], [0])
    return coo(aten.index_select(picked._parts[0], 0, wrap(np.array(kept, np.int64))), picked._parts[1], shape, False)


@handles("sparse_mask")
def sparse_mask(self: Any, mask: Any) -> Any:
    source = coalesce(as_coo(mask))
    made = source._with_values(elements_at(to_dense(self), source))
    return made if mask._layout is sparse_coo else to_compressed(made, mask._layout)


@handles("numpy", "item", "tolist", "data_ptr", "stride", "storage_offset", "view", "reshape")
def refuse(self: Any, *args: Any, **kwargs: Any) -> Any:
    raise TypeError(f"can't convert {self.layout} layout tensor to numpy. Use Tensor.to_dense() first.")

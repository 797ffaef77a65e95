"""Sparse tensors in other layouts, types and devices, and dense tensors made sparse."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from ... import _dtype as dt
from ..._dispatch import aten
from ..._tensor import sparse_coo, sparse_csc, sparse_csr, wrap
from .handlers import HANDLERS, handles, is_sparse
from .tensor import coo, make_sparse, zeros_for


def flat_index(indices: Any, shape: Sequence[int]) -> Any:
    """Positions of the flattened sparse dimensions."""
    if not indices.shape[0]:
        return aten.zeros(indices.shape[1:], dtype=indices.dtype, device=indices.device)
    flat = aten.select(indices, 0, 0)
    for d in range(1, len(shape)):
        flat = flat * shape[d] + aten.select(indices, 0, d)
    return flat


@handles("coalesce")
def coalesce(self: Any) -> Any:
    """The same tensor with its positions sorted and values of one position added."""
    indices, values = self._coordinates("coalesce")
    if self._is_coalesced:
        return self
    if self._nnz() == 0:
        return coo(indices, values, self.shape, True)
    lead = tuple(self.shape[: indices.shape[0]])
    keys, inverse = np.unique(flat_index(indices, lead)._array, return_inverse=True)
    total = zeros_for(values, (len(keys), *values.shape[1:]))
    summed = aten.index_add(total, 0, wrap(inverse.reshape(-1).astype(np.int64)), values)
    coordinates = np.array(np.unravel_index(keys, lead), np.int64).reshape(len(lead), len(keys))
    return coo(wrap(coordinates), summed, self.shape, True)


@handles("to_dense")
def to_dense(self: Any, dtype: Any = None, *, masked_grad: Any = None) -> Any:
    if not is_sparse(self):
        return self
    indices, values = as_coo(self)._parts
    lead = tuple(self.shape[: indices.shape[0]])
    flat = aten.index_add(zeros_for(values, (prod(lead), *values.shape[1:])), 0, flat_index(indices, lead), values)
    dense = aten.reshape(flat, list(self.shape))
    return dense if dtype is None else aten.to(dense, dtype)


@handles("to_sparse_coo")
def as_coo(self: Any) -> Any:
    if self._layout is sparse_coo:
        return self
    borders, plain, values = self._parts
    counts = np.diff(borders._array)
    outer = wrap(np.repeat(np.arange(len(counts), dtype=np.int64), counts))
    pair = (outer, plain) if self._layout is sparse_csr else (plain, outer)
    return coo(aten.stack([aten.to(p, dt.int64) for p in pair]), values, self.shape, self._layout is sparse_csr)


def to_compressed(self: Any, kind: Any) -> Any:
    """The tensor in compressed rows (or columns)."""
    if self._layout is kind:
        return self
    source = coalesce(as_coo(self))
    if source.sparse_dim() != 2:
        raise RuntimeError(f"conversion to {kind} expects 2 sparse dimensions, got {source.sparse_dim()}")
    outer, inner = (0, 1) if kind is sparse_csr else (1, 0)
    indices, values = source._parts
    order = np.lexsort((indices._array[inner], indices._array[outer]))
    borders = np.zeros(source.shape[outer] + 1, np.int64)
    np.cumsum(np.bincount(indices._array[outer], minlength=source.shape[outer]), out=borders[1:])
    order_index = wrap(order.astype(np.int64))
    return make_sparse(
        kind,
        (
            wrap(borders),
            aten.index_select(aten.select(indices, 0, inner), 0, order_index),
            aten.index_select(values, 0, order_index),
        ),
        self.shape,
        True,
    )


@handles("to_sparse_csr")
def to_sparse_csr(self: Any, dense_dim: Any = None) -> Any:
    return to_compressed(self, sparse_csr)


@handles("to_sparse_csc")
def to_sparse_csc(self: Any, dense_dim: Any = None) -> Any:
    return to_compressed(self, sparse_csc)


def to_coordinates(self: Any, sparse_dim: int | None = None) -> Any:
    """A dense tensor in coordinates; its first `sparse_dim` dimensions are sparse."""
    count = self.dim() if sparse_dim is None else sparse_dim
    filled = self._array != 0
    coordinates = np.argwhere(filled.any(axis=tuple(range(count, self.dim()))) if count < self.dim() else filled).T
    indices = wrap(np.ascontiguousarray(coordinates, np.int64).reshape(count, coordinates.shape[-1]))
    lead = tuple(self.shape[:count])
    flat = aten.reshape(self, [prod(lead), *self.shape[count:]])
    return coo(indices, aten.index_select(flat, 0, flat_index(indices, lead)), self.shape, True)


@handles("to_sparse")
def to_sparse(
    self: Any, sparse_dim: Any = None, *, layout: Any = None, blocksize: Any = None, dense_dim: Any = None
) -> Any:
    kind = layout or sparse_coo
    if not is_sparse(self):
        self = to_coordinates(self, sparse_dim)
    if kind is sparse_coo:
        return as_coo(self)
    if kind in (sparse_csr, sparse_csc):
        return to_compressed(self, kind)
    raise RuntimeError(f"to_sparse: layout {kind} is not supported; sparse_coo, sparse_csr and sparse_csc are")


@handles("to")
def to(self: Any, *args: Any, **kwargs: Any) -> Any:
    return self._with_values(aten.to(self._parts[-1], *args, **kwargs))


for _name, _type in (
    ("float", dt.float32),
    ("double", dt.float64),
    ("half", dt.float16),
    ("long", dt.int64),
    ("int", dt.int32),
    ("bool", dt.bool_),
):
    HANDLERS[_name] = lambda self, _type=_type: to(self, _type)


@handles("clone", "contiguous", "cpu")
def clone(self: Any, *, memory_format: Any = None) -> Any:
    return make_sparse(self._layout, tuple(aten.clone(p) for p in self._parts), self.shape, self._is_coalesced)


@handles("detach", "detach_")
def detach(self: Any) -> Any:
    return self._with_values(aten.detach(self._parts[-1]))


@handles("zeros_like", "empty_like")
def zeros_like(self: Any, **kwargs: Any) -> Any:
    source = as_coo(self)
    count, values = source.sparse_dim(), source._parts[1]
    kind = kwargs.get("dtype") or values.dtype
    made = coo(
        wrap(np.zeros((count, 0), np.int64)),
        aten.new_zeros(values, [0, *values.shape[1:]], dtype=kind),
        self.shape,
        True,
    )
    return made if self._layout is sparse_coo else to_compressed(made, self._layout)


@handles("ones_like")
def ones_like(self: Any, **kwargs: Any) -> Any:
    return aten.new_ones(self._parts[-1], list(self.shape))

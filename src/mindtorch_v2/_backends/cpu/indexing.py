"""CPU kernels of indexing: advanced indices, one index per dimension, flat positions, masks."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from ..._dispatch.registry import inplace_kernel, kernel
from ..._native import accelerated
from ..._ops.indexing import check_mask
from ..._shape import broadcast_shapes, normalize_dim
from . import embedding, indexing_elements, indexing_tables  # noqa: F401  - they register the family's other kernels
from .errors import INTS, check_range, outside, type_word
from .row_sums import add_rows
from .whole_numbers import as_element

_INT64 = np.dtype(np.int64)
_KEPT = slice(None)


@accelerated("take_rows")
def _take_rows(table: np.ndarray, index: np.ndarray) -> np.ndarray:
    """table[index] for a contiguous table; IndexError for a position that it does not have."""
    return table.take(index, axis=0)


# --- advanced indexing
def _mask_indices(mask: np.ndarray, self: np.ndarray, position: int) -> tuple[np.ndarray, ...]:
    """The index arrays that a mask over the dimensions from `position` on stands for."""
    check_mask(mask.shape, self.shape, position)
    return mask.nonzero()


def numpy_index(self: np.ndarray, indices: Sequence[np.ndarray | None]) -> list[Any]:
    """One entry per indexed dimension for numpy: a full slice or an integer array, checked against the sizes of
    `self`.
    """
    out: list[Any] = []
    for index in indices:
        if index is None:
            out.append(_KEPT)
        elif index.dtype.kind == "b" or index.dtype == np.uint8:
            out.extend(_mask_indices(index, self, len(out)))
        elif index.dtype in INTS:
            out.append(index)
        else:
            raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
    if len(out) > self.ndim:
        raise IndexError(f"too many indices for tensor of dimension {self.ndim}")
    arrays = [i for i in out if i is not _KEPT]
    try:
        broadcast_shapes(*(a.shape for a in arrays))
    except RuntimeError:
        shapes = ", ".join(str(list(a.shape)) for a in arrays)
        raise IndexError(
            f"shape mismatch: indexing tensors could not be broadcast together with shapes {shapes}"
        ) from None
    return out


def check_positions(self: np.ndarray, where: list[Any]) -> None:
    """IndexError as PyTorch words it if an index is out of range. It counts the indexed dimensions only."""
    d = 0
    for n, a in zip(self.shape, where):
        if a is not _KEPT:
            check_range(a, d, n, IndexError, lowest=-n)
            d += 1


def masked_positions(mask: np.ndarray) -> np.ndarray:
    """Positions of the true elements in row-major order: faster than numpy's own indexing by a mask."""
    return np.flatnonzero(mask.view(np.bool_) if mask.flags.c_contiguous else np.ascontiguousarray(mask).view(np.bool_))


@kernel("index.Tensor")
def index(self: np.ndarray, indices: Sequence[np.ndarray | None]) -> Any:
    first = indices[0]
    if len(indices) == 1 and first is not None and self.flags.c_contiguous and self.ndim:
        if first.dtype == _INT64 and first.ndim:
            try:
                return _take_rows(self, first)
            except IndexError:
                check_positions(self, [first])
                raise
        if first.dtype.kind == "b" and first.shape == self.shape:
            return self.reshape(-1).take(masked_positions(first))
    where = numpy_index(self, indices)
    arrays = [d for d, i in enumerate(where) if i is not _KEPT]
    try:
        if len(arrays) == 1 and self.flags.c_contiguous and where[arrays[0]].ndim:
            return self.take(where[arrays[0]], axis=arrays[0])
        out = self[tuple(where)]
    except IndexError:
        check_positions(self, where)
        raise
    return out if out.__class__ is not np.ndarray or out.flags.c_contiguous else np.ascontiguousarray(out)


def _accumulate(self: np.ndarray, where: list[Any], values: np.ndarray) -> None:
    """self[where] += values with repeated positions counted: the indexed dimensions come first, then rows are added."""
    dims = [d for d, i in enumerate(where) if i is not _KEPT]
    rest = [d for d in range(self.ndim) if d not in dims]
    arrays = np.broadcast_arrays(*(where[d] for d in dims))
    block = arrays[0].shape
    joined = dims == list(range(dims[0], dims[-1] + 1))
    lead = dims[0] if joined else 0  # dimensions of the indexed result that stand before the block
    shape = (*(self.shape[d] for d in rest[:lead]), *block, *(self.shape[d] for d in rest[lead:]))
    values = np.broadcast_to(values, shape)
    order = [*range(lead, lead + len(block)), *range(lead), *range(lead + len(block), len(shape))]
    sizes = [self.shape[d] for d in dims]
    positions = np.zeros(block, np.int64)
    for a, n in zip(arrays, sizes):
        positions = positions * n + np.where(a < 0, a + n, a)
    front = self.transpose(dims + rest)
    width = prod(self.shape[d] for d in rest)
    table = np.ascontiguousarray(front).reshape(prod(sizes), width)
    add_rows(table, positions.reshape(-1), values.transpose(order).reshape(positions.size, width))
    if not np.shares_memory(table, self):
        front[...] = table.reshape(front.shape)


@kernel("_index_put_impl_")
def index_put(
    self: np.ndarray, indices: Sequence[np.ndarray | None], values: np.ndarray, accumulate: bool, unsafe: bool
) -> None:
    if self.dtype != values.dtype:
        raise RuntimeError(
            f"Index put requires the source and destination dtypes match, got {type_word(self)} for the destination "
            f"and {type_word(values)} for the source."
        )
    where = numpy_index(self, indices)
    if all(i is _KEPT for i in where):
        np.add(self, values, out=self) if accumulate else np.copyto(self, values)
        return
    check_positions(self, where)
    try:
        if accumulate:
            _accumulate(self, where, values)
        else:
            self[tuple(where)] = values
    except ValueError:
        shape = list(self[tuple(where)].shape)
        raise RuntimeError(
            f"shape mismatch: value tensor of shape {list(values.shape)} cannot be broadcast to indexing result of "
            f"shape {shape}"
        ) from None


# --- one index for one dimension
@kernel("index_select")
def index_select(self: np.ndarray, dim: int, index: np.ndarray) -> Any:
    if index.ndim > 1:
        raise IndexError("index_select(): Index is supposed to be a vector")
    if index.dtype not in INTS:
        raise RuntimeError("index_select(): Expected dtype int32 or int64 for index")
    axis = normalize_dim(dim, self.ndim)
    if index.ndim == 0:
        index = index.reshape(1)
    if self.ndim == 0:
        if index.size != 1:
            raise RuntimeError(f"index_select(): Index to scalar can have only 1 value, got {index.size} value(s)")
        return self.copy()
    bad = outside(index, self.shape[axis])
    if bad is not None:
        if axis == 0:
            raise IndexError("index out of range in self")
        raise RuntimeError(f"INDICES element is out of DATA bounds, id={bad} axis_dim={self.shape[axis]}")
    if self.flags.c_contiguous:
        return self.take(index, axis=axis) if axis else _take_rows(self, index)
    return np.ascontiguousarray(self[(_KEPT,) * axis + (index,)])


def _check_slices(
    name: str, self: np.ndarray, dim: int, index: np.ndarray, source: np.ndarray
) -> tuple[np.ndarray, np.ndarray, int]:
    """For index_add and index_reduce: self and source with at least one dimension, and the dimension."""
    axis = normalize_dim(dim, self.ndim)
    if index.dtype not in INTS:
        raise RuntimeError(f"{name}(): Expected dtype int32/int64 for index but got: {type_word(index)}")
    if index.ndim > 1:
        raise IndexError(
            f"{name}(): Index is supposed to be a vector, but got dim: {index.ndim} with type: {type_word(index)} and "
            f"size: {list(index.shape)}"
        )
    if self.dtype != source.dtype:
        raise RuntimeError(
            f"{name}(): self ({type_word(self)}) and source ({type_word(source)}) must have the same scalar type"
        )
    sizes = [tuple(n for d, n in enumerate(a.shape) if d != axis) for a in (self, source)]
    if self.ndim != source.ndim or sizes[0] != sizes[1]:
        raise RuntimeError(
            "source tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape = "
            f"{list(self.shape)} source.shape = {list(source.shape)}"
        )
    if self.ndim == 0:
        self, source = self.reshape(1), source.reshape(1)
    if index.size != source.shape[axis]:
        raise RuntimeError(
            f"{name}(): Number of indices ({index.size}) should be equal to source.size(dim): ({source.shape[axis]}), "
            f"for dim: {axis}"
        )
    return self, source, axis


@inplace_kernel("index_add")
@accelerated("index_add_")
def index_add_(self: np.ndarray, dim: int, index: np.ndarray, source: np.ndarray, alpha: Any) -> None:
    target, source, axis = _check_slices("index_add_", self, dim, index, source)
    check_range(index, axis, target.shape[axis])
    if alpha != 1:
        source = source * as_element(source, alpha)
    _accumulate(target, [_KEPT] * axis + [index.reshape(-1)], source)


@kernel("index_add")
def index_add(self: np.ndarray, dim: int, index: np.ndarray, source: np.ndarray, alpha: Any) -> Any:
    out = self.copy()
    index_add_(out, dim, index, source, alpha)
    return out


_FOLDS = {"prod": np.multiply, "amax": np.maximum, "amin": np.minimum, "mean": np.add}


@inplace_kernel("index_reduce")
def index_reduce_(
    self: np.ndarray, dim: int, index: np.ndarray, source: np.ndarray, reduce: str, include_self: bool
) -> None:
    if reduce not in _FOLDS:
        raise RuntimeError(f"index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got {reduce}.")
    target, source, axis = _check_slices("index_reduce_", self, dim, index, source)
    check_range(index, axis, target.shape[axis])
    where = (_KEPT,) * axis + (index.reshape(-1),)
    indexing_elements.fold(target, where, source, _FOLDS[reduce], reduce, include_self)


@kernel("index_reduce")
def index_reduce(
    self: np.ndarray, dim: int, index: np.ndarray, source: np.ndarray, reduce: str, include_self: bool
) -> Any:
    out = self.copy()
    index_reduce_(out, dim, index, source, reduce, include_self)
    return out


@inplace_kernel("index_copy")
def index_copy_(self: np.ndarray, dim: int, index: np.ndarray, source: np.ndarray) -> None:
    axis = normalize_dim(dim, self.ndim)
    if index.dtype != _INT64:
        raise RuntimeError(f"index_copy_(): Expected a long tensor for index, but got {type_word(index)}")
    if self.dtype != source.dtype:
        raise RuntimeError(
            f"index_copy_(): self and source expected to have the same dtype, but got (self) {type_word(self)} and "
            f"(source) {type_word(source)}"
        )
    if index.ndim > 1:
        raise IndexError(f"index_copy_(): Index should have dimension 1 or 0 (got {index.ndim})")
    slices = [tuple(n for d, n in enumerate(a.shape) if d != axis) for a in (self, source)]
    if slices[0] != slices[1]:
        slice_texts = [" ".join(map(str, s)) for s in slices]
        raise RuntimeError(
            "index_copy_(): Source/destination tensor must have same slice shapes. Destination slice shape: "
            f"{slice_texts[0]} at dimension {axis} and source slice shape: {slice_texts[1]} at dimension 0."
        )
    target, source = (self, source) if self.ndim else (self.reshape(1), source.reshape(1))
    source = source if source.ndim else source.reshape(1)
    if index.size != source.shape[axis]:
        raise IndexError(
            f"index_copy_(): Number of indices ({index.size}) should be equal to source.size(dim) "
            f"({source.shape[axis]})"
        )
    check_range(index, axis, target.shape[axis], IndexError, "index_copy_(): ")
    target[(_KEPT,) * axis + (index.reshape(-1),)] = source


@kernel("index_copy")
def index_copy(self: np.ndarray, dim: int, index: np.ndarray, source: np.ndarray) -> Any:
    out = self.copy()
    index_copy_(out, dim, index, source)
    return out


@kernel("index_fill_.int_Scalar")
def index_fill_(self: np.ndarray, dim: int, index: np.ndarray, value: Any) -> None:
    axis = normalize_dim(dim, self.ndim)
    if index.dtype != _INT64:
        raise IndexError("index_fill_(): Expected dtype int64 for index.")
    if index.ndim > 1:
        raise RuntimeError("Index has to be a vector/scalar")
    if isinstance(value, complex) and self.dtype.kind != "c":
        raise RuntimeError("index_fill_(): Converting complex Scalar to non-complex type is not supported")
    target = self if self.ndim else self.reshape(1)
    check_range(index, axis, target.shape[axis], IndexError, lowest=-target.shape[axis])
    target[(_KEPT,) * axis + (index,)] = as_element(self, value)


# --- flat positions
def _check_flat(name: str, self: np.ndarray, index: np.ndarray) -> None:
    if index.dtype != _INT64:
        raise RuntimeError(f"{name}(): Expected a long tensor for index, but got {type_word(index)}")
    bad = outside(index, self.size, -self.size)
    if bad is not None:
        raise IndexError(f"out of range: tried to access index {bad} on a tensor of {self.size} elements.")


@kernel("take")
def take(self: np.ndarray, index: np.ndarray) -> Any:
    if self.size == 0 and index.size:
        raise IndexError("take(): tried to take from an empty tensor")
    _check_flat("take", self, index)
    return self.take(np.ascontiguousarray(index).reshape(index.shape))


@kernel("put_")
def put_(self: np.ndarray, index: np.ndarray, source: np.ndarray, accumulate: bool) -> None:
    if self.dtype != source.dtype:
        raise RuntimeError(
            f"put_(): self and source expected to have the same dtype, but got self.dtype = {type_word(self)} and "
            f"source.dtype = {type_word(source)}"
        )
    if index.size != source.size:
        raise IndexError(
            "put_(): Expected source and index to have the same number of elements, but got source.numel() = "
            f"{source.size}, index.numel() = {index.size}"
        )
    _check_flat("put_", self, index)
    flat = self.reshape(-1)
    positions = index.reshape(-1)
    if accumulate:
        np.add.at(flat, positions, source.reshape(-1))
    else:
        flat[positions] = source.reshape(-1)
    if not np.shares_memory(flat, self):
        self[...] = flat.reshape(self.shape)


# --- masks
@kernel("masked_select")
def masked_select(self: np.ndarray, mask: np.ndarray) -> Any:
    if mask.dtype.kind != "b":
        raise RuntimeError("masked_select: expected BoolTensor for mask")
    if mask.shape != self.shape:
        shape = broadcast_shapes(mask.shape, self.shape)
        self, mask = np.broadcast_to(self, shape), np.broadcast_to(mask, shape)
    return self.reshape(-1).take(masked_positions(mask))


@kernel("masked_scatter_")
def masked_scatter_(self: np.ndarray, mask: np.ndarray, source: np.ndarray) -> None:
    if mask.dtype.kind != "b":
        raise RuntimeError(f"masked_scatter_ only supports boolean masks, but got mask with dtype {type_word(mask)}")
    if self.dtype != source.dtype:
        raise RuntimeError(
            f"masked_scatter: expected self and source to have same dtypes but got{type_word(self)} and "
            f"{type_word(source)}"
        )
    if mask.ndim > self.ndim:
        raise RuntimeError(
            f"expand(CPUBoolType{{{list(mask.shape)}}}, size={list(self.shape)}): the number of sizes provided "
            f"({self.ndim}) must be greater or equal to the number of dimensions in the tensor ({mask.ndim})"
        )
    if broadcast_shapes(mask.shape, self.shape) != self.shape:
        raise RuntimeError(
            f"The expanded size of the tensor {list(self.shape)} does not fit the mask of shape {list(mask.shape)}"
        )
    positions = masked_positions(np.broadcast_to(mask, self.shape))
    if source.size < positions.size:
        raise RuntimeError("Number of elements of source < number of ones in mask")
    flat = self.reshape(-1)
    flat[positions] = source.reshape(-1)[: positions.size]
    if not np.shares_memory(flat, self):
        self[...] = flat.reshape(self.shape)


@kernel("nonzero")
def nonzero(self: np.ndarray) -> Any:
    if self.ndim == 0:
        return np.empty((int(self != 0), 0), np.int64)
    if self.ndim == 2 and self.size:  # faster than numpy's own search in two dimensions
        flat = np.flatnonzero(self)
        rows = flat // self.shape[1]
        return np.stack((rows, flat - rows * self.shape[1])).T
    return np.stack(self.nonzero()).T  # one column after another in memory, as PyTorch lays it out

"""Numpy kernels of the movement family. Views come back as numpy views; nothing here reads a view's memory, so the same
kernels make views on every device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided as numpy_as_strided

from ... import _dtype as dt
from ..._dispatch.registry import kernel
from ..._ops.movement_shapes import dense_strides, expand_geometry, ordered_strides, storage_extent
from ..._shape import infer_size, normalize_dim, normalize_dims
from ..._storage import restride, root_array
from ..._tensor import contiguous_format, preserve_format
from .movement_elements import BEFORE, contiguous_copy  # importing it registers the rest of the family
from .unsupported import type_word

Array = np.ndarray
_ndarray = np.ndarray


# --- other shapes
@kernel("view")
def view(self: Array, size: Sequence[int]) -> Array:
    try:
        out = self.reshape(size) if self.flags.c_contiguous else self.reshape(size, copy=False)
        if out.shape != size and size and min(size) < -1:  # numpy takes any negative size for an unknown one
            infer_size(size, self.size)
        return out
    except ValueError:
        infer_size(size, self.size)
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one dimension spans "
            "across two contiguous subspaces). Use .reshape(...) instead."
        ) from None


@kernel("_unsafe_view")
def unsafe_view(self: Array, size: Sequence[int]) -> Array:
    return view(self, size)


@kernel("_reshape_alias")
def reshape_alias(self: Array, size: Sequence[int], stride: Sequence[int]) -> Array:
    return restride(self, size, [s * self.itemsize for s in stride])


@kernel("view.dtype")
def view_dtype(self: Array, dtype: dt.dtype) -> Array:
    have, want = self.itemsize, dtype.itemsize
    if have != want:
        words = f"to view {type_word(self)} as {dtype.word} (different element sizes)"
        if not self.ndim:
            raise RuntimeError(f"self.dim() cannot be 0 {words}")
        if self.strides[-1] != have:
            raise RuntimeError(f"self.stride(-1) must be 1 {words}, but got {self.strides[-1] // have}")
        if want > have and self.shape[-1] % (want // have):
            raise RuntimeError(f"self.size(-1) must be divisible by {want // have} {words}, but got {self.shape[-1]}")
    return self.view(dtype.np)


@kernel("unsqueeze")
def unsqueeze(self: Array, dim: int) -> Array:
    shape = self.shape
    n = len(shape)
    at = dim + n + 1 if dim < 0 else dim
    if not 0 <= at <= n:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-n - 1}, {n}], but got {dim})")
    if at == n and n and not self.flags.c_contiguous:
        return restride(self, (*shape, 1), (*self.strides, self.itemsize))
    return self.reshape(shape[:at] + (1,) + shape[at:])


@kernel("squeeze")
def squeeze(self: Array) -> Array:
    return self.squeeze()


@kernel("squeeze.dim")
def squeeze_dim(self: Array, dim: int) -> Array:
    n = self.ndim
    if not -n <= dim < n:
        normalize_dim(dim, n)  # raises, except for dim 0 and -1 of a scalar
        return self
    return self.squeeze(dim) if self.shape[dim] == 1 else self


@kernel("squeeze.dims")
def squeeze_dims(self: Array, dim: Sequence[int]) -> Array:
    if not dim or not self.ndim:
        return self
    return self.squeeze(tuple(d for d in normalize_dims(dim, self.ndim) if self.shape[d] == 1))


# --- other orders
_SWAPS: dict[tuple[int, int, int], tuple[int, ...]] = {}  # (ndim, dim0, dim1) -> the permutation that swaps them


def _swap(key: tuple[int, int, int]) -> tuple[int, ...]:
    ndim, dim0, dim1 = key
    a, b = normalize_dim(dim0, ndim), normalize_dim(dim1, ndim)
    order = list(range(ndim))
    if ndim:
        order[a], order[b] = b, a
    _SWAPS[key] = found = tuple(order)
    return found


@kernel("transpose.int")
def transpose(self: Array, dim0: int, dim1: int) -> Array:
    key = (self.ndim, dim0, dim1)
    return self.transpose(_SWAPS.get(key) or _swap(key))


@kernel("t")
def t(self: Array) -> Array:
    if self.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {self.ndim}D")
    return self.T


@kernel("clone")
def clone(self: Array, memory_format: Any) -> Array:
    """The short cut of the composite `clone`."""
    keeps_order = memory_format is None or memory_format is preserve_format
    if self.flags.c_contiguous and (keeps_order or memory_format is contiguous_format):
        return self.copy()
    if memory_format is contiguous_format:
        return contiguous_copy(self)
    item = self.itemsize
    strides = (
        dense_strides(self.shape, tuple([s // item for s in self.strides]))
        if keeps_order
        else ordered_strides(memory_format, self.shape) or ()
    )
    out = _ndarray(self.shape, self.dtype, strides=[s * item for s in strides])
    out[...] = self
    return out


@kernel("permute")
def permute(self: Array, dims: Sequence[int]) -> Array:
    try:
        return self.transpose(dims)
    except ValueError:
        n = self.ndim
        if len(dims) != n:
            raise RuntimeError(
                "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the "
                f"desired ordering of dimensions i.e. input.dim() = {n} is not equal to len(dims) = {len(dims)}"
            ) from None
        for d in dims:
            normalize_dim(d, n)
        raise RuntimeError("permute(): duplicate dims are not allowed.") from None


@kernel("expand")
def expand(self: Array, size: Sequence[int], implicit: bool) -> Array:
    if len(size) < self.ndim:
        word = type_word(self)
        kind = f"CPU{word}Type" if self.dtype.kind in "bc" else f"torch.{word}Tensor"
        raise RuntimeError(
            f"expand({kind}{{{list(self.shape)}}}, size="
            f"{list(size)}): the number of sizes provided ({len(size)}) must be greater or equal to the number of "
            f"dimensions in the tensor ({self.ndim})"
        )
    shape, strides = expand_geometry(self.shape, self.strides, tuple(size))
    return restride(self, shape, strides)


# --- parts
@kernel("select.int")
def select(self: Array, dim: int, index: int) -> Array:
    try:
        if dim == 0:
            return self[index, ...]
        if dim == -1:
            return self[..., index]
        return self[BEFORE[normalize_dim(dim, self.ndim)] + (index, ...)]
    except IndexError:
        if not self.ndim:
            raise IndexError("select() cannot be applied to a 0-dim tensor.") from None
        where = normalize_dim(dim, self.ndim)
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {list(self.shape)} at dimension {where}"
        ) from None


@kernel("slice.Tensor")
def slice_(self: Array, dim: int, start: int | None, end: int | None, step: int) -> Array:
    if step <= 0:
        raise RuntimeError("slice step must be positive")
    if not self.ndim:
        raise IndexError("slice() cannot be applied to a 0-dim tensor.")
    if dim == 0:
        return self[start:end:step]
    return self[BEFORE[normalize_dim(dim, self.ndim)] + (slice(start, end, step),)]


@kernel("diagonal")
def diagonal(self: Array, offset: int, dim1: int, dim2: int) -> Array:
    a, b = normalize_dim(dim1, self.ndim), normalize_dim(dim2, self.ndim)
    if a == b:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    found = self.diagonal(offset, a, b)
    if self.flags.writeable:
        found.flags.writeable = True  # numpy hands diagonals out as read-only
    return found


@kernel("unfold")
def unfold(self: Array, dimension: int, size: int, step: int) -> Array:
    dim = normalize_dim(dimension, self.ndim)
    length = self.shape[dim] if self.ndim else 1
    if size < 0:
        raise RuntimeError(f"size is {size} but must be >= 0")
    if size > length:
        raise RuntimeError(f"maximum size for tensor at dimension {dim} is {length} but size is {size}")
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0")
    if not self.ndim:
        return restride(self, (size,), (self.itemsize,))
    shape, strides = [*self.shape, size], [*self.strides, self.strides[dim]]
    shape[dim] = (length - size) // step + 1
    strides[dim] *= step
    return restride(self, shape, strides)


@kernel("as_strided")
def as_strided(self: Array, size: Sequence[int], stride: Sequence[int], storage_offset: int | None) -> Array:
    if len(size) != len(stride):
        raise RuntimeError("mismatch in length of strides and shape")
    if any(s < 0 for s in stride):
        raise RuntimeError(f"as_strided: Negative strides are not supported at the moment, got strides: {list(stride)}")
    root, item = root_array(self), self.itemsize
    first = root.__array_interface__["data"][0]
    offset = (self.__array_interface__["data"][0] - first) // item if storage_offset is None else storage_offset
    if offset < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {offset}")
    needed = (offset + storage_extent(size, stride)) * item if 0 not in size else 0
    if needed > root.nbytes:
        raise RuntimeError(
            f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {offset}, and itemsize {item} "
            f"requiring a storage size of {needed} are out of bounds for storage of size {root.nbytes}"
        )
    strides = [s * item for s in stride]
    if needed and (root.flags.c_contiguous or root.flags.f_contiguous):
        return _ndarray(size, self.dtype, root, offset * item, strides)
    start = root.reshape(-1)[:0] if not needed else self
    return numpy_as_strided(start, size, strides)


@kernel("alias", "detach", "lift_fresh")
def alias(self: Array) -> Array:
    return self


@kernel("split_with_sizes")
def split_with_sizes(self: Array, split_sizes: Sequence[int], dim: int) -> list[Array]:
    if not self.ndim:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    if any(n < 0 for n in split_sizes):
        raise RuntimeError(
            "split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes="
            f"{list(split_sizes)}"
        )
    axis = normalize_dim(dim, self.ndim)
    if sum(split_sizes) != self.shape[axis]:
        raise RuntimeError(
            f"split_with_sizes expects split_sizes to sum exactly to {self.shape[axis]} (input tensor's size at "
            f"dimension {dim}), but got split_sizes={list(split_sizes)}"
        )
    before, start, parts = BEFORE[axis], 0, []
    for n in split_sizes:
        parts.append(self[before + (slice(start, start + n),)])
        start += n
    return parts


# --- numbers
@kernel("_local_scalar_dense")
def local_scalar_dense(self: Array) -> Any:
    return self.item()

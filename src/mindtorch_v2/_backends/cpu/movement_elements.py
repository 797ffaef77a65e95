"""Numpy kernels that move elements to new memory: joins, repetitions, other orders, triangles."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ... import _dtype as dt
from ..._dispatch.registry import inplace_kernel, kernel
from ..._native import accelerated
from ..._ops.movement_shapes import check_cat, check_stack
from ..._shape import normalize_dim, normalize_dims
from .memory_format import channels_last, in_channels_last

Array = np.ndarray
BEFORE = tuple((slice(None),) * n for n in range(65))  # BEFORE[d] + (key,) indexes dimension d


_COLUMNS = 16  # 64 bytes of float32: a cache line of the output
_LARGE = 65536  # elements from which a transposed copy is worth its loop


@accelerated("contiguous_copy")
def contiguous_copy(array: Array) -> Array:
    """A row-major copy."""
    if not is_copied_in_stripes(array):
        return array.copy("C")
    out = np.empty(array.shape, array.dtype)
    copy_in_stripes(out, array)
    return out


def is_copied_in_stripes(source: Array) -> bool:
    """Whether a row-major copy of `source` is quicker in stripes. Numpy copies a large transposed array column by
    column, which misses the cache with every element; narrow stripes are four times as fast.
    """
    return (
        source.size >= _LARGE and source.ndim >= 2 and source.strides[-1] >= 512 and source.itemsize in source.strides
    )


def copy_in_stripes(out: Array, source: Array) -> None:
    """Copies an array into a row-major one of the same shape and type, some columns at a time."""
    for start in range(0, source.shape[-1], _COLUMNS):
        out[..., start : start + _COLUMNS] = source[..., start : start + _COLUMNS]


# --- joins and repetitions
def _common_type(arrays: Sequence[Array]) -> np.dtype[Any]:
    common = dt.BY_NUM[arrays[0].dtype.num]
    for a in arrays[1:]:
        common = dt.promote_types(common, dt.BY_NUM[a.dtype.num])
    return common.np


@kernel("cat")
def cat(tensors: Sequence[Array], dim: int) -> Array:
    plain = True  # one type, rows of memory in order, nothing to leave out: numpy's own join is PyTorch's
    first: Any = tensors[0].dtype if tensors else None
    for a in tensors:
        if a.dtype is not first or not a.flags.c_contiguous or a.shape == (0,):
            plain = False
            break
    try:
        if plain:
            return np.concatenate(tensors, dim)
    except ValueError:
        pass  # explained below
    axis, used = check_cat([a.shape for a in tensors], dim)
    common = _common_type(tensors)
    if not used:
        return np.empty((0,), common)
    parts = [tensors[i] for i in used]
    shape = list(parts[0].shape)
    shape[axis] = sum(a.shape[axis] for a in parts)
    made = np.empty(shape, common)
    if all(channels_last(a) for a in parts):
        made = in_channels_last(made)
    return np.concatenate(parts, axis, out=made, casting="unsafe")


@kernel("stack")
def stack(tensors: Sequence[Array], dim: int) -> Array:
    """The short cut of the composite `stack`."""
    at, shape = check_stack([a.shape for a in tensors], dim)
    if at < len(shape) and shape[at]:
        return cat(tensors, at).reshape((*shape[:at], len(tensors), *shape[at:]))
    spread = (*shape[:at], 1, *shape[at:])
    return cat([a.reshape(spread) for a in tensors], at)


@kernel("repeat")
def repeat(self: Array, repeats: Sequence[int]) -> Array:
    lead = len(repeats) - self.ndim
    if lead < 0:
        raise RuntimeError("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
    shape = (1,) * lead + self.shape
    out_shape = [n * r for n, r in zip(shape, repeats)]
    if any(r < 0 for r in repeats):
        bad = next(n for n in out_shape if n < 0)
        raise RuntimeError(f"Trying to create tensor with negative dimension {bad}: {out_shape}")
    spread = [n for pair in zip(repeats, shape) for n in pair]
    out = np.empty(spread, self.dtype)
    out[...] = self.reshape([n for size in shape for n in (1, size)])
    return out.reshape(out_shape)


@kernel("repeat_interleave.Tensor")
def repeat_interleave(repeats: Array, output_size: int | None) -> Array:
    if repeats.ndim != 1:
        raise RuntimeError("repeat_interleave only accept 1D vector as repeat")
    if repeats.dtype.kind != "i" or repeats.itemsize < 4:
        raise RuntimeError("repeats has to be Long or Int tensor")
    if repeats.size and repeats.min() < 0:
        raise RuntimeError("repeats can not be negative")
    return np.repeat(np.arange(repeats.size, dtype=repeats.dtype), repeats)


# --- other orders of elements
@kernel("flip")
def flip(self: Array, dims: Sequence[int]) -> Array:
    reverse = set(normalize_dims(dims, self.ndim)) if dims else set()
    step = slice(None, None, -1)
    return self[tuple(step if d in reverse else slice(None) for d in range(self.ndim))].copy("K")


@kernel("narrow_copy")
def narrow_copy(self: Array, dim: int, start: int, length: int) -> Array:
    if not self.ndim:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    if dim >= self.ndim:
        raise RuntimeError(
            "Expected dim < static_cast<int64_t>(self_sizes.size()) to be true, but got false.  (Could this error "
            "message be improved?  If so, please report an enhancement request to PyTorch.)"
        )
    axis = normalize_dim(dim, self.ndim)
    size = self.shape[axis]
    if not -size <= start <= size:
        raise IndexError(f"start out of range (expected to be in range of [{-size}, {size}], but got {start})")
    if start < 0:
        start += size
    if length < 0 or start + length > size:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({size}).")
    return self[BEFORE[axis] + (slice(start, start + length),)].copy()


@lru_cache(maxsize=64)
def _small_triangle(rows: int, columns: int, diagonal: int) -> Array:
    return np.tri(rows, columns, diagonal, dtype=bool)


def _triangle(array: Array, diagonal: int, word: str) -> Array:
    """A mask that is true on and below the diagonal of the last two dimensions."""
    if array.ndim < 2:
        raise RuntimeError(f"{word}: input tensor must have at least 2 dimensions")
    rows, columns = array.shape[-2:]
    make = _small_triangle if rows * columns <= 65536 else _small_triangle.__wrapped__
    return make(rows, columns, max(-rows - 1, min(diagonal, columns + 1)))


@kernel("tril")
def tril(self: Array, diagonal: int) -> Array:
    out = np.zeros(self.shape, self.dtype)
    np.copyto(out, self, where=_triangle(self, diagonal, "tril"))
    return out


@kernel("triu")
def triu(self: Array, diagonal: int) -> Array:
    out = self.copy()
    np.copyto(out, out.dtype.type(0), where=_triangle(self, diagonal - 1, "triu"))
    return out


@inplace_kernel("tril")
def tril_(self: Array, diagonal: int) -> None:
    np.copyto(self, self.dtype.type(0), where=~_triangle(self, diagonal, "tril"))


@inplace_kernel("triu")
def triu_(self: Array, diagonal: int) -> None:
    np.copyto(self, self.dtype.type(0), where=_triangle(self, diagonal - 1, "triu"))


@kernel("unfold_backward")
def unfold_backward(grad_in: Array, input_sizes: Sequence[int], dim: int, size: int, step: int) -> Array:
    """Adds every window's gradient back to where the window lay."""
    out = np.zeros(input_sizes, grad_in.dtype)
    if not out.ndim:
        out += grad_in.sum()
        return out
    axis = normalize_dim(dim, out.ndim)
    windows = grad_in.shape[axis]
    before = BEFORE[axis]
    for k in range(size):  # all windows' k-th elements lie at distinct positions
        out[before + (slice(k, k + (windows - 1) * step + 1, step),)] += grad_in[..., k]
    return out

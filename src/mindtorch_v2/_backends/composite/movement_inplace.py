"""Forms that give the tensor they are called on another shape, order or memory: only its geometry changes."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ... import _observer
from ..._dispatch import aten
from ..._dispatch.registry import composite
from ..._keys import ACCELERATORS, DEVICES, GRAD, META
from ..._ops.movement_shapes import ordered_strides, storage_extent
from ..._shape import contiguous_strides
from ..._storage import Storage, root_array, taken
from ..._tensor import Tensor, bump_version, wrap
from ..cpu import movement as kernels


def _regeometry(name: str, function: Callable[..., np.ndarray]) -> None:
    """Registers the in-place form of a view: the tensor takes on the geometry that the view would have."""

    @composite(name)
    def change(self: Tensor, *args: Any) -> Tensor:
        self._array = function(self._array, *args)
        bump_version(self)
        return self


for _name, _function in (
    ("squeeze_", kernels.squeeze),
    ("squeeze_.dim", kernels.squeeze_dim),
    ("squeeze_.dims", kernels.squeeze_dims),
    ("unsqueeze_", kernels.unsqueeze),
    ("transpose_", kernels.transpose),
    ("as_strided_", kernels.as_strided),
):
    _regeometry(_name, _function)


@composite("swapaxes_", "swapdims_")
def swapaxes_(self: Any, dim0: int, dim1: int) -> Any:
    return aten.transpose_(self, dim0, dim1)


@composite("t_")
def t_(self: Any) -> Any:
    n = self._array.ndim
    if n > 2:
        raise RuntimeError(f"t_() expects a tensor with <= 2 dimensions, but self is {n}D")
    return aten.transpose_(self, 0, 1 if n == 2 else 0)


@contextlib.contextmanager
def inner_event(name: str, tensor: Any) -> Iterator[None]:
    """The event without `aten::` that PyTorch's autograd layer makes inside `detach` and `detach_`."""
    observer = _observer.active
    if observer is None:
        yield
        return
    observer.enter_node(name, -1, 0, (tensor,), False)
    try:
        yield
    finally:
        observer.leave()


@composite("detach_")
def detach_(self: Any) -> Any:
    if self._base is not None and self._edge is not None:
        raise RuntimeError(
            "Can't detach views in-place. Use detach() instead. If you are using DistributedDataParallel (DDP) for "
            "training, and gradient_as_bucket_view is set as True, gradients are views of DDP buckets, and hence "
            "detach_() cannot be called on these gradients. To fix this error, please refer to the Optimizer."
            "zero_grad() function in torch/optim/optimizer.py as a solution."
        )
    with inner_event("detach_", self):
        self._edge = None
        self._keys &= ~GRAD
    return self


# --- other memory
def _fresh(like: Tensor, extent: int) -> np.ndarray:
    """A flat array of the tensor's type; on the meta device one that has no memory."""
    if like._keys & META:
        return np.lib.stride_tricks.as_strided(
            np.zeros(1, like._array.dtype), (extent,), (like._array.itemsize,), writeable=False
        )
    return np.zeros(extent, like._array.dtype)


@composite("resize_")
def resize_(self: Any, size: Sequence[int], memory_format: Any) -> Any:
    if self._keys & GRAD:
        raise RuntimeError("cannot resize variables that require grad")
    shape = tuple(size)
    if any(n < 0 for n in shape):
        raise RuntimeError(
            f"Trying to create tensor with negative dimension {next(n for n in shape if n < 0)}: {list(shape)}"
        )
    array = self._array
    last = ordered_strides(memory_format, shape)
    strides = contiguous_strides(shape) if last is None else last
    if shape == array.shape and last is None:
        return self
    root = root_array(array)
    offset = 0 if self._keys & META else self.storage_offset()
    needed = storage_extent(shape, strides)
    bytes_strides = [s * array.itemsize for s in strides]
    if not self._keys & META and (offset + needed) * array.itemsize <= root.nbytes and root.flags.forc:
        self._array = np.ndarray(shape, array.dtype, root, offset * array.itemsize, bytes_strides)
    elif self._keys & ACCELERATORS:
        kept = wrap(
            np.ndarray((root.nbytes // array.itemsize - offset,), array.dtype, root, offset * array.itemsize),
            self.dtype,
            self._keys & DEVICES,
            self.device,
        )
        grown = aten.zeros((needed,), dtype=self.dtype, device=self.device)
        aten.copy_(aten.narrow(grown, 0, 0, kept._array.size), kept)
        self._array = np.ndarray(shape, array.dtype, grown._array, 0, bytes_strides)
    else:
        flat = _fresh(self, needed)
        if not self._keys & META:
            kept = (
                np.ndarray(
                    (min(root.nbytes // array.itemsize - offset, needed),), array.dtype, root, offset * array.itemsize
                )
                if root.flags.forc
                else array.reshape(-1)[:needed]
            )
            flat[: kept.size] = kept
        self._array = np.ndarray(shape, array.dtype, flat, 0, bytes_strides) if needed else np.empty(shape, array.dtype)
    bump_version(self)
    return taken(self)


@composite("resize_as_")
def resize_as_(self: Any, the_template: Any, memory_format: Any) -> Any:
    return aten.resize_(self, the_template._array.shape, memory_format=memory_format)


def _take_over(self: Tensor, array: np.ndarray, storage: Storage | None) -> Tensor:
    self._array = array
    self._storage = storage
    bump_version(self)
    return self


@composite("set_")
def set_(self: Any) -> Any:
    return _take_over(self, np.empty((0,), self._array.dtype), None)


@composite("set_.source_Tensor")
def set_source(self: Any, source: Any) -> Any:
    if source.dtype is not self.dtype:
        raise RuntimeError(
            f"Could not set tensor of type {source.dtype.cpp_name} to a tensor of type {self.dtype.cpp_name}"
        )
    if source._storage is None:
        source._storage = Storage()
    return _take_over(self, source._array, source._storage)


@composite("set_.source_Tensor_storage_offset")
def set_source_geometry(self: Any, source: Any, storage_offset: int, size: Sequence[int], stride: Sequence[int]) -> Any:
    steps = stride or contiguous_strides(size)
    array = kernels.as_strided(source._array, size, steps, storage_offset)
    if source._storage is None:
        source._storage = Storage()
    return _take_over(self, array, source._storage)

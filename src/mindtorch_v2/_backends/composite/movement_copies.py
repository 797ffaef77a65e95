"""Copies and conversions: clone, contiguous, to, and the ways from a tensor to a number.

While nobody watches, a copy within the CPU is one numpy call; watched, it is made of the steps that PyTorch shows.
"""

from __future__ import annotations

from typing import Any

from ... import _device, _observer
from ... import _dtype as dt
from ..._dispatch import aten
from ..._dispatch.registry import composite
from ..._keys import CPU
from ..._ops.movement_shapes import dense_strides
from ..._quiet import cast
from ..._tensor import Tensor, contiguous_format, preserve_format, wrap


@composite("clone")
def clone(self: Any, memory_format: Any) -> Any:
    if memory_format is not None and memory_format is not preserve_format:
        return aten.copy_(aten.empty_like(self, memory_format=memory_format), self)
    shape, strides = self._array.shape, Tensor.stride(self)
    if self._array.flags.c_contiguous or dense_strides(shape, strides) == strides:
        out = aten.empty_strided(shape, strides, dtype=self.dtype, device=self.device)
    else:
        out = aten.empty_like(self)
    return aten.copy_(out, self)


@composite("contiguous")
def contiguous(self: Any, memory_format: Any) -> Any:
    if self.is_contiguous(memory_format):
        return self
    return aten.clone(self, memory_format=memory_format or contiguous_format)


@composite("_to_copy")
def to_copy(
    self: Any, dtype: dt.dtype | None, layout: Any, device: Any, pin_memory: Any, non_blocking: bool, memory_format: Any
) -> Any:
    where = self.device if device is None else _device.resolve(device)
    kind = self.dtype if dtype is None else dtype
    if kind is dt.float16 and self.dtype is dt.float64 and self._keys & CPU:
        self = aten._to_copy(self, dtype=dt.float32)  # PyTorch rounds twice, as ml_dtypes does for its own types
    if (
        self._keys & CPU
        and where.type == "cpu"
        and _observer.active is None
        and self._array.flags.c_contiguous
        and self.dtype.category <= kind.category
        and (memory_format is None or memory_format is preserve_format)
    ):
        return wrap(cast(self._array, kind.np), kind)
    if self.is_meta and where.type != "meta":
        raise NotImplementedError("Cannot copy out of meta tensor; no data!")
    if memory_format is None or memory_format is preserve_format:
        shape, strides = self._array.shape, Tensor.stride(self)
        if not self._array.flags.c_contiguous:
            strides = dense_strides(shape, strides)
        out = aten.empty_strided(shape, strides, dtype=kind, device=where)
    else:
        out = aten.empty(self._array.shape, dtype=kind, device=where, memory_format=memory_format)
    return aten.copy_(out, self, non_blocking)


def _convert(self: Any, dtype: dt.dtype | None, device: Any, non_blocking: bool, copy: bool, memory_format: Any) -> Any:
    """`self` itself if it is already as asked for, else a copy."""
    same_type = dtype is None or dtype is self.dtype
    same_device = device is None or device == self.device
    keeps_order = memory_format is None or memory_format is preserve_format or self.is_contiguous(memory_format)
    if same_type and same_device and keeps_order and not copy:
        return self
    return aten._to_copy(self, dtype=dtype, device=device, non_blocking=non_blocking, memory_format=memory_format)


@composite("to.dtype")
def to_dtype(self: Any, dtype: dt.dtype, non_blocking: bool, copy: bool, memory_format: Any) -> Any:
    if dtype is self.dtype and not copy and memory_format is None:
        return self
    return _convert(self, dtype, None, non_blocking, copy, memory_format)


@composite("to.device")
def to_device(self: Any, device: Any, dtype: dt.dtype, non_blocking: bool, copy: bool, memory_format: Any) -> Any:
    return _convert(self, dtype, _device.resolve(device), non_blocking, copy, memory_format)


@composite("to.other")
def to_other(self: Any, other: Any, non_blocking: bool, copy: bool, memory_format: Any) -> Any:
    return _convert(self, other.dtype, other.device, non_blocking, copy, memory_format)


@composite("to.dtype_layout")
def to_dtype_layout(
    self: Any,
    dtype: dt.dtype | None,
    layout: Any,
    device: Any,
    pin_memory: Any,
    non_blocking: bool,
    copy: bool,
    memory_format: Any,
) -> Any:
    return _convert(self, dtype, None if device is None else _device.resolve(device), non_blocking, copy, memory_format)


@composite("type_as")
def type_as(self: Any, other: Any) -> Any:
    return aten.overload("to.other")(self, other)


# --- numbers
@composite("item")
def item(self: Any) -> Any:
    if self._array.size != 1:
        raise RuntimeError(f"a Tensor with {self._array.size} elements cannot be converted to Scalar")
    if self._keys & CPU and _observer.active is None:
        return self._array.item()
    if self.is_meta:
        raise RuntimeError("Tensor.item() cannot be called on meta tensors")
    return aten._local_scalar_dense(self)


@composite("is_nonzero")
def is_nonzero(self: Any) -> bool:
    n = self._array.size
    if n != 1:
        raise RuntimeError(
            f"Boolean value of Tensor with {'no values' if n == 0 else 'more than one value'} is ambiguous"
        )
    return bool(aten.item(self))

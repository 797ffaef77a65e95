"""Creation ops that are made of others: take memory, then fill it.

While nobody watches, a tensor on the CPU is made by one numpy call; watched, by the steps that PyTorch shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import _device, _observer
from ... import _dtype as dt
from ..._dispatch import aten
from ..._dispatch.registry import composite
from ..._keys import CPU
from ..._ops.creation_sizes import as_number, explain_sizes, refuse_sparse
from ..._ops.movement_shapes import dense_strides
from ..._shape import contiguous_strides
from ..._tensor import Tensor, preserve_format, wrap


# --- from sizes
@composite("zeros")
def zeros(size: Sequence[int], dtype: dt.dtype | None, layout: Any, device: Any, pin_memory: Any) -> Any:
    if layout is not None:
        refuse_sparse("zeros", layout)
    kind = dtype or dt.get_default_dtype()
    if _observer.active is None and device.type == "cpu":
        try:
            return wrap(np.zeros(size, kind.np), kind)
        except (ValueError, TypeError):
            pass  # a negative size, or no number: explained below
    explain_sizes("zeros", size)
    if any(n < 0 for n in size):
        raise RuntimeError("zeros: Dimension size must be non-negative.")
    return aten.zero_(aten.empty(size, dtype=kind, device=device))


@composite("ones")
def ones(size: Sequence[int], dtype: dt.dtype | None, layout: Any, device: Any, pin_memory: Any) -> Any:
    refuse_sparse("ones", layout)
    return _full(size, 1.0, dtype or dt.get_default_dtype(), device, "ones")


def _full(size: Sequence[int], value: Any, kind: dt.dtype, device: Any, name: str = "full") -> Any:
    if _observer.active is None and device.type == "cpu":
        try:
            array = np.empty(size, kind.np)
        except (ValueError, TypeError):
            explain_sizes(name, size)  # a negative size is explained by aten.empty
        else:
            array.fill(value)
            return wrap(array, kind)
    return aten.fill_(aten.empty(size, dtype=kind, device=device), value)


@composite("full")
def full(
    size: Sequence[int], fill_value: Any, dtype: dt.dtype | None, layout: Any, device: Any, pin_memory: Any
) -> Any:
    if isinstance(size, int):
        raise TypeError("full(): argument 'size' (position 1) must be tuple of ints, not int")
    if fill_value is None:
        raise TypeError("full(): argument 'fill_value' (position 2) must be Number, not NoneType")
    refuse_sparse("full", layout)
    value = as_number(fill_value)
    kind = dtype or (fill_value.dtype if hasattr(fill_value, "_array") else dt.of_number(value))
    if kind.category < 2:
        return aten.fill_(aten.empty(size, dtype=kind, device=device), value)
    return _full(size, value, kind, device)


# --- from the sizes of a tensor
def _device_for(self: Any, device: Any) -> Any:
    return self.device if device is None else _device.resolve(device)


@composite("empty_like")
def empty_like(self: Any, dtype: dt.dtype | None, layout: Any, device: Any, pin_memory: Any, memory_format: Any) -> Any:
    where = _device_for(self, device)
    kind = dtype or self.dtype
    array = self._array
    if memory_format is None or memory_format is preserve_format:
        shape, by_rows = array.shape, array.flags.c_contiguous
        if by_rows and _observer.active is None and where.type == "cpu" and self._keys & CPU:
            return wrap(np.empty(shape, kind.np), kind)
        strides = contiguous_strides(shape) if by_rows else dense_strides(shape, Tensor.stride(self))
        return aten.empty_strided(shape, strides, dtype=kind, device=where)
    return aten.empty(array.shape, dtype=kind, device=where, memory_format=memory_format)


def _filled_like(self: Any, value: Any, dtype: dt.dtype | None, device: Any, memory_format: Any) -> Any:
    """A tensor like `self` full of a value; None stands for zero_."""
    if _observer.active is None:
        made = empty_like(self, dtype, None, device, None, memory_format)
        if made._keys & CPU and (made.dtype.inexact or value is None or value == 1):
            made._array.fill(0 if value is None else value)
            return made
    else:
        made = aten.empty_like(self, dtype=dtype, device=device, memory_format=memory_format)
    return aten.zero_(made) if value is None else aten.fill_(made, value)


@composite("zeros_like")
def zeros_like(self: Any, dtype: dt.dtype | None, layout: Any, device: Any, pin_memory: Any, memory_format: Any) -> Any:
    return _filled_like(self, None, dtype, device, memory_format)


@composite("ones_like")
def ones_like(self: Any, dtype: dt.dtype | None, layout: Any, device: Any, pin_memory: Any, memory_format: Any) -> Any:
    return _filled_like(self, 1.0, dtype, device, memory_format)


@composite("full_like")
def full_like(
    self: Any, fill_value: Any, dtype: dt.dtype | None, layout: Any, device: Any, pin_memory: Any, memory_format: Any
) -> Any:
    return _filled_like(self, as_number(fill_value), dtype, device, memory_format)


@composite("new_empty")
def new_empty(self: Any, size: Sequence[int], dtype: dt.dtype | None, layout: Any, device: Any, pin_memory: Any) -> Any:
    return aten.empty(size, dtype=dtype or self.dtype, device=_device_for(self, device))


@composite("new_empty_strided")
def new_empty_strided(
    self: Any,
    size: Sequence[int],
    stride: Sequence[int],
    dtype: dt.dtype | None,
    layout: Any,
    device: Any,
    pin_memory: Any,
) -> Any:
    return aten.empty_strided(size, stride, dtype=dtype or self.dtype, device=_device_for(self, device))


@composite("new_zeros")
def new_zeros(self: Any, size: Sequence[int], dtype: dt.dtype | None, layout: Any, device: Any, pin_memory: Any) -> Any:
    if _observer.active is None:
        return zeros(size, dtype or self.dtype, layout, _device_for(self, device), pin_memory)
    return aten.zero_(aten.new_empty(self, size, dtype=dtype, device=device))


@composite("new_ones")
def new_ones(self: Any, size: Sequence[int], dtype: dt.dtype | None, layout: Any, device: Any, pin_memory: Any) -> Any:
    return aten.fill_(aten.new_empty(self, size, dtype=dtype, device=device), 1.0)


@composite("new_full")
def new_full(
    self: Any, size: Sequence[int], fill_value: Any, dtype: dt.dtype | None, layout: Any, device: Any, pin_memory: Any
) -> Any:
    return aten.fill_(aten.new_empty(self, size, dtype=dtype, device=device), as_number(fill_value))

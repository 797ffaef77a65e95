"""Tensors from Python values, numpy arrays and buffers: `torch.tensor` and its relatives."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from .. import _device, _observer
from .. import _dtype as dt
from .._dispatch import aten, modes
from .._dispatch.bind import as_dtype
from .._dispatch.checks import type_word
from .._dispatch.namespace import fronts
from .._dispatch.overrides import ask_about
from .._ops.movement_shapes import storage_extent
from .._quiet import make_array
from .._storage import taken
from .._tensor import Tensor, wrap
from .array_data import _array_of
from .movement import to as _to
from .untyped_storage import UntypedStorage


def _target_device(device: Any) -> _device.device | None:
    """The device asked for, by argument or by default; None for the CPU, where data is made anyway."""
    where = _device.resolve(device)
    return None if where is _device.CPU else where


def _finish(t: Tensor, device: Any, requires_grad: bool, pin_memory: bool = False) -> Tensor:
    if device is not None and device != t.device:
        t = _to(t, device)
    if pin_memory:
        from .memory_methods import pinned_result

        t = pinned_result(t)
    if requires_grad:
        if not t.dtype.inexact:
            raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
        t.requires_grad_()
    return t


def _observed_copy(array: np.ndarray, keep: bool) -> Tensor:
    """Makes the tensor in the steps that PyTorch shows: empty, to, lift_fresh, and detach_ unless `keep`. Only the
    last of them is a call that autograd could record.
    """
    made = modes.call_with_grad(False, _copied_in_steps, array)
    return made if keep else aten.detach_(made)


def _copy_of_array(data: np.ndarray, kind: dt.dtype) -> Tensor:
    """Laid out as the array is, unless elements of it share memory."""
    return wrap(make_array(data, kind.np, copy=True, order="C" if 0 in data.strides else "K"), kind)


def _observed_copy_of_array(data: np.ndarray, kind: dt.dtype) -> Tensor:
    """Makes the tensor in the steps that PyTorch shows: lift_fresh, to, and detach_. The array itself is read where it
    is: a copy before the copy would be memory that an unobserved call does not take.
    """
    is_plain = (
        data.dtype == kind.np and data.flags.aligned and not any(s < 0 or s % data.itemsize for s in data.strides)
    )
    source = wrap(data, kind) if is_plain else taken(_copy_of_array(data, kind))
    aten.lift_fresh(source)
    return aten.detach_(_to(source, copy=True, dtype=kind))


def _copied_in_steps(array: np.ndarray) -> Tensor:
    made = aten.empty(array.shape, dtype=dt.BY_NUM[array.dtype.num], device=_device.CPU)
    made._array[...] = array
    made = _to(made, made.dtype)
    aten.lift_fresh(made)
    return made


def tensor(
    data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False, pin_memory: bool = False
) -> Tensor:
    """A tensor with a copy of the data: numbers, nested sequences, arrays.

    >>> torch.tensor([[1, 2], [3, 4]])
    tensor([[1, 2],
            [3, 4]])
    >>> torch.tensor([1, 2], dtype=torch.float64)
    tensor([1., 2.], dtype=torch.float64)
    """
    if modes.state.function_modes:
        flags = {"requires_grad": requires_grad or None, "pin_memory": pin_memory or None}
        return ask_about(tensor, data, dtype=dtype, device=device, **flags)
    if dtype is not None and dtype.__class__ is not dt.dtype:
        dtype = as_dtype(dtype)
    device = _target_device(device)
    if isinstance(data, Tensor):
        warnings.warn(
            "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
            "sourceTensor.detach().clone().requires_grad_(True), rather than torch.tensor(sourceTensor).",
            UserWarning,
            stacklevel=2,
        )
        copied = _to(data.detach(), device=device, dtype=dtype, copy=True)
        return _finish(copied.detach(), None, requires_grad, pin_memory)
    if isinstance(data, np.ndarray):
        kind = dtype or dt.from_numpy(data.dtype)
        made = _copy_of_array(data, kind) if _observer.active is None else _observed_copy_of_array(data, kind)
    else:
        array = _array_of(data, dtype)
        made = wrap(array) if _observer.active is None else _observed_copy(array, keep=False)
    return (
        made
        if device is None and not requires_grad and not pin_memory
        else _finish(made, device, requires_grad, pin_memory)
    )


def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Tensor:
    """The data as a tensor; memory is shared where type and device allow it.

    >>> torch.as_tensor([1, 2])
    tensor([1, 2])
    """
    if modes.state.function_modes:
        return ask_about(as_tensor, data, dtype=dtype, device=device)
    if dtype is None and device is None and isinstance(data, Tensor) and _observer.active is None:
        return data
    if dtype is not None:
        dtype = as_dtype(dtype)
    where = _target_device(device)
    if isinstance(data, Tensor):
        return _to(data, dtype=dtype, device=None if device is None else where)
    if isinstance(data, np.ndarray):
        made = from_numpy(data)
        return (
            made
            if where is None and dtype in (None, made.dtype) and _observer.active is None
            else _to(made, dtype=dtype, device=where)
        )
    array = _array_of(data, dtype)
    made = wrap(array) if _observer.active is None else _observed_copy(array, keep=True)
    return _finish(made, where, False)


# --- memory that others own
def from_numpy(array: Any) -> Tensor:
    """A tensor over the memory of a numpy array.

    >>> import numpy
    >>> torch.from_numpy(numpy.array([1, 2]))
    tensor([1, 2])
    """
    if not isinstance(array, np.ndarray):
        name = (
            type(array).__name__
            if type(array).__module__ == "builtins"
            else f"{type(array).__module__}.{type(array).__name__}"
        )
        raise TypeError(f"expected np.ndarray (got {name})")
    if not array.dtype.isnative:
        raise ValueError(
            "given numpy array has byte order different from the native byte order. Conversion between byte orders "
            "is currently not supported."
        )
    strides = array.strides
    if strides and min(strides) < 0:
        raise ValueError(
            "At least one stride in the given numpy array is negative, and tensors with negative strides are not "
            "currently supported. (You can probably work around this by making a copy of your array  with "
            "array.copy().) "
        )
    kind = dt.from_numpy(array.dtype)
    item = array.itemsize
    if any([s % item for s in strides]):  # noqa: C419 - a list is quicker
        raise ValueError(
            "given numpy array strides not a multiple of the element byte size. Copy the numpy array to reallocate the "
            "memory."
        )
    if not array.flags.writeable:
        warnings.warn(
            "The given NumPy array is not writable: writing to the tensor raises an error. You may want to copy the "
            "array before converting it to a tensor.",
            UserWarning,
            stacklevel=2,
        )
    made = wrap(np.asarray(array) if array.base is None else _own_storage(array), kind)
    if _observer.active is not None:
        taken(made)
        aten.lift_fresh(made)
    return made


class _Window:
    """Part of an array's memory, as numpy reads it from an object that is no array: a chain of views ends here."""

    def __init__(self, array: np.ndarray, extent: int) -> None:
        self.__array_interface__ = {**array.__array_interface__, "shape": (extent,), "strides": None}
        self.base = array


def _own_storage(array: np.ndarray) -> np.ndarray:
    """The same elements, over memory that begins with the first and ends with the last of them: what the array is a
    view of does not belong to the tensor's storage.
    """
    item = array.itemsize
    extent = array.size if array.flags.c_contiguous else storage_extent(array.shape, [s // item for s in array.strides])
    return np.ndarray(array.shape, array.dtype, np.asarray(_Window(array, extent)), 0, array.strides)


def frombuffer(buffer: Any, *, dtype: Any, count: int = -1, offset: int = 0, requires_grad: bool = False) -> Tensor:
    """A 1-dim tensor over the memory of an object with the buffer protocol.

    >>> torch.frombuffer(bytearray([1, 2, 3]), dtype=torch.uint8)
    tensor([1, 2, 3], dtype=torch.uint8)
    """
    kind, view = as_dtype(dtype), memoryview(buffer)
    length, item = view.nbytes, kind.itemsize
    if length == 0 or count == 0:
        raise ValueError(f"both buffer length ({length}) and count ({count}) must not be 0")
    if not 0 <= offset < length:
        raise ValueError(
            f"offset ({offset} bytes) must be non-negative and no greater than buffer length ({length} bytes) minus 1"
        )
    if count < 0:
        if (length - offset) % item:
            raise ValueError(
                f"buffer length ({length - offset} bytes) after offset ({offset} bytes) must be a multiple of element "
                f"size ({item})"
            )
        count = (length - offset) // item
    elif offset + count * item > length:
        raise ValueError(
            f"requested buffer length ({count} * {item} bytes) after offset ({offset} bytes) must not be greater than "
            f"actual buffer length ({length} bytes)"
        )
    made = taken(wrap(np.frombuffer(buffer, kind.np, count, offset), kind))
    return _finish(made, None, requires_grad)


def _over_memory_of(obj: Any, dtype: dt.dtype | None) -> Tensor | None:
    """A tensor over the memory of an object that has memory; None for a number or a list."""
    if isinstance(obj, Tensor):
        return obj
    if isinstance(obj, np.ndarray):
        return from_numpy(obj)
    if isinstance(obj, (bytes, bytearray, memoryview)):
        return frombuffer(obj, dtype=dtype or dt.get_default_dtype())
    return wrap(obj.bytes_array(), dt.uint8) if isinstance(obj, UntypedStorage) else None


def asarray(
    obj: Any, *, dtype: Any = None, device: Any = None, copy: bool | None = None, requires_grad: bool | None = None
) -> Tensor:
    """The object as a tensor. `copy` True always copies, False never does, None copies where it must. A tensor keeps
    its history unless `requires_grad` says otherwise.

    >>> torch.asarray([1, 2], dtype=torch.float32)
    tensor([1., 2.])
    """
    if modes.state.function_modes:
        return ask_about(asarray, obj, dtype=dtype, device=device, copy=copy, requires_grad=requires_grad or None)
    if dtype is not None:
        dtype = as_dtype(dtype)
    shared = _over_memory_of(obj, dtype)
    if shared is None:
        if copy is False:
            raise ValueError("can't alias arbitrary sequence into a tensor.")
        return tensor(obj, dtype=dtype, device=device, requires_grad=bool(requires_grad))
    if requires_grad is None:
        requires_grad = shared.requires_grad
        if requires_grad:
            warnings.warn(
                "torch.asarray: unspecified requires_grad now defaults to obj.requires_grad instead of False. "
                "Pass requires_grad=False explicitly to get the old behavior and silence this warning.",
                stacklevel=2,
            )
    if copy is False and dtype not in (None, shared.dtype):
        raise ValueError(f"can't alias tensor with dtype '{type_word(shared.dtype)}' into dtype '{type_word(dtype)}'.")
    made = (
        _to(shared, dtype=dtype, device=device, copy=bool(copy))
        if copy or dtype is not None or device is not None
        else shared
    )
    if requires_grad and not made.requires_grad:
        made = _finish(made.detach(), None, True)
    elif not requires_grad and made.requires_grad:
        made = made.detach()
    return made


def _new_tensor(
    self: Tensor,
    data: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A copy of the data with this tensor's type and device unless others are given.

    >>> torch.ones(1, dtype=torch.float64).new_tensor([1., 2.]).dtype
    torch.float64
    """
    kind = self.dtype if dtype is None else as_dtype(dtype)
    return tensor(
        data,
        dtype=kind,
        device=self.device if device is None else device,
        requires_grad=requires_grad,
        pin_memory=pin_memory,
    )


def arange(start: Any = None, end: Any = None, step: Any = 1, **options: Any) -> Tensor:
    """The numbers from `start` up to, not including, `end`.

    >>> torch.arange(4)
    tensor([0, 1, 2, 3])
    >>> torch.arange(1., 2., 0.5)
    tensor([1.0000, 1.5000])
    """
    if end is None and step.__class__ is int and step == 1:
        return aten.overload("arange")(start, **options)
    if end is None:
        start, end = 0, start
    return aten.overload("arange.start_step")(0 if start is None else start, end, step, **options)


Tensor.new_tensor = _new_tensor  # type: ignore[assignment, method-assign]
fronts["arange"] = arange

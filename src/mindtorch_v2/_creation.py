"""Tensors from Python data: `tensor`, `as_tensor`, `asarray`, `from_numpy`, `frombuffer`, `from_dlpack`."""
from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from . import _device, _observer
from . import _dtype as dt
from ._dispatch import aten
from ._dispatch.codegen import as_dtype
from ._dispatch.resolve import key_of_device, meta_array
from ._ops.rules import Spec
from ._tensor import Tensor, shallow_alias, wrap

_NUMBERS = (bool, int, float, complex)


def _infer(data: Any) -> dt.dtype:
    """The type of nested Python data: that of its widest number; an empty list is of the default type."""
    if isinstance(data, Tensor):
        return data.dtype
    if isinstance(data, (np.ndarray, np.generic)):
        return dt.from_numpy(data.dtype)
    if isinstance(data, _NUMBERS):
        return dt.of_number(data)
    found: dt.dtype | None = None
    for item in data:
        d = _infer(item)
        found = d if found is None else dt.promote_types(found, d)
    return dt.get_default_dtype() if found is None else found


def _shape(data: Any) -> tuple[int, ...]:
    """The shape of nested sequences; ValueError with PyTorch's text where they are ragged."""
    if isinstance(data, (Tensor, np.ndarray)):
        return tuple(data.shape)
    if isinstance(data, (str, bytes)) or not isinstance(data, Sequence):
        return ()
    if not len(data):
        return (0,)
    inner = _shape(data[0])
    for item in data:
        if _shape(item) != inner:
            raise ValueError(f"expected sequence of length {inner[0] if inner else 0} at dim 1 (got {_length(item)})")
    return (len(data), *inner)


def _length(item: Any) -> int:
    return len(item) if hasattr(item, "__len__") else 0


def _plain(data: Any) -> Any:
    """Nested data with its tensors turned into arrays or numbers."""
    if isinstance(data, Tensor):
        return data.detach()._a if data.dim() else data.item()
    if isinstance(data, (list, tuple)):
        return [_plain(item) for item in data]
    return data


def _array(data: Any, dtype: dt.dtype | None) -> np.ndarray:
    """A fresh array of the data in the type asked for or inferred."""
    if isinstance(data, np.ndarray):
        kind = dtype or dt.from_numpy(data.dtype)
        return np.array(data, dtype=kind.np, order="C")
    if isinstance(data, (*_NUMBERS, np.generic)):
        kind = dtype or _infer(data)
        return np.array(_checked(data, kind), dtype=kind.np)
    if isinstance(data, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{type(data).__name__}'")
    if not isinstance(data, (list, tuple)):
        if hasattr(data, "__array__"):
            return _array(np.asarray(data), dtype)
        if not isinstance(data, Sequence):
            raise RuntimeError(f"Could not infer dtype of {type(data).__name__}")
        data = list(data)
    return _from_sequence(data, dtype)


def _checked(value: Any, kind: dt.dtype) -> Any:
    if kind.category < 3 and isinstance(value, complex):
        raise RuntimeError("value cannot be converted to type float without overflow")
    return int(value) if kind.category == 1 and isinstance(value, float) else value


def _from_sequence(data: Sequence[Any], dtype: dt.dtype | None) -> np.ndarray:
    plain = _plain(data)
    try:
        quick = np.array(plain)
    except ValueError:
        _shape(data)  # says which part is ragged, in PyTorch's words
        raise
    if quick.dtype == object or quick.dtype.kind in "SU":
        _raise_unreadable(data)
        _shape(data)
        quick = np.array(plain, dtype=(dtype or _infer(data)).np)
    if dtype is None:
        if quick.dtype.kind == "f" and quick.dtype != np.float64 or _holds_arrays(data):
            dtype = _infer(data)
        else:
            dtype = {"f": dt.get_default_dtype(), "i": dt.int64, "u": dt.int64, "b": dt.bool_,
                     "c": dt.get_default_dtype().to_complex()}[quick.dtype.kind]
            if quick.size == 0:
                dtype = dt.get_default_dtype()
    return quick.astype(dtype.np) if quick.dtype != dtype.np else quick


def _holds_arrays(data: Any) -> bool:
    while isinstance(data, (list, tuple)) and len(data):
        data = data[0]
    return isinstance(data, (Tensor, np.ndarray, np.generic))


def _raise_unreadable(data: Any) -> None:
    for item in data:
        if isinstance(item, (list, tuple)):
            _raise_unreadable(item)
        elif isinstance(item, (str, bytes)):
            raise ValueError(f"too many dimensions '{type(item).__name__}'")
        elif item is None:
            raise RuntimeError("Could not infer dtype of NoneType")
        elif not isinstance(item, (*_NUMBERS, np.generic, np.ndarray, Tensor)):
            raise RuntimeError(f"Could not infer dtype of {type(item).__name__}")


def _place(array: np.ndarray, device: Any) -> Tensor:
    where = _device.resolve(device)
    if where.type == "cpu":
        return wrap(array)
    key = key_of_device(where)
    if where.type == "meta":
        return wrap(meta_array(Spec(array.shape, dt.from_numpy(array.dtype))), None, key)
    return wrap(array).to(where)


def tensor(data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False, pin_memory: bool = False) -> Tensor:
    """A new leaf tensor that holds a copy of the data: a number, nested sequences, an array or a tensor."""
    kind = None if dtype is None else as_dtype(dtype)
    if isinstance(data, Tensor):
        warnings.warn("To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
                      "sourceTensor.detach().clone().requires_grad_(True), rather than torch.tensor(sourceTensor).", stacklevel=2)
        made = data.detach().clone().to(kind or data.dtype)
        made = made if device is None else made.to(device)
        return made.requires_grad_() if requires_grad else made
    made = _place(_array(data, kind), device)
    if _observer.active is not None:
        made = aten.detach_(aten.lift_fresh(made))
    return made.requires_grad_() if requires_grad else made


def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Tensor:
    """The data as a tensor; tensors and arrays are not copied unless the type or device changes."""
    kind = None if dtype is None else as_dtype(dtype)
    if isinstance(data, Tensor):
        if kind is not None and kind is not data.dtype:
            data = data.to(kind)
        return data if device is None else data.to(device)
    if isinstance(data, np.ndarray) and (kind is None or kind.np == data.dtype):
        shared = from_numpy(data)
        return shared if device is None else shared.to(device)
    return _place(_array(data, kind), device)


def asarray(obj: Any, *, dtype: Any = None, device: Any = None, copy: bool | None = None, requires_grad: bool = False) -> Tensor:
    """A tensor from almost anything; memory is shared where possible unless `copy` is True."""
    made = as_tensor(obj, dtype=dtype, device=device)
    if copy and (made is obj or (isinstance(obj, np.ndarray) and np.shares_memory(made._a, obj))):
        made = made.clone()
    if isinstance(obj, Tensor) and made is obj and not requires_grad:
        made = made.detach() if made.requires_grad else made
    return made.requires_grad_() if requires_grad else made


def from_numpy(array: np.ndarray) -> Tensor:
    """A tensor over the array's own memory: each sees what the other writes."""
    if not isinstance(array, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(array).__name__})")
    kind = dt.from_numpy(array.dtype)
    if any(s < 0 for s in array.strides):
        raise ValueError("At least one stride in the given numpy array is negative, and tensors with negative strides are not currently "
                         "supported. (You can probably work around this by making a copy of your array  with array.copy().) ")
    if not array.flags.writeable:
        warnings.warn("The given NumPy array is not writable, and PyTorch does not support non-writable tensors. This means writing to "
                      "this tensor will result in undefined behavior. You may want to copy the array to protect its data or make it "
                      "writable before converting it to a tensor.", stacklevel=2)
    made = wrap(array.view(np.ndarray), kind)
    return made if _observer.active is None else aten.lift_fresh(made)


def frombuffer(buffer: Any, *, dtype: Any, count: int = -1, offset: int = 0, requires_grad: bool = False) -> Tensor:
    """A one-dimensional tensor over the bytes of a buffer."""
    if len(memoryview(buffer)) == 0:
        raise ValueError("both buffer length (0) and count (-1) must not be 0")
    made = wrap(np.frombuffer(buffer, as_dtype(dtype).np, count, offset))
    return made.requires_grad_() if requires_grad else made


def from_dlpack(ext_tensor: Any) -> Tensor:
    """A tensor over the memory of an object that speaks DLPack."""
    if isinstance(ext_tensor, Tensor):
        return shallow_alias(ext_tensor)
    return wrap(np.from_dlpack(ext_tensor))

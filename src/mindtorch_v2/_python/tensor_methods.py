"""The parts of Tensor that stand above the dispatcher: conversion, Python protocols, transposed views."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from .. import _dtype as dt
from .._dispatch import aten, modes
from .._dispatch.checks import type_word
from .._dispatch.overrides import become
from .._keys import ACCELERATORS, CPU, GRAD, META, OBSERVED
from .._storage import root_array, taken
from .._tensor import Parameter, Tensor, _new, wrap
from . import autograd_methods, dlpack, element_methods, memory_methods, sparse_methods, storage_methods  # noqa: F401 - which put methods onto Tensor
from .constructors import TypedConstructor, make_legacy
from .creation import from_numpy
from .members import getter, method


@method
def _is_view(self: Tensor) -> bool:
    return self._base is not None


# --- conversion
def _host_array(self: Tensor) -> np.ndarray:
    if self._keys & META:
        raise NotImplementedError("Cannot copy out of meta tensor; no data!")
    return self._array if self._keys & CPU else self.cpu()._array


@method
def numpy(self: Tensor, *, force: bool = False) -> np.ndarray:
    """The data as a numpy array that shares memory with the tensor.

    >>> torch.tensor([1, 2]).numpy()
    array([1, 2])
    """
    if force:
        return _as_numpy(self.detach())
    if self._keys & GRAD and modes.state.grad:
        raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
    if not self._keys & CPU:
        raise TypeError(
            f"can't convert {self.device} device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host "
            "memory first."
        )
    return _as_numpy(self)


def _as_numpy(self: Tensor) -> np.ndarray:
    if self._array.dtype.num >= dt.FIRST_USER_NUM:
        raise TypeError(f"Got unsupported ScalarType {self.dtype.word}")
    return _host_array(self).view()


@method
def __array__(self: Tensor, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
    array = self.numpy()
    if dtype is not None and array.dtype != dtype:
        return array.astype(dtype)
    return array.copy() if copy else array


@method
def __array_wrap__(self: Tensor, array: np.ndarray, context: Any = None, return_scalar: bool = False) -> Tensor:
    """What numpy's functions of a tensor give: a tensor again."""
    array = np.asarray(array)
    return from_numpy(array.astype(np.uint8) if array.dtype == np.bool_ else array)


@method
def tolist(self: Tensor) -> Any:
    """Nested lists of Python numbers; a number for a 0-dim tensor.

    >>> torch.tensor([[1, 2], [3, 4]]).tolist()
    [[1, 2], [3, 4]]
    """
    return _host_array(self).tolist()


@method
def __dlpack__(self: Tensor, *, stream: Any = None, **options: Any) -> Any:
    """A capsule over this tensor's memory, for another library."""
    return dlpack.pack(self, stream, **options)


@method
def __dlpack_device__(self: Tensor) -> tuple[int, int]:
    return dlpack.device_of(self)


@method
def new(self: Tensor, *args: Any) -> Tensor:
    """A tensor of this one's type: of a shape, uninitialised, or with the given values.

    >>> torch.ones(1).new([1, 2])
    tensor([1., 2.])
    """
    return make_legacy(self.dtype, *args).to(self.device)


@method
def __bool__(self: Tensor) -> bool:
    a = self._array
    if a.size != 1:
        if a.size == 0:
            raise RuntimeError("Boolean value of Tensor with no values is ambiguous")
        raise RuntimeError("Boolean value of Tensor with more than one value is ambiguous")
    return bool(aten.is_nonzero(self)) if modes.SPACE["_mode"] & OBSERVED else bool(_host_array(self).item())


def _number(self: Tensor) -> Any:
    if self._array.size != 1:
        raise ValueError("only one element tensors can be converted to Python scalars")
    return aten.item(self)


@method
def __int__(self: Tensor) -> int:
    return int(_number(self))


@method
def __float__(self: Tensor) -> float:
    value = _number(self)
    if isinstance(value, complex):
        if value.imag:
            raise RuntimeError("value cannot be converted to type double without overflow")
        return value.real
    return float(value)


@method
def __complex__(self: Tensor) -> complex:
    return complex(_number(self))


@method
def __index__(self: Tensor) -> int:
    if self.dtype.category > 1 or self._array.size != 1:
        raise TypeError("only integer tensors of a single element can be converted to an index")
    return int(_host_array(self).item())


@method
def __contains__(self: Tensor, element: Any) -> bool:
    if not isinstance(element, (Tensor, int, float, complex, bool)):
        raise RuntimeError(f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}.")
    return bool(aten.eq(self, element).any().item())


@method
def __iter__(self: Tensor) -> Any:
    if self._array.ndim == 0:
        raise TypeError("iteration over a 0-d tensor")
    return iter(aten.unbind(self, 0))


@method
def __reversed__(self: Tensor) -> Tensor:
    return self if self._array.ndim == 0 else aten.flip(self, [0])


@method
def __repr__(self: Tensor, *, tensor_contents: Any = None) -> str:
    from .tensor_str import tensor_repr

    return tensor_repr(self)


@method
def __format__(self: Tensor, spec: str) -> str:
    if self._array.ndim == 0 and not self._keys & META:
        return self.item().__format__(spec)
    return object.__format__(self, spec)


def _copied_array(array: np.ndarray, memo: dict[int, Any]) -> np.ndarray:
    """A copy of the array within a copy of all its memory, which other tensors over the same memory will share."""
    root = root_array(array)
    if not root.flags.forc:
        return array.copy(order="K")
    if id(root) not in memo:
        memo[id(root)] = root.copy(order="K")
    offset = array.__array_interface__["data"][0] - root.__array_interface__["data"][0]
    return np.ndarray(array.shape, array.dtype, memo[id(root)], offset, array.strides)


@method
def __deepcopy__(self: Tensor, memo: dict[int, Any]) -> Tensor:
    if self._edge is not None:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment.  "
            "If you were attempting to deepcopy a module, this may be because of a torch.nn.utils.weight_norm usage, "
            "see https://github.com/pytorch/pytorch/pull/103001"
        )
    if id(self) in memo:
        return memo[id(self)]
    out = _new(type(self))
    out._array = _copied_array(self._array, memo) if self._keys & CPU else self.detach().clone()._array
    out._keys, out.dtype = self._keys, self.dtype
    out._device = self._device
    memo[id(self)] = taken(out)
    out._grad = copy.deepcopy(self._grad, memo)
    for name, value in self.__dict__.items():
        if name not in FIELDS:
            out.__dict__[name] = copy.deepcopy(value, memo)
    return out


# a tensor's own attributes, as opposed to those that users gave it
FIELDS = (
    "_array",
    "_keys",
    "dtype",
    "_edge",
    "_storage",
    "_base",
    "_view_version",
    "_grad",
    "_hooks",
    "_post_hooks",
    "_retain",
    "_device",
    "_view_kind",
)


def _rebuild_as(cls: type, attributes: dict[str, Any], *args: Any) -> Tensor:
    """An instance of a subclass, with what the program has put on it."""
    out = become(_rebuild(*args), cls)
    out.__dict__.update(attributes)
    return out


def _rebuild(array: np.ndarray, cls: str, requires_grad: bool, device: str = "cpu") -> Tensor:
    made = wrap(array, dt.of_array(array.dtype))
    out = taken(made) if device == "cpu" else made.to(device)
    if cls == "Parameter":
        out.__class__ = Parameter
    return out.requires_grad_(requires_grad) if requires_grad else out


@method
def __reduce_ex__(self: Tensor, protocol: Any) -> Any:
    parts = _host_array(self), type(self).__name__, self.requires_grad, str(self.device)
    if type(self) is Tensor or type(self) is Parameter:
        return _rebuild, parts
    return _rebuild_as, (type(self), {k: v for k, v in self.__dict__.items() if k not in FIELDS}, *parts)


def _type(self: Tensor, dtype: Any = None, non_blocking: bool = False) -> Any:
    """The legacy type name, or a copy in another type.

    >>> torch.ones(1).type()
    'torch.FloatTensor'
    """
    if dtype is None:
        prefix = f"{self.device.type}." if self._keys & ACCELERATORS else ""
        return f"torch.{prefix}{type_word(self.dtype)}Tensor"
    if isinstance(dtype, TypedConstructor):
        dtype = dtype.dtype
    elif isinstance(dtype, str):
        found = [d for d in dt.ALL if f"torch.{type_word(d)}Tensor" == dtype]
        if not found:
            raise ValueError(f"invalid type: '{dtype}'")
        dtype = found[0]
    return self.to(dtype)


setattr(Tensor, "type", _type)  # noqa: B010 - assigned by name, since the class does not declare it


@getter
def T(self: Tensor) -> Tensor:
    """The tensor with its dimensions in reverse order.

    >>> torch.zeros(2, 3).T.shape
    torch.Size([3, 2])
    """
    return aten.numpy_T(self)


@getter
def mT(self: Tensor) -> Tensor:
    """The tensor with its last two dimensions exchanged.

    >>> torch.zeros(4, 2, 3).mT.shape
    torch.Size([4, 3, 2])
    """
    return aten.mT(self)


@getter
def H(self: Tensor) -> Tensor:
    """The conjugate transpose of a matrix.

    >>> torch.tensor([[1, 2j]]).H
    tensor([[1.-0.j],
            [0.-2.j]])
    """
    return aten.matrix_H(self)


@getter
def mH(self: Tensor) -> Tensor:
    """The conjugate transpose of the last two dimensions.

    >>> torch.tensor([[1, 2j]]).mH
    tensor([[1.-0.j],
            [0.-2.j]])
    """
    return aten.mH(self)


@getter
def real(self: Tensor) -> Tensor:
    """The real parts: a view of a complex tensor, a real one itself.

    >>> torch.tensor([1 + 2j]).real
    tensor([1.])
    """
    return aten.real(self)


@getter
def imag(self: Tensor) -> Tensor:
    """The imaginary parts of a complex tensor, as a view.

    >>> torch.tensor([1 + 2j]).imag
    tensor([2.])
    """
    return aten.imag(self)

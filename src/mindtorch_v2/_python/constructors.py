"""Calling a tensor class: `torch.Tensor(2, 3)`, `torch.FloatTensor([1, 2])`, `nn.Parameter(data)`."""

from __future__ import annotations

from typing import Any, Union

import numpy as np

from .. import _dtype as dt
from .. import _tensor
from .._dispatch.checks import type_word
from .._dispatch.overrides import as_subclass, become
from .._storage import taken
from .._tensor import Parameter, Tensor, shallow_alias, wrap


def construct(cls: type, *args: Any, **kwargs: Any) -> Any:
    """What calling the class does: a parameter over given data, or an uninitialised or copied float tensor."""
    if issubclass(cls, Parameter):
        return make_parameter(cls, *args, **kwargs)
    if len(args) == 1 and isinstance(args[0], Tensor):
        return as_subclass(args[0], cls)
    made = make_legacy(dt.get_default_dtype(), *args, **kwargs)
    return made if cls is Tensor else become(made, cls)


def make_parameter(cls: type, data: Any = None, requires_grad: bool = True) -> Any:
    """A parameter that shares the memory of `data`."""
    if data is None:
        data = wrap(np.empty(0, dt.get_default_dtype().np))
    if not isinstance(data, Tensor):
        raise TypeError(f"Parameter data must be a Tensor, got {type(data).__name__}")
    if requires_grad and not data.dtype.inexact:
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    if data._as_parameter is not None:  # a class whose parameters are its own
        return data._as_parameter(requires_grad)
    out = become(shallow_alias(data), cls)
    return out.requires_grad_(requires_grad) if requires_grad else out


def make_legacy(dtype: dt.dtype, *args: Any, **kwargs: Any) -> Tensor:
    """`Tensor(2, 3)` is uninitialised of that shape; `Tensor([2, 3])` holds these values."""
    if not args:
        return wrap(np.empty(0, dtype.np))
    if len(args) == 1 and isinstance(args[0], Tensor):
        if args[0].dtype is not dtype:
            raise TypeError(f"expected {type_word(dtype)} (got {type_word(args[0].dtype)})")
        return as_subclass(args[0], Tensor)
    if all(isinstance(a, (int, np.integer)) and not isinstance(a, bool) for a in args):
        return taken(wrap(np.empty([int(a) for a in args], dtype.np)))
    if len(args) == 1 and isinstance(args[0], _tensor.Size):
        return taken(wrap(np.empty(args[0], dtype.np)))
    if len(args) == 1:
        if isinstance(args[0], (bool, float, complex)) or args[0] is None:
            raise TypeError(f"new(): data must be a sequence (got {type(args[0]).__name__})")
        from .creation import tensor

        return tensor(args[0], dtype=dtype)
    raise TypeError(
        f"new() received an invalid combination of arguments - got ({', '.join(type(a).__name__ for a in args)}), but "
        "expected one of:\n * (tuple of ints size)\n * (Tensor other)\n * (object data)"
    )


class TypedConstructor:
    """`torch.FloatTensor` and its kin: makes tensors of one type, and answers isinstance for them."""

    def __init__(self, dtype: dt.dtype) -> None:
        self.dtype = dtype
        self.__name__ = self.__qualname__ = f"{type_word(dtype)}Tensor"
        self.__module__ = "mindtorch_v2"
        self.__doc__ = (
            f"Makes tensors of {dtype} from sizes or from data, and answers isinstance for them.\n\n"
            f">>> torch.{self.__name__}([[1, 2]]).shape\ntorch.Size([1, 2])"
        )

    def __call__(self, *args: Any) -> Tensor:
        return make_legacy(self.dtype, *args)

    def __instancecheck__(self, obj: Any) -> bool:
        return isinstance(obj, Tensor) and obj.dtype is self.dtype and obj.is_cpu

    def __or__(self, other: Any) -> Any:
        """In annotations: `torch.LongTensor | None`."""
        return Union[Tensor, other]  # noqa: UP007 - made at run time

    def __ror__(self, other: Any) -> Any:
        return Union[other, Tensor]  # noqa: UP007

    def __reduce__(self) -> str:
        return self.__name__  # pickled by name

    def __repr__(self) -> str:
        return f"<class 'torch.{self.__name__}'>"


_tensor.legacy_constructor = construct
TYPED = {f"{type_word(d)}Tensor": TypedConstructor(d) for d in dt.ALL}

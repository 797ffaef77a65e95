"""Puts the op table's methods and operators onto Tensor, and answers for names of the `torch` namespace."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._backends.cpu import boxing as _cpu  # noqa: F401 - backends put themselves into the dispatcher
from .._backends.meta import boxing as _meta  # noqa: F401
from .._dispatch import aten
from .._dispatch.checks import check_result_type
from .._dispatch.namespace import LazyMethod, function_of
from .._ops import table
from .._tensor import Tensor
from . import indexing

_OPERATORS = {
    "__add__": "add",
    "__radd__": "add",
    "__sub__": "sub",
    "__rsub__": "rsub",
    "__mul__": "mul",
    "__rmul__": "mul",
    "__truediv__": "div",
    "__floordiv__": "floor_divide",
    "__mod__": "remainder",
    "__pow__": "pow",
    "__matmul__": "matmul",
    "__eq__": "eq",
    "__ne__": "ne",
    "__lt__": "lt",
    "__le__": "le",
    "__gt__": "gt",
    "__ge__": "ge",
    "__iadd__": "add_",
    "__isub__": "sub_",
    "__imul__": "mul_",
    "__itruediv__": "div_",
    "__ifloordiv__": "floor_divide_",
    "__imod__": "remainder_",
    "__ipow__": "pow_",
    "__neg__": "neg",
    "__abs__": "abs",
    "__pos__": "positive",
    "__and__": "__and__",
    "__or__": "__or__",
    "__xor__": "__xor__",
    "__iand__": "__iand__",
    "__ior__": "__ior__",
    "__ixor__": "__ixor__",
    "__lshift__": "__lshift__",
    "__rshift__": "__rshift__",
    "__ilshift__": "__ilshift__",
    "__irshift__": "__irshift__",
}
_NOT_METHODS = {
    "size",
    "stride",
    "numel",
    "dim",
    "real",
    "imag",
    "is_contiguous",
    "data",
    "grad",
    "requires_grad",
    "T",
    "mT",
    "H",
    "mH",
    "is_floating_point",
    "is_complex",
    "is_signed",
    "storage_offset",
    "type",
    "is_inference",
}


def install() -> None:
    """Makes every declared method reachable; functions are compiled when first used."""
    for name, overloads in table.OVERLOADS.items():
        if any(o.method for o in overloads) and name not in _NOT_METHODS and name not in Tensor.__dict__:
            setattr(Tensor, name, LazyMethod(name))
    for attribute, name in _OPERATORS.items():
        if name in table.OVERLOADS:
            setattr(Tensor, attribute, LazyMethod(name, attribute, "operator"))
    for attribute, function in _METHODS.items():
        setattr(Tensor, attribute, function)


def _invert(self: Tensor) -> Tensor:
    if self.dtype.inexact:
        raise TypeError("~ (operator.invert) is only implemented on integer and Boolean-type tensors")
    return aten.bitwise_not(self)


def _where(self: Tensor, condition: Tensor, other: Any) -> Tensor:
    """Elements of this tensor where the condition holds, of `other` elsewhere.

    >>> torch.tensor([1, 2]).where(torch.tensor([True, False]), 0)
    tensor([1, 0])
    """
    return aten.where(condition, self, other)


_where.__qualname__, _where.__module__ = "Tensor.where", "mindtorch_v2"


def _polygamma(self: Tensor, n: int) -> Tensor:
    """The n-th derivative of the digamma function of every element: `torch.polygamma(n, self)`.

    >>> torch.tensor([1.]).polygamma(1)
    tensor([1.6449])
    """
    return aten.polygamma(n, self)


def _polygamma_(self: Tensor, n: int) -> Tensor:
    """`polygamma` in place."""
    made = aten.polygamma(n, aten.clone(self))  # its derivative needs what is overwritten
    check_result_type(made.dtype, self.dtype)
    return aten.copy_(self, made)


for _method in (_polygamma, _polygamma_):
    _method.__name__ = _method.__name__[1:]
    _method.__qualname__, _method.__module__ = f"Tensor.{_method.__name__}", "mindtorch_v2"


# Python functions rather than ops: index expressions, and operators whose left operand is a number.
_METHODS: dict[str, Any] = {
    "__getitem__": indexing.getitem,
    "__setitem__": indexing.setitem,
    "__invert__": _invert,
    "__rtruediv__": lambda self, other: aten.mul(aten.reciprocal(self), other),
    "__rdiv__": lambda self, other: aten.mul(aten.reciprocal(self), other),
    "__rpow__": lambda self, other: aten.pow(other, self),
    "__rfloordiv__": lambda self, other: aten.floor_divide(other, self),
    "__rmod__": lambda self, other: aten.remainder(other, self),
    "__rmatmul__": lambda self, other: aten.matmul(other, self),
    "__rlshift__": lambda self, other: aten.bitwise_left_shift(other, self),
    "__rrshift__": lambda self, other: aten.bitwise_right_shift(other, self),
    "__rand__": lambda self, other: aten.bitwise_and(other, self),
    "__ror__": lambda self, other: aten.bitwise_or(other, self),
    "__rxor__": lambda self, other: aten.bitwise_xor(other, self),
    "where": _where,
    "polygamma": _polygamma,
    "polygamma_": _polygamma_,
}


def public_function(name: str) -> Any:
    """The function `torch.<name>`; AttributeError if there is none."""
    overloads = table.OVERLOADS.get(name)
    if not overloads or not any(o.function and not o.namespace for o in overloads):
        raise AttributeError(f"module 'mindtorch_v2' has no attribute {name!r}")
    return function_of(name, "function")


def public_names() -> list[str]:
    """The names of all public functions of `torch`."""
    return [n for n, overloads in table.OVERLOADS.items() if any(o.function and not o.namespace for o in overloads)]


class NamespaceModule:
    """Function lookup for a namespace such as `torch.linalg`: strips the prefix that its ops carry."""

    def __init__(self, namespace: str, prefix: str) -> None:
        self.namespace, self.prefix = namespace, prefix

    def hooks(self, space: dict[str, Any]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
        """`__getattr__` and `__dir__` of the module with these globals: functions are made when they are asked for."""

        def listed() -> list[str]:
            return sorted({*space, *self.names()})

        def find(name: str) -> Any:
            if name == "__all__":
                return [public for public in listed() if not public.startswith("_") and public != "annotations"]
            if name.startswith("__"):
                raise AttributeError(name)
            return space.setdefault(name, self.function(name))

        return find, listed

    def names(self) -> list[str]:
        return [
            n.removeprefix(self.prefix)
            for n, overloads in table.OVERLOADS.items()
            if any(o.namespace == self.namespace for o in overloads)
        ]

    def function(self, name: str) -> Any:
        for candidate in (self.prefix + name, name):
            overloads = table.OVERLOADS.get(candidate)
            if overloads and any(o.namespace == self.namespace for o in overloads):
                return function_of(candidate, "function")
        raise AttributeError(f"module 'mindtorch_v2.{self.namespace}' has no attribute {name!r}")

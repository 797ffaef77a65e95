"""Puts the op table's methods and operators onto Tensor, and answers for names of the `torch` namespace."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._backends.cpu import boxing as _cpu  # noqa: F401 - backends put themselves into the dispatcher
from .._backends.meta import boxing as _meta  # noqa: F401
from .._dispatch import aten
from .._dispatch.checks import check_result_type
from .._dispatch.namespace import function_of, install_methods
from .._ops import table
from .._tensor import Tensor
from . import indexing


def install() -> None:
    """Makes every declared method and operator reachable; functions are compiled when first used."""
    install_methods()
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

"""Every op by name, its call function made when first used: `aten.add`, and the methods and operators of tensors."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .._ops import table
from .._tensor import Tensor
from .bind import make_call
from .loading import call_as_loading
from .overloads import resolver
from .overrides import overridable

# Operators of tensors: Python's name of the method, and the op that it calls.
OPERATORS = {
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

# Names of ops that tensors have as attributes of another kind.
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

_functions: dict[str, Any] = {}
fronts: dict[str, Any] = {}  # hand-written Python functions that stand in front of a name's overloads


def function_of(name: str, form: str) -> Any:
    """The Python function for a base name; AttributeError if no op has it."""
    if form == "function" and name in _functions:
        return _functions[name]  # the same object wherever a program finds it
    if name in fronts and form != "operator":
        front = fronts[name]
        return front if form != "function" else _functions.setdefault(name, _make_overridable(name, front))
    overloads = table.OVERLOADS.get(name)
    if not overloads:
        raise AttributeError(f"no operator is called {name!r}")
    made = call_as_loading(overloads[0].event, _make, name, overloads, form)
    return _functions.setdefault(name, made) if form == "function" else made


def _make_overridable(name: str, front: Any) -> Any:
    """A hand-written function as programs see it: classes and modes are asked first. Pickles find it in the package."""
    made = overridable(front)
    made.__module__, made.__qualname__ = __name__.partition(".")[0], name
    return made


def _make(name: str, overloads: Any, form: str) -> Any:
    return make_call(overloads[0], form) if len(overloads) == 1 else resolver(name, overloads, form)


def _call_of(name: str) -> Any:
    op = table.find(name)
    return call_as_loading(op.event, make_call, op, "method")


class Aten:
    """Attribute access gives call functions: `aten.add(x, y)`. Names are PyTorch's, without `aten::`."""

    def __init__(self, form: str = "method") -> None:
        self._form = form
        # the call function of one overload, by its full name ("sum.dim_IntList")
        self.overload: Callable[[str], Any] = functools.cache(_call_of)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__") and name not in table.OVERLOADS:
            raise AttributeError(name)
        made = function_of(name, self._form)
        setattr(self, name, made)
        return made


class LazyMethod:
    """Stands in the class for an op until it is first used, then replaces itself by the op's function."""

    __slots__ = ("name", "attribute", "form")

    def __init__(self, name: str, attribute: str = "", form: str = "method") -> None:
        self.name, self.attribute, self.form = name, attribute or name, form

    def __get__(self, instance: Any, owner: type) -> Any:
        function = function_of(self.name, self.form)
        setattr(Tensor, self.attribute, function)
        return function if instance is None else function.__get__(instance, owner)


def install_methods() -> None:
    """Puts the op table's methods, and the operators of Python that are ops, onto Tensor."""
    for name, overloads in table.OVERLOADS.items():
        if any(o.method for o in overloads) and name not in _NOT_METHODS and name not in Tensor.__dict__:
            setattr(Tensor, name, LazyMethod(name))
    for attribute, name in OPERATORS.items():
        if name in table.OVERLOADS:
            setattr(Tensor, attribute, LazyMethod(name, attribute, "operator"))


aten: Any = Aten()
public: Any = Aten("function")  # as programs call them: factories then run below autograd

"""`aten`: every op by name, its call function made when first used."""

from __future__ import annotations

from typing import Any

from .._ops import table
from .bind import make_call
from .loading import call_as_loading
from .overloads import resolver
from .overrides import overridable

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


class Aten:
    """Attribute access gives call functions: `aten.add(x, y)`. Names are PyTorch's, without `aten::`."""

    def __init__(self, form: str = "method") -> None:
        self._form = form
        self._overloads: dict[str, Any] = {}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__") and name not in table.OVERLOADS:
            raise AttributeError(name)
        made = function_of(name, self._form)
        setattr(self, name, made)
        return made

    def overload(self, name: str) -> Any:
        """The call function of one overload, by its full name ("sum.dim_IntList")."""
        found = self._overloads.get(name)
        if found is None:
            op = table.find(name)
            found = self._overloads[name] = call_as_loading(op.event, make_call, op, "method")
        return found


class LazyMethod:
    """Stands in the class for an op until it is first used, then replaces itself by the op's function."""

    __slots__ = ("name", "attribute", "form")

    def __init__(self, name: str, attribute: str = "", form: str = "method") -> None:
        self.name, self.attribute, self.form = name, attribute or name, form

    def __get__(self, instance: Any, owner: type) -> Any:
        from .._tensor import Tensor

        function = function_of(self.name, self.form)
        setattr(Tensor, self.attribute, function)
        return function if instance is None else function.__get__(instance, owner)


aten: Any = Aten()
public: Any = Aten("function")  # as programs call them: factories then run below autograd

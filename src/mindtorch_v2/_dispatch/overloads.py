"""Which overload a Python call means: by the types of its arguments, remembered per combination of types."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _device
from .. import _dtype as dt
from .._ops.documentation import docstring
from .._ops.schema import NO_DEFAULT, Param
from .._ops.table import Op
from .._storage import native
from .._tensor import Tensor
from . import overrides
from .bind import make_call, publish

_ALIASES = {"input": "self", "axis": "dim", "keepdims": "keepdim"}


def _is_int(x: Any) -> bool:
    return isinstance(x, (int, np.integer)) and not isinstance(x, bool)


def _is_number(x: Any) -> bool:
    return isinstance(x, (int, float, complex, np.number, np.bool_))


def _is_index_tensor(x: Any) -> bool:
    return isinstance(x, Tensor) and x.dim() == 0 and not x.dtype.inexact


_CHECKS = {
    "Tensor": lambda x: isinstance(x, Tensor),
    "Scalar": _is_number,
    "int": _is_int,
    "float": lambda x: _is_number(x) and not isinstance(x, complex),
    "bool": lambda x: isinstance(x, (bool, np.bool_)),
    "str": lambda x: isinstance(x, str),
    "ScalarType": lambda x: isinstance(x, (dt.dtype, type)),
    "Device": lambda x: isinstance(x, (str, _device.device)) or _is_int(x),
}


def accepts(op: Op, p: Param, value: Any, lenient: bool = False) -> bool:
    """Whether an argument may have this value. Leniently, a 0-dim tensor stands for the number in it, also
    among sizes."""
    if value is None:
        return p.optional or p.default is None
    check = _CHECKS.get(p.type)
    if check is None:
        return True
    if (
        lenient
        and isinstance(value, Tensor)
        and value.dim() == 0
        and p.type in ("Scalar", "int", "float")
        and not p.is_list
    ):
        return True
    if p.is_list:
        if isinstance(value, (list, tuple)):
            sizes = lenient and p.type == "int"
            return all(x is None and p.holes or check(x) or sizes and _is_index_tensor(x) for x in value)
        return p.length > 0 and check(value) and not isinstance(value, Tensor)
    if p.is_tensor and p.name in op.numbers and isinstance(value, (int, float, complex)):
        return True
    return bool(check(value))


def fits(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any], lenient: bool = False) -> bool:
    """Whether the overload takes these arguments."""
    positional = [p for p in op.schema.params if not p.keyword_only]
    gathered = _gather_sizes(positional, args)
    if gathered is None or not all(accepts(op, p, x, lenient) for p, x in zip(positional, gathered)):
        return False
    given = {p.name for p in positional[: len(gathered)]}
    by_name = {p.name: p for p in op.schema.params}
    for name, value in kwargs.items():
        word = name if name in by_name else _ALIASES.get(name, name)
        if word == "requires_grad" or (word == "out" and (op.out or "device" in by_name)):
            continue
        if word not in by_name or word in given or not accepts(op, by_name[word], value, lenient):
            return False
        given.add(word)
    return all(p.name in given or p.default is not NO_DEFAULT for p in op.schema.params)


def _gather_sizes(positional: list[Param], args: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """Arguments by position, sizes that were given one by one as one; None where there are too many."""
    last = len(positional) - 1
    may_spread = (
        0 <= last < 2 and positional[last].type == "int" and positional[last].is_list and positional[last].length == 0
    )
    rest = args[last:] if last >= 0 else args
    if len(args) > len(positional):
        return (*args[:last], rest) if may_spread and all(_is_int(x) for x in rest) else None
    if len(args) == len(positional) and may_spread and _is_int(args[last]):
        return (*args[:last], rest)
    return args


def _key(x: Any) -> Any:
    kind = x.__class__
    if kind is list or kind is tuple:
        return kind, (x[0].__class__ if x else None)
    return kind


class _Choice:
    """The overloads of one name, and which of them fits. That depends on the classes of the arguments only, so it is
    decided once for each combination of them.
    """

    def __init__(self, name: str, overloads: list[Op], form: str) -> None:
        self.name, self.overloads, self.form = name, overloads, form
        self._choices: dict[Any, Any] = {}
        self._calls: dict[Op, Any] = {}

    def choose(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The call function of the first overload that fits."""
        key = (tuple([_key(a) for a in args]), tuple([(k, _key(v)) for k, v in kwargs.items()]))
        target = self._choices.get(key)
        if target is None:
            target = self._choices[key] = self._first_fitting(args, kwargs)
        return target

    def _first_fitting(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        for lenient in (False, True):
            for op in self.overloads:
                if fits(op, args, kwargs, lenient):
                    if op not in self._calls:
                        self._calls[op] = make_call(op, self.form)
                    return self._calls[op]
        if overrides.asks((*args, *kwargs.values())):
            return self._ask
        given = args[1:] if self.form == "method" else args
        got = ", ".join([type(a).__name__ for a in given] + [f"{k}={type(v).__name__}" for k, v in kwargs.items()])
        known = "\n".join(f" * {op.text[op.text.index('(') : op.text.index(' -> ')]}" for op in self.overloads)
        raise TypeError(
            f"{self.name}() received an invalid combination of arguments - got ({got}), but expected one of:\n{known}"
        )

    def _ask(self, *args: Any, **kwargs: Any) -> Any:
        """Asks the classes of the arguments: no overload takes them."""
        return overrides.override_name(self.overloads[0], self.form, args, kwargs)


def resolver(name: str, overloads: list[Op], form: str) -> Any:
    """A function that calls the first overload that fits its arguments."""
    choice = _Choice(name, overloads, form)
    return _operator(choice) if form == "operator" else _function(choice)


def _with_memory(choice: _Choice, function: Any) -> tuple[Any, Any]:
    """The function with calls by position that are known before it, and what makes them known: `remember(classes,
    target)`.
    """
    known: dict[tuple[type, ...], Any] = {}

    def call(*args: Any, **kwargs: Any) -> Any:
        target = known.get(tuple(map(type, args))) if not kwargs else None
        return function(*args, **kwargs) if target is None else target(*args)

    published = call if native is None else function
    published.__name__ = choice.name
    publish(published, choice.overloads[0], choice.form)
    published.__doc__ = docstring(choice.name, choice.form)
    if native is None:
        return call, known.__setitem__
    made = (native.Overloads if choice.form == "function" else native.OverloadsMethod)(function)
    return made, made.remember


def _function(choice: _Choice) -> Any:
    def call(*args: Any, **kwargs: Any) -> Any:
        target = choice.choose(args, kwargs)
        if not kwargs:
            remember(tuple([_key(a) for a in args]), target)
        if choice.form == "function" and "self" in kwargs:
            kwargs["input"] = kwargs.pop("self")
        return target(*args, **kwargs)

    made, remember = _with_memory(choice, call)
    return made


def _operator(choice: _Choice) -> Any:
    """For `x < y` and the like: other operands are left to the other operand's class."""

    def operator(self: Any, other: Any) -> Any:
        if not isinstance(other, (Tensor, int, float, complex, np.number, np.bool_)) and not overrides.asks((other,)):
            return NotImplemented
        target = choice.choose((self, other), {})
        remember((self.__class__, other.__class__), target)
        return target(self, other)

    made, remember = _with_memory(choice, operator)
    return made

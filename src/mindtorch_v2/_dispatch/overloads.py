"""Which overload a Python call means: by the types of its arguments, remembered per combination of types."""
from __future__ import annotations

from typing import Any

import numpy as np

from .. import _device
from .. import _dtype as dt
from .._ops.documentation import docstring
from .._ops.schema import NO_DEFAULT, Param
from .._ops.table import Op
from .._tensor import Tensor
from .bind import make_call, publish

_ALIASES = {"input": "self", "axis": "dim", "keepdims": "keepdim"}


def _is_int(x: Any) -> bool:
    return isinstance(x, (int, np.integer)) and not isinstance(x, bool)


def _is_number(x: Any) -> bool:
    return isinstance(x, (int, float, complex, np.number, np.bool_))


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
    """Whether an argument may have this value. Leniently, a 0-dim tensor stands for the number in it."""
    if value is None:
        return p.optional or p.default is None
    check = _CHECKS.get(p.type)
    if check is None:
        return True
    if lenient and isinstance(value, Tensor) and value.dim() == 0 and p.type in ("Scalar", "int", "float") and not p.is_list:
        return True
    if p.is_list:
        if isinstance(value, (list, tuple)):
            return all(x is None and p.holes or check(x) for x in value)
        return p.length > 0 and check(value) and not isinstance(value, Tensor)
    if p.is_tensor and p.name in op.numbers and isinstance(value, (int, float, complex)):
        return True
    return bool(check(value))


def fits(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any], lenient: bool = False) -> bool:
    """Whether the overload takes these arguments."""
    params = op.schema.params
    positional = [p for p in params if not p.keyword_only]
    if len(args) > len(positional):
        last = positional[-1] if positional else None
        if last is None or not (last.type == "int" and last.is_list and last.length == 0) or len(positional) > 2:
            return False
        if not all(_is_int(x) for x in args[len(positional) - 1:]):
            return False
        args = (*args[:len(positional) - 1], args[len(positional) - 1:])
    elif len(args) == len(positional) and positional:
        last = positional[-1]
        if last.type == "int" and last.is_list and last.length == 0 and _is_int(args[-1]) and len(positional) <= 2:
            args = (*args[:-1], (args[-1],))
    given = {p.name for p in positional[:len(args)]}
    by_name = {p.name: p for p in params}
    if not all(accepts(op, p, x, lenient) for p, x in zip(positional, args)):
        return False
    for name, value in kwargs.items():
        word = name if name in by_name else _ALIASES.get(name, name)
        if word in ("out", "requires_grad"):
            if word == "out" and not op.out and "device" not in by_name:
                return False
            continue
        if word not in by_name or word in given or not accepts(op, by_name[word], value, lenient):
            return False
        given.add(word)
    return all(p.name in given or p.default is not NO_DEFAULT for p in params)


def _key(x: Any) -> Any:
    kind = x.__class__
    if kind is list or kind is tuple:
        return kind, (x[0].__class__ if x else None)
    return kind


def resolver(name: str, overloads: list[Op], form: str) -> Any:
    """A function that calls the first overload that fits. The choice depends on the classes of the arguments only, so it is
    made once for each combination of them."""
    chosen: dict[Any, Any] = {}
    quick: dict[tuple[type, ...], Any] = {}   # positional calls without lists, by the classes alone
    calls: dict[Op, Any] = {}

    def choose(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        for lenient in (False, True):
            for op in overloads:
                if fits(op, args, kwargs, lenient):
                    if op not in calls:
                        calls[op] = make_call(op, form)
                    return calls[op]
        shown = args[1:] if form == "method" else args
        got = ", ".join([type(a).__name__ for a in shown] + [f"{k}={type(v).__name__}" for k, v in kwargs.items()])
        known = "\n".join(f" * {op.text[op.text.index('('):op.text.index(' -> ')]}" for op in overloads)
        raise TypeError(f"{name}() received an invalid combination of arguments - got ({got}), but expected one of:\n{known}")

    if form == "operator":
        return _binary_operator(overloads, choose)

    def call(*args: Any, **kwargs: Any) -> Any:
        if not kwargs:
            classes = tuple(map(type, args))
            target = quick.get(classes)
            if target is not None:
                return target(*args)
            if list not in classes and tuple not in classes:
                target = quick[classes] = choose(args, kwargs)
                return target(*args)
        key = (tuple([_key(a) for a in args]), tuple([(k, _key(v)) for k, v in kwargs.items()]))
        target = chosen.get(key)
        if target is None:
            target = chosen[key] = choose(args, kwargs)
        if form == "function" and "self" in kwargs:
            kwargs["input"] = kwargs.pop("self")
        return target(*args, **kwargs)

    call.__name__ = name
    publish(call, overloads[0], form)
    call.__doc__ = docstring(name, form)
    return call


def _binary_operator(overloads: list[Op], choose: Any) -> Any:
    """For `x < y` and the like: the tensor and the number overload, chosen by the class of the right operand."""
    by_class: dict[Any, Any] = {}

    def operator(self: Any, other: Any) -> Any:
        target = by_class.get(other.__class__)
        if target is None:
            if not isinstance(other, (Tensor, int, float, complex, np.number, np.bool_)):
                return NotImplemented
            target = by_class[other.__class__] = choose((self, other), {})
        return target(self, other)
    return operator

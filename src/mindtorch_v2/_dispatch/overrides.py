"""Subclasses of Tensor: their `__torch_function__` is asked before an operator runs.

An instance of such a class carries the key SUBCLASS, which no fast path knows, so that calls on plain tensors and parameters cost
nothing more. Operators that are nothing but steps do not look at keys; they look for such instances once a class exists.
"""
from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from .. import _tensor
from .._keys import SUBCLASS
from .._ops.schema import NO_DEFAULT
from .._ops.table import Op
from .._storage import native
from .._tensor import Parameter, Tensor
from .modes import SPACE, Switch, state


class DisableTorchFunctionSubclass(Switch):
    """Inside, operators run on instances of subclasses as on plain tensors, and give plain tensors."""

    _changes: dict[str, Any] = {"subclasses_are_plain": True}  # noqa: RUF012 - read, never written
    _special = False


def disabled_torch_function_impl(func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """As a class's `__torch_function__`: its instances are treated as plain tensors."""
    with DisableTorchFunctionSubclass():
        return func(*args, **(kwargs or {}))


# --- which classes ------------------------------------------------------------------------------------------------------------
def _announce(cls: Any) -> None:
    """Called for every new class of tensors."""
    cls._overrides = cls.__torch_function__ is not disabled_torch_function_impl
    if cls._overrides and not SPACE["_overridden"]:
        SPACE["_overridden"] = True
        if native is not None:
            native.set_overridden(True)


def become(t: Any, cls: Any) -> Any:
    """Makes the tensor an instance of the class."""
    t.__class__ = cls
    t._keys = t._keys | SUBCLASS if cls._overrides else t._keys & ~SUBCLASS
    return t


def as_subclass(self: Tensor, cls: Any) -> Any:
    """The same memory and place in the graph, as an instance of the class."""
    from .namespace import aten
    if not isinstance(cls, type) or not issubclass(cls, Tensor):
        raise TypeError(f"cls must be a type (got {type(cls).__name__})" if not isinstance(cls, type) else
                        f"cls must be a subclass of Tensor (got {cls.__name__})")
    with DisableTorchFunctionSubclass():
        return become(aten.alias(self), cls)


# --- asking -------------------------------------------------------------------------------------------------------------------
def _instances(values: Any) -> Iterator[Any]:
    """The instances of asked classes among arguments, also those in lists."""
    for v in values:
        if v.__class__ is list or v.__class__ is tuple:
            yield from _instances(v)
        elif isinstance(v, Tensor) and v._keys & SUBCLASS:
            yield v


def asks(args: tuple[Any, ...]) -> bool:
    """Whether a class is to be asked about a call with these arguments."""
    return not state.subclasses_are_plain and next(_instances(args), None) is not None


def _in_order(args: Any) -> list[Any]:
    """One instance of every class, in the order of asking: as they stand, but a subclass before what it derives from."""
    found: list[Any] = []
    for t in _instances(args):
        if any(type(t) is type(f) for f in found):
            continue
        place = next((i for i, f in enumerate(found) if issubclass(type(t), type(f))), len(found))
        found.insert(place, t)
    return found


def ask(func: Any, relevant: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The answer of the first class that has one, or NotImplemented."""
    found = _in_order(relevant)
    types = tuple(type(t) for t in found)
    for t in found:
        answer = type(t).__torch_function__(func, types, args, kwargs)
        if answer is not NotImplemented:
            return answer
    return NotImplemented


def override(op: Op, form: str, args: tuple[Any, ...]) -> Any:
    """What a call of an op gives whose arguments (in the schema's order) hold instances of subclasses."""
    positional, keywords = _as_given(op, args)
    answer = ask(_public(op, form), args, positional, keywords)
    if answer is NotImplemented and form != "operator":
        raise no_answer(f"{'torch.Tensor' if form == 'method' else f'torch.{op.namespace}' if op.namespace else 'torch'}.{op.base}", args)
    return answer


def no_answer(name: str, args: Any) -> TypeError:
    """The error for a call that no class wanted to answer."""
    classes = "".join(f"  - tensor subclass {type(t)}\n" for t in _in_order(args))
    return TypeError(f"Multiple dispatch failed for '{name}'; all __torch_function__ handlers returned NotImplemented:\n\n{classes}")


def _public(op: Op, form: str) -> Any:
    """The function that a program sees: `torch.add` or `torch.Tensor.add`."""
    from .namespace import aten
    if form != "function":
        found = getattr(Tensor, op.base, None)
        return found if callable(found) else getattr(aten, op.base)
    package = __name__.partition(".")[0]
    where = {"": package, "nn": f"{package}.nn.functional"}.get(op.namespace or "", f"{package}.{op.namespace}")
    return getattr(sys.modules[where], op.base.removeprefix(f"{op.namespace}_"))


def _as_given(op: Op, args: tuple[Any, ...]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Positional and keyword arguments without those at the end that have their defaults."""
    positional: list[Any] = []
    keywords: dict[str, Any] = {}
    for p, value in zip(op.schema.params, args):
        unset = p.default is not NO_DEFAULT and value.__class__ is p.default.__class__ and value == p.default
        if not p.keyword_only:
            positional.append(value)
        elif not unset:
            keywords[p.name] = value
    for p in reversed([p for p in op.schema.params if not p.keyword_only]):
        last = positional[-1]
        if p.default is NO_DEFAULT or last.__class__ is not p.default.__class__ or last != p.default:
            break
        positional.pop()
    return tuple(positional), keywords


# --- the default answer -------------------------------------------------------------------------------------------------------
def converted(value: Any, cls: Any) -> Any:
    """Plain tensors in a result as instances of the class."""
    if isinstance(value, Tensor):
        return value if isinstance(value, cls) else as_subclass(value, cls)
    if isinstance(value, (tuple, list)):
        parts = [converted(v, cls) for v in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    return value


def _torch_function(cls: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """Runs the function as on plain tensors; its results are instances of the class. A subclass may call it for the rest."""
    if not all(issubclass(cls, t) for t in types):
        return NotImplemented
    with DisableTorchFunctionSubclass():
        made = func(*args, **(kwargs or {}))
        return made if cls is Tensor else converted(made, cls)


def _make_subclass(cls: Any, data: Tensor, require_grad: bool = False) -> Any:
    """An instance of the class over the memory of `data`, outside any graph."""
    made = become(_tensor.shallow_alias(data), cls)
    return made.requires_grad_() if require_grad else made


SPACE.update(_overridden=False, _asks=asks, _override=override)
Tensor.__torch_function__ = classmethod(_torch_function)  # type: ignore[attr-defined]
Tensor.as_subclass = as_subclass  # type: ignore[attr-defined]
Tensor._make_subclass = staticmethod(_make_subclass)  # type: ignore[attr-defined]
Parameter.__torch_function__ = staticmethod(disabled_torch_function_impl)  # type: ignore[attr-defined]
_tensor.announce = _announce

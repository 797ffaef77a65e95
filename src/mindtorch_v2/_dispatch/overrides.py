"""`__torch_function__`: classes and modes that are asked before an operator runs.

An instance of a subclass of Tensor carries the key SUBCLASS, which no fast path knows, so that calls on plain
tensors and parameters cost nothing more. Operators that are nothing but steps do not look at keys; they look for
such instances once a class exists. Objects of other classes that have a `__torch_function__` are found where a
tensor was expected and something else stands. A mode (TorchFunctionMode) sets the bit SPECIAL, with which calls take
the general path.
"""

from __future__ import annotations

import functools
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


# --- which classes
def _announce(cls: Any) -> None:
    """Called for every new class of tensors."""
    cls._overrides = cls.__torch_function__ is not disabled_torch_function_impl
    cls._dispatches = getattr(cls, "__torch_dispatch__", None) is not None
    # a class whose memory only its own functions can read (sparse, nested): it is asked inside
    # DisableTorchFunctionSubclass, and so in backward passes, too
    if getattr(cls, "_is_layout", False):
        SPACE["_has_layouts"] = True
    if cls._dispatches:
        SPACE["_dispatching"] = True
    if (cls._overrides or cls._dispatches) and not SPACE["_overridden"]:
        SPACE["_overridden"] = True
        if native is not None:
            native.set_overridden(True)


def become(t: Any, cls: Any) -> Any:
    """Makes the tensor an instance of the class."""
    t.__class__ = cls
    t._keys = t._keys | SUBCLASS if cls._overrides or cls._dispatches else t._keys & ~SUBCLASS
    return t


def as_subclass(self: Tensor, cls: Any) -> Any:
    """The same memory and edge, as an instance of the class.

    >>> class Image(torch.Tensor):
    ...     pass
    >>> type(torch.ones(2).as_subclass(Image)).__name__
    'Image'
    """
    from .namespace import aten

    if not isinstance(cls, type) or not issubclass(cls, Tensor):
        raise TypeError(
            f"cls must be a type (got {type(cls).__name__})"
            if not isinstance(cls, type)
            else f"cls must be a subclass of Tensor (got {cls.__name__})"
        )
    with DisableTorchFunctionSubclass():
        return become(aten.alias(self), cls)


# --- asking
def _instances(values: Any) -> Iterator[Any]:
    """The instances of asked classes among arguments, also those in lists."""
    for v in values:
        if v.__class__ is list or v.__class__ is tuple:
            yield from _instances(v)
        elif isinstance(v, Tensor):
            if v._keys & SUBCLASS and v._overrides:
                yield v
        elif is_foreign(v.__class__):
            yield v


_foreign: dict[type, bool] = {}  # classes that are not tensors -> whether they have a __torch_function__


def is_foreign(cls: type) -> bool:
    """Whether instances of a class that is not a tensor are asked."""
    found = _foreign.get(cls)
    if found is None:
        asked = getattr(cls, "__torch_function__", None)
        found = (
            asked is not None and asked is not disabled_torch_function_impl and not issubclass(cls, TorchFunctionMode)
        )
        if len(_foreign) < 4096:  # classes made at run time are not kept without end
            _foreign[cls] = found
    return found


def asks(args: tuple[Any, ...]) -> bool:
    """Whether a class is to be asked about a call with these arguments."""
    if state.subclasses_are_plain:
        return SPACE["_has_layouts"] and any(getattr(t, "_is_layout", False) for t in _instances(args))
    return next(_instances(args), None) is not None


def _in_order(args: Any) -> list[Any]:
    """One instance of every class, in the order of asking: as they stand, but a subclass before what it derives
    from.
    """
    found: list[Any] = []
    for t in _instances(args):
        if any(type(t) is type(f) for f in found):
            continue
        position = next((i for i, f in enumerate(found) if issubclass(type(t), type(f))), len(found))
        found.insert(position, t)
    return found


def ask(func: Any, relevant: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The answer of the innermost mode, or of the first class that has one, or NotImplemented."""
    found = _in_order(relevant)
    if state.subclasses_are_plain:
        found = [t for t in found if getattr(t, "_is_layout", False)]
    types = tuple(type(t) for t in found)
    if state.function_modes:
        return ask_mode(func, types, args, kwargs)
    for t in found:
        answer = t.__torch_function__(func, types, args, kwargs)
        if answer is not NotImplemented:
            return answer
    return NotImplemented


# --- modes
class Stack(Switch):
    """A block in which the thread's stack of modes is another one."""

    _special = True

    def __init__(self, name: str, modes: tuple[Any, ...]) -> None:
        self._changes = {name: modes}


class StackedMode:
    """A mode that is the innermost one of its kind while its block runs; the same one may be entered again inside."""

    _kind: str  # which stack of the thread's state holds such modes

    def __enter__(self) -> Any:
        block = Stack(self._kind, (*getattr(state, self._kind), self))
        self.__dict__.setdefault("_blocks", []).append(block)
        block.__enter__()
        return self

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        self.__dict__["_blocks"].pop().__exit__(exc_type, exc_value, traceback)

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> Any:
        """An instance; the old way of writing it."""
        return cls(*args, **kwargs)


class TorchFunctionMode(StackedMode):
    """A block in which `__torch_function__(func, types, args, kwargs)` of this object is called instead of
    every function of torch.

    While it runs, the mode itself is set aside, so that it may call the function.
    """

    _kind = "function_modes"

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise NotImplementedError


def ask_mode(func: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The answer of the innermost mode."""
    mode = state.function_modes[-1]
    with Stack("function_modes", state.function_modes[:-1]):
        return mode.__torch_function__(func, types, args, kwargs)


def ask_about(function: Any, *args: Any, **options: Any) -> Any:
    """What a mode answers to a function that makes a tensor of what is none; options that are None were not given."""
    given = {name: value for name, value in options.items() if value is not None}
    answer = ask_mode(function, (), args, given)
    if answer is NotImplemented:
        raise no_answer(f"torch.{function.__name__}", args)
    return answer


_SPREAD = frozenset({"einsum"})  # functions whose operands may come in one list: modes and classes see them one by one


def overridable(function: Any) -> Any:
    """A Python function in front of operators, before which modes and classes are asked as before operators."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        for value in args:
            if value.__class__ not in _PLAIN:
                break
        else:
            if not kwargs and not state.function_modes:
                return function(*args)
        if len(args) == 2 and function.__name__ in _SPREAD and isinstance(args[1], (list, tuple)):
            args = (args[0], *args[1])
        given = (*args, *kwargs.values())
        if state.function_modes or (
            asks(given) and all(getattr(t, "_takes_ops", None) is None for t in _instances(given))
        ):
            answer = ask(call, given, args, kwargs)
            if answer is NotImplemented:
                raise no_answer(f"torch.{function.__name__}", given)
            return answer
        return function(*args, **kwargs)

    return call


UNASKED = object()


def answer_of(function: Any, args: tuple[Any, ...]) -> Any:
    """What a mode or a class answers to a Python function in front of operators; UNASKED where there is none."""
    if not state.function_modes and not (
        asks(args) and all(getattr(t, "_takes_ops", None) is None for t in _instances(args))
    ):
        return UNASKED
    answer = ask(function, args, args, {})
    if answer is NotImplemented:
        raise no_answer(f"torch.{function.__qualname__}", args)
    return answer


_PLAIN = {Tensor, Parameter, int, float, bool, str, type(None)}


def override(op: Op, form: str, args: tuple[Any, ...]) -> Any:
    """What a call of an op gives whose arguments (in the schema's order) hold instances of asked classes, or that a
    mode sees.
    """
    for t in _instances(args):
        if isinstance(t, Tensor) and t._takes_ops is not None:
            return t._takes_ops(op, args)
    positional, keywords = _as_given(op, args)
    answer = ask(_public(op, form), args, positional, keywords)
    if answer is NotImplemented and form != "operator":
        raise no_answer(
            f"{'torch.Tensor' if form == 'method' else f'torch.{op.namespace}' if op.namespace else 'torch'}.{op.base}",
            args,
        )
    return answer


def override_name(op: Op, form: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The same for a call that fits none of the overloads of a name."""
    given = (*args, *kwargs.values())
    answer = ask(_public(op, form), given, args, kwargs)
    if answer is NotImplemented and form != "operator":
        raise no_answer(f"torch.{op.base}", given)
    return answer


def no_answer(name: str, args: Any) -> TypeError:
    """The error for a call that no class wanted to answer."""
    classes = "".join(f"  - tensor subclass {type(t)}\n" for t in _in_order(args))
    return TypeError(
        f"Multiple dispatch failed for '{name}'; all __torch_function__ handlers returned NotImplemented:\n\n{classes}"
    )


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


# --- the default answer
def convert_result(value: Any, cls: Any) -> Any:
    """Plain tensors in a result as instances of the class."""
    if isinstance(value, Tensor):
        return value if isinstance(value, cls) else as_subclass(value, cls)
    if isinstance(value, (tuple, list)):
        parts = [convert_result(v, cls) for v in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    return value


def _torch_function(cls: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """Runs the function as on plain tensors; its results are instances of the class.

    A subclass may call it for the rest.
    """
    if not all(issubclass(cls, t) for t in types):
        return NotImplemented
    with DisableTorchFunctionSubclass():
        made = func(*args, **(kwargs or {}))
        return made if cls is Tensor else convert_result(made, cls)


def _make_subclass(cls: Any, data: Tensor, require_grad: bool = False) -> Any:
    """An instance of the class over the memory of `data`, outside any graph."""
    made = become(_tensor.shallow_alias(data), cls)
    return made.requires_grad_() if require_grad else made


SPACE.update(_overridden=False, _has_layouts=False, _asks=asks, _override=override)
Tensor.__torch_function__ = classmethod(_torch_function)  # type: ignore[attr-defined]
Tensor.as_subclass = as_subclass  # type: ignore[assignment, method-assign]
Tensor._make_subclass = staticmethod(_make_subclass)  # type: ignore[attr-defined]
Parameter.__torch_function__ = staticmethod(disabled_torch_function_impl)  # type: ignore[attr-defined]
_tensor.announce = _announce

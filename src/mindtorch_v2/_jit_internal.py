"""Marks that TorchScript's compiler would read, and the questions that programs ask it.

There is no such compiler here.
"""

from __future__ import annotations

import builtins
import warnings
from collections.abc import Callable
from typing import Any, Final, TypeVar

__all__ = [
    "BroadcastingList1",
    "BroadcastingList2",
    "BroadcastingList3",
    "Final",
    "FunctionModifiers",
    "boolean_dispatch",
    "export",
    "ignore",
    "is_scripting",
    "unused",
]
F = TypeVar("F", bound=Callable[..., Any])


class FunctionModifiers:
    """The marks: what a compiler of scripts should do with a function."""

    UNUSED = "unused (ignored and replaced with raising of an exception)"
    IGNORE = "ignore (leave as a call to Python, cannot be torch.jit.save'd)"
    EXPORT = "export (compile this function even if nothing calls it)"
    DEFAULT = "default (compile if called from a exported function / forward)"
    COPY_TO_SCRIPT_WRAPPER = "if this method is not scripted, copy the python method onto the scripted model"
    _DROP = "_drop (function is fully ignored, declaration can be unscriptable)"


def is_scripting() -> bool:
    """False: functions run as Python."""
    return False


def _mark(fn: F, modifier: str) -> F:
    target: Any = fn.fget if isinstance(fn, property) else fn
    target._torchscript_modifier = modifier
    return fn


def export(fn: F) -> F:
    """Marks a method that scripts should contain."""
    return _mark(fn, FunctionModifiers.EXPORT)


def unused(fn: F) -> F:
    """Marks a method that scripts should leave out."""
    return _mark(fn, FunctionModifiers.UNUSED)


def ignore(drop: Any = False, **kwargs: Any) -> Any:
    """Marks a function that scripts should call as Python: `@ignore`, `@ignore()`, `@ignore(drop=True)`."""
    if callable(drop):
        return _mark(drop, FunctionModifiers.IGNORE)
    if not isinstance(drop, bool):
        raise RuntimeError(f"Argument to @torch.jit.ignore must be a bool or a function but got {drop}")
    if drop:
        warnings.warn(
            "ignore(True) has been deprecated. TorchScript will now drop the function call on compilation. Use "
            "torch.jit.unused "
            "now. {}",
            FutureWarning,
            stacklevel=2,
        )
    return lambda fn: _mark(fn, FunctionModifiers.UNUSED if drop else FunctionModifiers.IGNORE)


def _overload(func: F) -> F:
    """Declares the types of one use of a function; the implementation follows."""
    return func


def _overload_method(func: F) -> F:
    """The same for a method."""
    return func


def _copy_to_script_wrapper(fn: F) -> F:
    return _mark(fn, FunctionModifiers.COPY_TO_SCRIPT_WRAPPER)


def _drop(fn: F) -> F:
    return _mark(fn, FunctionModifiers._DROP)


def boolean_dispatch(
    arg_name: str,
    arg_index: int,
    default: bool,
    if_true: Callable[..., Any],
    if_false: Callable[..., Any],
    module_name: str,
    func_name: str,
) -> Callable[..., Any]:
    """A function that calls one of two by a flag among its arguments, which both get too."""

    def dispatch(*args: Any, **kwargs: Any) -> Any:
        flag = kwargs.get(arg_name, args[arg_index] if arg_index < len(args) else default)
        return (if_true if flag else if_false)(*args, **kwargs)

    dispatch.__doc__ = if_true.__doc__ or if_false.__doc__
    dispatch.__name__, dispatch.__module__ = func_name, module_name
    return dispatch


class _BroadcastingList:
    """`BroadcastingList2[int]`: in annotations, a list of that length for which one number may stand."""

    def __getitem__(self, types: Any) -> None:
        return None


BroadcastingList1 = BroadcastingList2 = BroadcastingList3 = BroadcastingList4 = BroadcastingList5 = (
    BroadcastingList6
) = _BroadcastingList()


class Await:
    """A value that is computed when it is asked for: not made here."""

    def __class_getitem__(cls, item: Any) -> type:
        return cls


def is_tuple(ann: Any) -> bool:
    return getattr(ann, "__origin__", None) is builtins.tuple


def is_list(ann: Any) -> bool:
    return getattr(ann, "__origin__", None) is builtins.list


def is_dict(ann: Any) -> bool:
    return getattr(ann, "__origin__", None) is builtins.dict


def is_optional(ann: Any) -> bool:
    """Whether an annotation allows None."""
    import typing

    return typing.get_origin(ann) is typing.Union and type(None) in typing.get_args(ann)

"""Subclasses of Tensor and their `__torch_function__`: what `torch.overrides` offers to programs."""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ._dispatch.modes import state
from ._dispatch.overrides import DisableTorchFunctionSubclass, _instances, ask, asks, no_answer
from ._tensor import Tensor

__all__ = ["DisableTorchFunctionSubclass", "handle_torch_function", "has_torch_function", "has_torch_function_unary",
           "has_torch_function_variadic", "is_tensor_like", "resolve_name"]


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Whether one of the arguments is an instance of a subclass that is asked before functions run."""
    return asks(tuple(relevant_args))


def has_torch_function_unary(arg: Any) -> bool:
    """The same for one argument."""
    return asks((arg,))


def has_torch_function_variadic(*args: Any) -> bool:
    """The same for arguments given one by one."""
    return asks(args)


def handle_torch_function(public_api: Any, relevant_args: Iterable[Any], *args: Any, **kwargs: Any) -> Any:
    """Asks the classes of the relevant arguments what `public_api(*args, **kwargs)` gives; TypeError if none answers."""
    relevant = tuple(relevant_args)
    answer = ask(public_api, relevant, args, kwargs)
    if answer is NotImplemented:
        raise no_answer(resolve_name(public_api) or str(public_api), relevant)
    return answer


def is_tensor_like(inp: Any) -> bool:
    """Whether the object is a tensor or has a `__torch_function__`."""
    return isinstance(inp, Tensor) or hasattr(inp, "__torch_function__")


def resolve_name(f: Any) -> str | None:
    """A readable name of a function that a `__torch_function__` was given."""
    name = getattr(f, "__qualname__", None) or getattr(f, "__name__", None)
    return None if name is None else f"torch.{name}"


def _is_torch_function_enabled() -> bool:
    return not state.subclasses_are_plain


def _overloaded_args(relevant_args: Iterable[Any]) -> list[Any]:
    """The instances among the arguments that are asked."""
    return list(_instances(tuple(relevant_args)))

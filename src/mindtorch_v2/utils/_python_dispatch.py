"""`torch.utils._python_dispatch`: Python instead of operators, below autograd."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from .._dispatch.below import TorchDispatchMode
from .._dispatch.modes import state
from .._dispatch.overrides import Stack
from .._tensor import Tensor

__all__ = [
    "TorchDispatchMode",
    "_disable_current_modes",
    "_get_current_dispatch_mode",
    "_get_current_dispatch_mode_stack",
    "is_traceable_wrapper_subclass",
    "return_and_correct_aliasing",
    "transform_subclass",
]


def _get_current_dispatch_mode() -> Any:
    """The innermost mode, or None."""
    return state.dispatch_modes[-1] if state.dispatch_modes else None


def _get_current_dispatch_mode_stack() -> list[Any]:
    """All modes, the innermost last."""
    return list(state.dispatch_modes)


@contextlib.contextmanager
def _disable_current_modes() -> Iterator[list[Any]]:
    """A block without modes; it gets the list of those that were set aside."""
    before = list(state.dispatch_modes)
    with Stack("dispatch_modes", ()):
        yield before


@contextlib.contextmanager
def _pop_mode_temporarily(k: Any = None) -> Iterator[Any]:
    """A block without the innermost mode, which it gets."""
    mode = state.dispatch_modes[-1]
    with Stack("dispatch_modes", state.dispatch_modes[:-1]):
        yield mode


def is_traceable_wrapper_subclass(t: object) -> bool:
    """Whether a tensor is an instance of a class that holds other tensors and says so by `__tensor_flatten__`."""
    return (
        isinstance(t, Tensor)
        and type(t) is not Tensor
        and hasattr(t, "__tensor_flatten__")
        and hasattr(t, "__tensor_unflatten__")
    )


def is_traceable_wrapper_subclass_type(t: type) -> bool:
    """The same for a class."""
    return (
        isinstance(t, type)
        and issubclass(t, Tensor)
        and t is not Tensor
        and hasattr(t, "__tensor_flatten__")
        and hasattr(t, "__tensor_unflatten__")
    )


def transform_subclass(
    t: Any, callback: Callable[[str, Any], Any], outer_size: Any = None, outer_stride: Any = None
) -> Any:
    """An instance with `callback(name, tensor)` instead of the tensors that it holds."""
    names, context = t.__tensor_flatten__()
    inner = {name: callback(name, getattr(t, name)) for name in names}
    return type(t).__tensor_unflatten__(
        inner,
        context,
        t.size() if outer_size is None else outer_size,
        t.stride() if outer_stride is None else outer_stride,
    )


def return_and_correct_aliasing(func: Any, args: Any, kwargs: Any, out: Any) -> Any:
    """The result; for operators that write into their first argument, that argument."""
    name = func._op.base
    return args[0] if name.endswith("_") and not name.endswith("__") and args else out

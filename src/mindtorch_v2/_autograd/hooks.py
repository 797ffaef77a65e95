"""Hooks: user functions that see, and may replace, gradients."""

from __future__ import annotations

import weakref
from collections import OrderedDict
from typing import Any

from .._tensor import Tensor


class RemovableHandle:
    """What registering a hook returns; `remove()` takes the hook away. Works as a context manager."""

    next_id = 0

    def __init__(self, hooks_dict: dict[int, Any], *, extra_dict: Any = None) -> None:
        self.hooks_dict_ref: Any = (
            weakref.ref(hooks_dict) if isinstance(hooks_dict, OrderedDict) else lambda: hooks_dict
        )
        self.id = RemovableHandle.next_id
        RemovableHandle.next_id += 1
        self.extra_dict_ref: tuple[Any, ...] = ()
        if isinstance(extra_dict, dict):
            self.extra_dict_ref = (
                weakref.ref(extra_dict) if isinstance(extra_dict, OrderedDict) else lambda: extra_dict,
            )
        elif isinstance(extra_dict, list):
            self.extra_dict_ref = tuple(
                weakref.ref(d) if isinstance(d, OrderedDict) else (lambda d=d: d) for d in extra_dict
            )

    @classmethod
    def add(cls, hooks: dict[int, Any], hook: Any) -> RemovableHandle:
        handle = cls(hooks)
        hooks[handle.id] = hook
        return handle

    def remove(self) -> None:
        for ref in (self.hooks_dict_ref, *self.extra_dict_ref):
            hooks = ref()
            if hooks is not None and self.id in hooks:
                del hooks[self.id]

    def __getstate__(self) -> tuple[Any, ...]:
        """What pickle and deepcopy keep: the dicts themselves, which are shared with what else is copied."""
        return self.id, self.hooks_dict_ref(), [ref() for ref in self.extra_dict_ref]

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        number, hooks, extra = state
        self.__init__({} if hooks is None else hooks, extra_dict=[d for d in extra if d is not None])  # type: ignore[misc]
        self.id = number
        RemovableHandle.next_id = max(RemovableHandle.next_id, number + 1)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exc: object) -> None:
        self.remove()


def run_hooks(hooks: dict[int, Any], grad: Any) -> Any:
    """Passes a gradient through hooks; what a hook returns (if anything) replaces it."""
    for hook in list(hooks.values()):
        made = hook(grad)
        if made is not None:
            _check(hook, grad, made)
            grad = made
    return grad


def _check(hook: Any, grad: Tensor, made: Any) -> None:
    """An error if a hook made something else of a gradient than a gradient of the same kind."""
    if not isinstance(made, Tensor):
        raise TypeError(f"expected Variable, but hook returned '{type(made).__name__}'")
    name = getattr(hook, "__name__", "<unknown>")
    if made.dtype is not grad.dtype or made.device != grad.device:
        raise RuntimeError(f"hook '{name}' has changed the type of value (was {grad.type()} got {made.type()})")
    if made.shape != grad.shape:
        raise RuntimeError(f"hook '{name}' has changed the size of value")

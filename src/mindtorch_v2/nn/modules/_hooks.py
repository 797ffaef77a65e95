"""Calling a module that somebody watches: its own hooks, the hooks on all modules, and the profiler."""

from __future__ import annotations

import warnings
import weakref
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from ... import _observer
from ..._autograd.hooks import RemovableHandle
from ..._tensor import Tensor
from ...utils.hooks import BackwardHook


class GlobalHooks:
    """Hooks that run for every module, before the module's own."""

    def __init__(self) -> None:
        self.forward_pre: OrderedDict[int, Any] = OrderedDict()
        self.forward: OrderedDict[int, Any] = OrderedDict()
        self.forward_with_kwargs: OrderedDict[int, bool] = OrderedDict()
        self.forward_always: OrderedDict[int, bool] = OrderedDict()
        self.backward_pre: OrderedDict[int, Any] = OrderedDict()
        self.backward: OrderedDict[int, Any] = OrderedDict()
        self.backward_is_full: bool | None = None
        self.register_buffer: OrderedDict[int, Any] = OrderedDict()
        self.register_module: OrderedDict[int, Any] = OrderedDict()
        self.register_parameter: OrderedDict[int, Any] = OrderedDict()

    def any_call_hook(self) -> bool:
        return bool(self.forward_pre or self.forward or self.backward_pre or self.backward)


GLOBAL = GlobalHooks()
# The hooks that a call must look at; the values are the dicts themselves, so that the fast path of Module.__call__
# tests their truth without going through an object.
forward_pre_hooks, forward_hooks = GLOBAL.forward_pre, GLOBAL.forward
backward_pre_hooks, backward_hooks = GLOBAL.backward_pre, GLOBAL.backward


def add_hook(
    hooks: OrderedDict[int, Any],
    hook: Any,
    *extra: OrderedDict[int, bool],
    prepend: bool = False,
    flags: tuple[bool, ...] = (),
) -> RemovableHandle:
    """Adds a hook, marks it in those of the `extra` dicts whose flag is set, and returns its handle."""
    handle = RemovableHandle(hooks, extra_dict=list(extra))
    hooks[handle.id] = hook
    for marks, flag in zip(extra, flags):
        if flag:
            marks[handle.id] = True
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


def register_module_forward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """`hook(module, args)` runs before every module's forward; what it returns replaces the arguments."""
    return add_hook(GLOBAL.forward_pre, hook)


def register_module_forward_hook(
    hook: Callable[..., Any], *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """`hook(module, args, output)` runs after every module's forward; what it returns replaces the output."""
    return add_hook(
        GLOBAL.forward, hook, GLOBAL.forward_with_kwargs, GLOBAL.forward_always, flags=(with_kwargs, always_call)
    )


def _register_global_backward(hook: Callable[..., Any], full: bool) -> RemovableHandle:
    if GLOBAL.backward_is_full is (not full):
        raise RuntimeError(
            "Cannot use both regular backward hooks and full backward hooks as a global Module hook. "
            "Please use only one of them."
        )
    GLOBAL.backward_is_full = full
    return add_hook(GLOBAL.backward, hook)


def register_module_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """The old form of `register_module_full_backward_hook`: it sees the gradients of the module's last node only."""
    return _register_global_backward(hook, full=False)


def register_module_full_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """`hook(module, grad_input, grad_output)` runs when the gradients of any module's inputs are known."""
    return _register_global_backward(hook, full=True)


def register_module_full_backward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """`hook(module, grad_output)` runs when the gradients of any module's outputs are known."""
    return add_hook(GLOBAL.backward_pre, hook)


def register_module_buffer_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """`hook(module, name, buffer)` runs at every `register_buffer`; what it returns is registered instead."""
    return add_hook(GLOBAL.register_buffer, hook)


def register_module_module_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """`hook(module, name, submodule)` runs at every `register_module`; what it returns is registered instead."""
    return add_hook(GLOBAL.register_module, hook)


def register_module_parameter_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """`hook(module, name, param)` runs at every `register_parameter`; what it returns is registered instead."""
    return add_hook(GLOBAL.register_parameter, hook)


class WrappedHook:
    """A hook on loading that is called with its module first, held weakly so that module and hook form no cycle."""

    def __init__(self, hook: Callable[..., Any], module: Any = None) -> None:
        self.hook = hook
        self.module: Any = None if module is None else weakref.ref(module)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.module is None:
            return self.hook(*args, **kwargs)
        module = self.module()
        if module is None:
            raise RuntimeError("You are trying to call the hook of a dead Module!")
        return self.hook(module, *args, **kwargs)

    def __getstate__(self) -> dict[str, Any]:
        return {"hook": self.hook, "module": None if self.module is None else self.module()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.hook = state["hook"]
        self.module = None if state["module"] is None else weakref.ref(state["module"])


# --- the call
def call_hooked(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Calls a module that hooks watch, and perhaps an observer."""
    observer = _observer.active
    if observer is None or not observer.watches_modules:
        return _call_with_hooks(module, args, kwargs)
    observer.enter_module(module)
    try:
        return _call_with_hooks(module, args, kwargs)
    finally:
        observer.leave_module()


def _call_with_hooks(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    called: set[int] = set()
    results: list[Any] = []
    try:
        return _inner_call(module, args, kwargs, called, results)
    except Exception:
        _call_remaining(module, args, kwargs, called, results[0] if results else None)
        raise


def _inner_call(
    module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], called: set[int], results: list[Any]
) -> Any:
    args, kwargs = _run_pre_hooks(module, args, kwargs)
    full, plain, pre = backward_hooks_of(module)
    backward = BackwardHook(module, full, pre) if full or pre else None
    if backward is not None:
        args = backward.setup_input_hook(args)
    result = module.forward(*args, **kwargs)
    results.append(result)
    result = _run_forward_hooks(module, args, kwargs, result, called)
    if backward is not None:
        if not isinstance(result, (Tensor, tuple)):
            warnings.warn(
                "For backward hooks to be called, module output should be a Tensor or a tuple of Tensors but received "
                f"{type(result)}",
                stacklevel=5,
            )
        result = backward.setup_output_hook(result)
    if plain:
        _attach_plain_backward_hooks(module, plain, args, result)
    return result


def backward_hooks_of(module: Any) -> tuple[list[Any], list[Any], list[Any]]:
    """Full backward hooks, old backward hooks and backward pre-hooks, global ones first."""
    pre = [*GLOBAL.backward_pre.values(), *module._backward_pre_hooks.values()]
    full: list[Any] = list(GLOBAL.backward.values()) if GLOBAL.backward_is_full else []
    plain: list[Any] = list(GLOBAL.backward.values()) if GLOBAL.backward_is_full is False else []
    (full if module._is_full_backward_hook else plain).extend(module._backward_hooks.values())
    return full, plain, pre


def _run_pre_hooks(
    module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    for key, hook in (*GLOBAL.forward_pre.items(), *module._forward_pre_hooks.items()):
        if key in module._forward_pre_hooks_with_kwargs:
            made = hook(module, args, kwargs)
            if made is not None:
                if not (isinstance(made, tuple) and len(made) == 2):
                    raise RuntimeError(
                        f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {made}."
                    )
                args, kwargs = made
        else:
            made = hook(module, args)
            if made is not None:
                args = made if isinstance(made, tuple) else (made,)
    return args, kwargs


def _run_forward_hooks(
    module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any, called: set[int]
) -> Any:
    for key, hook in (*GLOBAL.forward.items(), *module._forward_hooks.items()):
        called.add(key)
        with_kwargs = key in module._forward_hooks_with_kwargs or key in GLOBAL.forward_with_kwargs
        made = hook(module, args, kwargs, result) if with_kwargs else hook(module, args, result)
        if made is not None:
            result = made
    return result


def _call_remaining(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], called: set[int], result: Any) -> None:
    """After an error: the hooks that must always be called and were not yet."""
    for always, hooks, whose in (
        (GLOBAL.forward_always, GLOBAL.forward, "global module"),
        (module._forward_hooks_always_called, module._forward_hooks, "module"),
    ):
        for key, hook in hooks.items():
            if key not in always or key in called:
                continue
            with_kwargs = key in module._forward_hooks_with_kwargs or key in GLOBAL.forward_with_kwargs
            try:
                made = hook(module, args, kwargs, result) if with_kwargs else hook(module, args, result)
                result = result if made is None else made
            except Exception as error:  # noqa: BLE001 - the first error is the one to raise
                warnings.warn(
                    f"{whose} forward hook with ``always_call=True`` raised an exception that was silenced as "
                    f"another error was raised in forward: {error}",
                    stacklevel=6,
                )


def _attach_plain_backward_hooks(module: Any, hooks: list[Any], args: tuple[Any, ...], result: Any) -> None:
    """Old backward hooks hang on the node that made the (first) output."""
    found = result
    while not isinstance(found, Tensor):
        if isinstance(found, dict):
            found = next((v for v in found.values() if isinstance(v, Tensor)), None)
        elif isinstance(found, (list, tuple)) and found:
            found = found[0]
        else:
            return
        if found is None:
            return
    node = found.grad_fn
    if node is not None:
        for hook in hooks:
            node.register_hook(lambda grad_input, grad_output, hook=hook: hook(module, grad_input, grad_output))

"""Functions that are recorded as one node instead of being traced: `torch.fx.wrap`, and the patches that last while a
trace runs."""

from __future__ import annotations

import builtins
import functools
import sys
from collections.abc import Callable
from typing import Any

from .node import map_aggregate
from .proxy import Proxy

# (the globals of a module, a name in it), (a class, the name of a method): what is patched while a program is traced.
wrapped_functions: dict[tuple[int, str], dict[str, Any]] = {}
wrapped_methods: list[tuple[Any, str]] = []


class Patcher:
    """A block at whose end all attributes and globals that were patched are as before, also after an error."""

    def __init__(self) -> None:
        self._undo: list[Callable[[], None]] = []
        self._seen: set[Any] = set()

    def patch(self, space: dict[str, Any], name: str, new: Any) -> None:
        """Sets a name of a dict (a module's globals)."""
        if name in space:
            old = space[name]
            self._undo.append(lambda: space.__setitem__(name, old))
        else:
            self._undo.append(lambda: space.pop(name, None) and None)
        space[name] = new

    def patch_method(self, cls: Any, name: str, new: Any, deduplicate: bool = False) -> None:
        """Sets an attribute of a class or module; with `deduplicate` only the first time."""
        if (id(cls), name) in self._seen and deduplicate:
            return
        self._seen.add((id(cls), name))
        if name in cls.__dict__:
            old = cls.__dict__[name]
            self._undo.append(lambda: setattr(cls, name, old))
        else:
            self._undo.append(lambda: delattr(cls, name))
        setattr(cls, name, new)

    def visit_once(self, thing: Any) -> bool:
        """Whether the thing was not seen before."""
        new = id(thing) not in self._seen
        self._seen.add(id(thing))
        return new

    def __enter__(self) -> Patcher:
        return self

    def __exit__(self, *error: Any) -> None:
        while self._undo:
            self._undo.pop()()


def find_proxy(*values: Any) -> Proxy | None:
    """The first proxy among values, also inside containers."""
    found: list[Proxy] = []
    map_aggregate(values, lambda x: found.append(x) if isinstance(x, Proxy) else None)
    return found[0] if found else None


def recorded_function(original: Any) -> Any:
    """The function, but for calls with a proxy, which become a node."""

    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        proxy = find_proxy(args, kwargs)
        if proxy is None:
            return original(*args, **kwargs)
        made = proxy.tracer.create_proxy("call_function", original, args, kwargs)
        made.node.meta["is_wrapped"] = True
        return made

    return call


def _recorded_method(cls: Any, name: str) -> Any:
    original = getattr(cls, name)

    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        proxy = find_proxy(args, kwargs)
        return (
            original(*args, **kwargs) if proxy is None else proxy.tracer.create_proxy("call_method", name, args, kwargs)
        )

    return call


def patch_wrapped(patcher: Patcher) -> None:
    """Replaces everything that was wrapped by recorders."""
    for (_, name), space in wrapped_functions.items():
        if name not in space and hasattr(builtins, name):
            original = getattr(builtins, name)
        elif name in space:
            original = space[name]
        else:
            continue
        patcher.patch(space, name, recorded_function(original))
    for cls, name in wrapped_methods:
        patcher.patch_method(cls, name, _recorded_method(cls, name))


def patch_globals(patcher: Patcher, space: dict[str, Any], function_ids: set[int]) -> None:
    """Replaces the functions with these ids by recorders, where a module has imported them by name."""
    if patcher.visit_once(space):
        for name, value in list(space.items()):
            if not name.startswith("_") and callable(value) and id(value) in function_ids:
                patcher.patch(space, name, recorded_function(value))


def wrap(fn_or_name: str | Callable[..., Any]) -> Any:
    """Called at module level with a function, or the name of a function or builtin of that module: calls of it in that
    module are recorded as one node and not traced. Works as a decorator. Returns its argument."""
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError("Unsupported type for global function! Must be either a callable or string name")
    if not isinstance(fn_or_name, str):
        if not hasattr(fn_or_name, "__code__"):
            raise AssertionError(f"expected a function with code, got {type(fn_or_name)}")
        name = fn_or_name.__code__.co_name
    else:
        name = fn_or_name
    frame = sys._getframe(1)
    if frame.f_code.co_name != "<module>":
        raise NotImplementedError("wrap must be called at the top level of a module")
    wrapped_functions[id(frame.f_globals), name] = frame.f_globals
    return fn_or_name

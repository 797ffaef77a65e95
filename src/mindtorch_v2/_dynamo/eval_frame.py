"""`torch.compile` without a compiler: programs run eagerly; what it makes is shaped as in PyTorch, because programs
look at it.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from ..nn.modules.module import Module
from . import exc

MODES = ("default", "lite", "reduce-overhead", "max-autotune-no-cudagraphs", "max-autotune")
# names that are accepted; all of them run the program eagerly
BACKENDS = ("eager", "aot_eager", "inductor", "cudagraphs")


class OptimizedModule(Module):
    """What `torch.compile(module)` makes: it holds the module as `_orig_mod`, so parameters are called
    `_orig_mod.weight`.
    """

    _orig_mod: Module
    _opt_mod_attributes = frozenset({"_orig_mod", "training", "_forward", "_parameters", "_buffers", "_modules"})

    def __init__(self, mod: Module, dynamo_ctx: Any = None) -> None:
        super().__init__()
        self._orig_mod = mod
        object.__setattr__(self, "dynamo_ctx", dynamo_ctx)
        self.training = mod.training

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._orig_mod(*args, **kwargs)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self._orig_mod(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        modules = self.__dict__.get("_modules", {})
        return modules["_orig_mod"] if name == "_orig_mod" else getattr(modules["_orig_mod"], name)

    def __setattr__(self, name: str, value: Any) -> None:
        """Whatever a program sets belongs to the module itself."""
        if (
            name in self._opt_mod_attributes
            or "_orig_mod" not in self.__dict__.get("_modules", {})
            or name in self.__dict__
        ):
            super().__setattr__(name, value)
        else:
            setattr(self._orig_mod, name, value)

    def train(self, mode: bool = True) -> OptimizedModule:
        self.__dict__["training"] = mode
        self._orig_mod.train(mode)
        return self

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *dir(self._orig_mod)]

    def __reduce__(self) -> tuple[Any, ...]:
        return OptimizedModule, (self._orig_mod,)


def check_backend(backend: Any) -> None:
    """Raises for a backend that is not known, or that is a function: it would have to be given a graph, and none is
    made.
    """
    if backend is None or backend in BACKENDS:
        return
    if callable(backend):
        raise NotImplementedError(
            f"torch.compile runs programs eagerly here and makes no graphs, so the backend {backend!r} cannot be "
            "called with one. Use backend='eager', or disable=True."
        )
    raise exc.InvalidBackend(
        f"Invalid backend: {backend!r}, see `torch._dynamo.list_backends()` for available backends."
    )


def check_mode(mode: str | None, options: dict[str, Any] | None) -> None:
    """Raises for an unknown mode, or options that come with one."""
    if mode is not None and options is not None:
        raise RuntimeError("Either mode or options can be specified, but both can't be specified at the same time.")
    if mode is not None and mode not in MODES:
        raise RuntimeError(f"Unrecognized mode={mode}, should be one of: {', '.join(MODES)}")


def compile(
    model: Any = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: Any = None,
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    name: str | None = None,
    disable: bool = False,
    recompile_limit: int | None = None,
    isolate_recompiles: bool = False,
) -> Any:
    """Gives a function or module that runs eagerly; arguments are checked and have no other effect.

    A module comes wrapped in an `OptimizedModule`, a function in a function of the same name; without `model`, a
    decorator.

    >>> torch.compile(lambda x: x + 1)(torch.tensor([1, 2]))
    tensor([2, 3])
    """
    if model is None:
        return lambda target: compile(
            target, fullgraph=fullgraph, dynamic=dynamic, backend=backend, mode=mode, options=options, disable=disable
        )
    check_mode(mode, options)
    if dynamic is not None and not isinstance(dynamic, bool):
        raise AssertionError(f"Expected enable to be a bool, got {type(dynamic)}")
    check_backend(backend)
    return model if disable else wrap_target(model)


def wrap_target(target: Any) -> Any:
    """The wrapper that `torch.compile` puts around a module or function."""
    if isinstance(target, Module):
        return OptimizedModule(target)
    if not callable(target):
        raise AssertionError(f"A callable function is expected, but {type(target)} is provided.")
    return target if inspect.isclass(target) else _wrap_function(target)


def _wrap_function(function: Callable[..., Any]) -> Any:
    if not hasattr(function, "__name__"):
        return function
    if inspect.iscoroutinefunction(function) or inspect.isgeneratorfunction(function):
        return function

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    made: Any = call
    made._torchdynamo_orig_callable = innermost_fn(function)
    return made


def innermost_fn(fn: Any) -> Any:
    """The function inside all the wrappers."""
    while hasattr(fn, "_torchdynamo_orig_callable"):
        fn = fn._torchdynamo_orig_callable
    return fn

"""Context managers that are decorators too."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

__all__ = ["_DecoratorContextManager", "_NoParamDecoratorContextManager", "context_decorator"]


def context_decorator(ctx: Any, func: Any) -> Any:
    """The function, run inside a context manager, or inside what `ctx()` gives, anew for every call; generators for
    every step.
    """
    factory: Callable[[], Any] = (lambda: ctx) if hasattr(ctx, "__enter__") else ctx
    if inspect.isclass(func):
        raise RuntimeError(
            "Cannot decorate a class; decorate its methods, or make instances inside the context manager."
        )
    if inspect.isgeneratorfunction(func):
        return _generator(factory, func)

    @functools.wraps(func)
    def call(*args: Any, **kwargs: Any) -> Any:
        with factory():
            return func(*args, **kwargs)

    return call


def _generator(factory: Callable[[], Any], func: Any) -> Any:
    @functools.wraps(func)
    def run(*args: Any, **kwargs: Any) -> Any:
        generator, step, given = func(*args, **kwargs), "send", None
        while True:
            try:
                with factory():
                    value = getattr(generator, step)(given)
            except StopIteration as end:
                return end.value
            try:
                step, given = "send", (yield value)
            except GeneratorExit:
                with factory():
                    generator.close()
                raise
            except BaseException as error:  # noqa: BLE001 - handed to the generator, which may go on
                step, given = "throw", error

    return run


class _DecoratorContextManager:
    """A base of context managers that can be put before functions: `@manager(...)`."""

    def __call__(self, orig_func: Any) -> Any:
        return context_decorator(self.clone, orig_func)

    def __enter__(self) -> Any:
        raise NotImplementedError

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> Any:
        raise NotImplementedError

    def clone(self) -> Any:
        """One like this, for another call."""
        return self.__class__()


class _NoParamDecoratorContextManager(_DecoratorContextManager):
    """The same without parameters: `@manager` and `@manager()`."""

    def __new__(cls, orig_func: Any = None) -> Any:
        return super().__new__(cls) if orig_func is None else cls()(orig_func)

"""Context managers and decorators that switch the recording of gradients, per thread."""
from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from typing import Any, TypeVar

from .._dispatch import modes

F = TypeVar("F", bound=Callable[..., Any])


class _Mode:
    """A context manager that is a decorator too; a decorated generator runs in the mode, its caller does not."""

    def __call__(self, function: F) -> F:
        if inspect.isgeneratorfunction(function):
            return self._generator(function)

        @functools.wraps(function)
        def inner(*args: Any, **kwargs: Any) -> Any:
            with self.clone():
                return function(*args, **kwargs)
        return inner  # type: ignore[return-value]

    def _generator(self, function: F) -> F:
        @functools.wraps(function)
        def inner(*args: Any, **kwargs: Any) -> Any:
            with self.clone():
                generator = function(*args, **kwargs)
            sent: Any = None
            failed: Any = None
            while True:
                try:
                    with self.clone():
                        made = generator.throw(failed) if failed is not None else generator.send(sent)
                except StopIteration as stop:
                    return stop.value
                failed = None
                try:
                    sent = yield made
                except GeneratorExit:
                    generator.close()
                    raise
                except BaseException:  # noqa: BLE001 - it is handed on to the generator
                    failed = sys.exc_info()[1]
        return inner  # type: ignore[return-value]

    def clone(self) -> Any:
        return type(self)()

    def __enter__(self) -> None:
        raise NotImplementedError

    def __exit__(self, *exc: object) -> None:
        raise NotImplementedError


class no_grad(_Mode):
    """Operations inside record no gradients."""

    def __new__(cls, orig_func: Any = None) -> Any:
        return object.__new__(cls) if orig_func is None else object.__new__(cls)(orig_func)

    def __enter__(self) -> None:
        self.prev = modes.set_grad(False)

    def __exit__(self, *exc: object) -> None:
        modes.set_grad(self.prev)


class enable_grad(_Mode):
    """Operations inside record gradients, also within `no_grad`."""

    def __new__(cls, orig_func: Any = None) -> Any:
        return object.__new__(cls) if orig_func is None else object.__new__(cls)(orig_func)

    def __enter__(self) -> None:
        self.prev = modes.set_grad(True)

    def __exit__(self, *exc: object) -> None:
        modes.set_grad(self.prev)


class set_grad_enabled(_Mode):
    """Switches recording on or off, as a function call or for a block."""

    def __init__(self, mode: bool) -> None:
        self.mode = bool(mode)
        self.prev = modes.set_grad(self.mode)

    def __call__(self, function: F) -> F:
        modes.set_grad(self.prev)  # as a decorator the switch holds inside the function only
        return super().__call__(function)

    def clone(self) -> Any:
        return set_grad_enabled(self.mode)

    def __enter__(self) -> None:
        modes.set_grad(self.mode)

    def __exit__(self, *exc: object) -> None:
        modes.set_grad(self.prev)


class inference_mode(_Mode):
    """No gradients, and the tensors made inside can never take part in autograd."""

    def __new__(cls, mode: Any = True) -> Any:
        if callable(mode) and not isinstance(mode, bool):
            made = object.__new__(cls)
            made.mode = True
            return made(mode)
        return object.__new__(cls)

    def __init__(self, mode: bool = True) -> None:
        self.mode = bool(mode)

    def clone(self) -> Any:
        return inference_mode(self.mode)

    def __enter__(self) -> None:
        self.prev = modes.state.inference, modes.state.grad
        modes.state.inference = self.mode
        modes.set_grad(not self.mode)
        modes.use_special(True)

    def __exit__(self, *exc: object) -> None:
        modes.use_special(False)
        modes.state.inference = self.prev[0]
        modes.set_grad(self.prev[1])


def is_grad_enabled() -> bool:
    return modes.state.grad


def is_inference_mode_enabled() -> bool:
    return modes.state.inference

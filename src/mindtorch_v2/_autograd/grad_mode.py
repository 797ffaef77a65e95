"""Context managers and decorators that switch the recording of gradients, per thread."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from typing import Any, TypeVar

from .._dispatch import modes

F = TypeVar("F", bound=Callable[..., Any])


class _Mode(modes.Switch):
    """A context manager that is a decorator too; a decorated generator runs in the mode, its caller does not."""

    _changes: dict[str, Any]
    _special = False

    def __call__(self, function: F) -> F:
        if inspect.isgeneratorfunction(function):
            return self._generator(function)
        made = self.clone()

        @functools.wraps(function)
        def inner(*args: Any, **kwargs: Any) -> Any:
            return made.run(function, *args, **kwargs)

        return inner  # type: ignore[return-value]

    def _generator(self, function: F) -> F:
        @functools.wraps(function)
        def inner(*args: Any, **kwargs: Any) -> Any:
            inside = self.clone()
            generator = inside.run(function, *args, **kwargs)
            sent: Any = None
            failed: Any = None
            while True:
                try:
                    made = (
                        inside.run(generator.throw, failed) if failed is not None else inside.run(generator.send, sent)
                    )
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

    @property
    def prev(self) -> bool:
        """Whether gradients were recorded when the block was entered."""
        return bool(self.before["grad"])


class no_grad(_Mode):
    """Operations inside record no gradients.

    >>> x = torch.ones(1, requires_grad=True)
    >>> with torch.no_grad():
    ...     y = x * 2
    >>> y.requires_grad
    False
    """

    _changes = {"grad": False}

    def __new__(cls, orig_func: Any = None) -> no_grad:
        return super().__new__(cls) if orig_func is None else super().__new__(cls)(orig_func)


class enable_grad(_Mode):
    """Operations inside record gradients, also within `no_grad`.

    >>> x = torch.ones(1, requires_grad=True)
    >>> with torch.no_grad(), torch.enable_grad():
    ...     y = x * 2
    >>> y.requires_grad
    True
    """

    _changes = {"grad": True}

    def __new__(cls, orig_func: Any = None) -> enable_grad:
        return super().__new__(cls) if orig_func is None else super().__new__(cls)(orig_func)


class _GradSwitch(_Mode):
    """What a decorator of `set_grad_enabled` puts around its function."""

    def __init__(self, mode: bool) -> None:
        self._changes = {"grad": mode}


class set_grad_enabled(_Mode):
    """Switches recording on or off, as a function call or for a block.

    >>> x = torch.ones(1, requires_grad=True)
    >>> with torch.set_grad_enabled(False):
    ...     y = x * 2
    >>> y.requires_grad
    False
    """

    prev = True

    def __init__(self, mode: bool) -> None:
        self.mode = bool(mode)
        self.prev = modes.set_grad(self.mode)

    def __call__(self, function: F) -> F:
        modes.set_grad(self.prev)  # as a decorator the switch holds inside the function only
        return super().__call__(function)

    def clone(self) -> Any:
        return _GradSwitch(self.mode)

    def __enter__(self) -> None:
        modes.set_grad(self.mode)

    def __exit__(self, *exc: object) -> None:
        modes.set_grad(self.prev)


class inference_mode(_Mode):
    """No gradients, and the tensors made inside can never take part in autograd.

    >>> with torch.inference_mode():
    ...     y = torch.ones(2) * 2
    >>> y.is_inference()
    True
    """

    _special = True

    def __new__(cls, mode: Any = True) -> inference_mode:
        if callable(mode) and not isinstance(mode, bool):
            made = super().__new__(cls)
            inference_mode.__init__(made)
            return made(mode)
        return super().__new__(cls)

    def __init__(self, mode: bool = True) -> None:
        self.mode = bool(mode)
        self._changes = {"inference": self.mode, "grad": not self.mode}

    def clone(self) -> Any:
        return inference_mode(self.mode)


def is_grad_enabled() -> bool:
    """Whether operations of this thread record gradients.

    >>> with torch.no_grad():
    ...     torch.is_grad_enabled()
    False
    """
    return modes.state.grad


def is_inference_mode_enabled() -> bool:
    """Whether this thread is in inference mode.

    >>> with torch.inference_mode():
    ...     torch.is_inference_mode_enabled()
    True
    """
    return modes.state.inference

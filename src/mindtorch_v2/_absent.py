"""What the modules of accelerators that are not here (`torch.cuda`, `torch.xpu`, ...) are made of: answers of
nothing, and refusals.

A program asks `torch.cuda.is_available()`, is told no, and goes on. What a program may call without asking either
does nothing, as in a PyTorch without that accelerator, or raises PyTorch's error. Nothing here pretends that a
device did something.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any, NoReturn

Refusal = Callable[..., NoReturn]


class Refuser:
    """Makes functions that raise: `refuse("current_device")` is a function of that name."""

    def __init__(self, module: str, error: type[Exception], message: str) -> None:
        self.module, self.error, self.message = module, error, message

    def __call__(self, name: str, message: str | None = None, error: type[Exception] | None = None) -> Refusal:
        kind, text = error or self.error, message or self.message

        def refusal(*args: Any, **kwargs: Any) -> NoReturn:
            raise kind(text)

        refusal.__name__ = refusal.__qualname__ = name
        refusal.__module__ = self.module
        refusal.__doc__ = f"Raises {kind.__name__}: {text}"
        return refusal

    def missing(self, name: str, internal: str) -> Refusal:
        """PyTorch looks the function up in its extension module, which lacks it."""
        return self(name, f"module 'torch._C' has no attribute '{internal}'", AttributeError)

    def dummy(self, name: str) -> type:
        """A class that cannot be instantiated."""
        text = f"Tried to instantiate dummy base class {name}"

        def __new__(cls: type, *args: Any, **kwargs: Any) -> NoReturn:
            raise RuntimeError(text)

        return type(
            name, (), {"__new__": __new__, "__module__": self.module, "__doc__": f"Raises RuntimeError: {text}"}
        )


def constant(module: str, name: str, value: Any, doc: str) -> Callable[..., Any]:
    """A function that always gives the value; a container is made anew each time."""

    def answer(*args: Any, **kwargs: Any) -> Any:
        return value() if callable(value) else value

    answer.__name__ = answer.__qualname__ = name
    answer.__module__ = module
    answer.__doc__ = doc
    return answer


class Flag:
    """A setting that is kept for programs that read it back; the meaning belongs to a device that is not here."""

    def __init__(self, default: Any, check: Callable[[Any], Any] | None = None) -> None:
        self.default, self.check = default, check

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type) -> Any:
        return self if instance is None else instance.__dict__.get(self.name, self.default)

    def __set__(self, instance: Any, value: Any) -> None:
        instance.__dict__[self.name] = value if self.check is None else self.check(value)


def become(name: str, kind: type) -> None:
    """Gives the module properties: they are looked up in its class."""
    module: ModuleType = sys.modules[name]
    module.__class__ = kind


def device_index(kind: str, device: Any, optional: bool = False, allow_cpu: bool = False) -> int | None:
    """The index that a device argument names: an int, "cuda:1", a torch.device. None where it names none and may."""
    from ._device import device as make

    if isinstance(device, int) and not isinstance(device, bool):
        return device
    if isinstance(device, str):
        device = make(device)
    if isinstance(device, make):
        if allow_cpu and device.type == "cpu":
            return -1
        if device.type != kind:
            raise ValueError(f"Expected a {kind} device, but got: {device}")
        if device.index is not None or optional:
            return device.index
    elif device is None and optional:
        return None
    raise ValueError(f"Expected a torch.device with a specified index or an integer, but got:{device}")

"""`torch.get_device_module`: which module speaks for a device."""

from __future__ import annotations

from types import ModuleType
from typing import Any


def get_device_module(device: Any = None) -> ModuleType:
    """The module of a device (`torch.cpu`, `torch.<accelerator>`); without one, that of the accelerator that is
    here, else `torch.cpu`.

    >>> torch.get_device_module("cpu").is_available()
    True
    """
    from importlib import import_module

    from . import _accelerators, accelerator
    from ._device import device as make

    if device is None:
        found = accelerator.current_accelerator()
        name = "cpu" if found is None else found.type
    elif isinstance(device, (str, make)):
        name = make(device).type
    else:
        raise RuntimeError(f"Invalid value of device '{device}', expect torch.device, str, or None")
    backend = _accelerators.find(name)
    try:
        return import_module(f"{__package__}.{name}") if backend is None else backend.module()
    except (ModuleNotFoundError, AttributeError):
        raise RuntimeError(
            f"Device '{device}' does not have a corresponding module registered as 'torch.{name}'."
        ) from None

"""What accelerators add to tensors, storages and modules: `x.name()`, `x.is_name`, `torch.name`, for every
accelerator.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from .. import _accelerators, _device
from .._tensor import Tensor
from .memory_methods import UntypedStorage

_ROOT = __name__.partition(".")[0]


def resolve_device(name: str, device: Any) -> _device.device:
    """The device that `x.name(device)` means: an index, a device, or the calling thread's."""
    return (
        _device.device(name, device)
        if isinstance(device, int)
        else _device.device(device if device is not None else name)
    )


def _mover(name: str) -> Any:
    def move(self: Tensor, device: Any = None, non_blocking: bool = False, memory_format: Any = None) -> Tensor:
        moved: Tensor = self.to(resolve_device(name, device), non_blocking=non_blocking, memory_format=memory_format)
        return moved

    move.__name__, move.__qualname__, move.__doc__ = (
        name,
        f"Tensor.{name}",
        f"The tensor on a device '{name}', the current one by default.",
    )
    return move


def _storage_mover(name: str) -> Any:
    def move(self: UntypedStorage, device: Any = None) -> UntypedStorage:
        return self.to(resolve_device(name, device))

    move.__name__, move.__qualname__, move.__doc__ = name, f"UntypedStorage.{name}", f"The bytes on a device '{name}'."
    return move


def module_mover(name: str) -> Any:
    """The method `Module.name`."""

    def move(self: Any, device: int | str | None = None) -> Any:
        where = resolve_device(name, device)
        return self._apply(lambda t: t.to(where))

    move.__name__, move.__qualname__, move.__doc__ = name, f"Module.{name}", f"Moves everything to a device '{name}'."
    return move


def add_tensor_methods(name: str) -> None:
    """`Tensor.name()` and `Tensor.is_name`."""
    is_there = property(lambda self: self.device.type == name, doc=f"Whether the tensor is on a device '{name}'.")
    setattr(Tensor, name, _mover(name))
    setattr(Tensor, f"is_{name}", is_there)


def add_storage_methods(name: str) -> None:
    """`UntypedStorage.name()`."""
    setattr(UntypedStorage, name, _storage_mover(name))


def _add_methods(name: str) -> None:
    add_tensor_methods(name)
    add_storage_methods(name)


def install() -> None:
    """Makes the methods of all accelerators, those to come included."""
    _accelerators.each_name(_add_methods)


def register_device_module(device_type: str, module: ModuleType) -> None:
    """Makes a module `torch.<device_type>`. RuntimeError where there is one already."""
    name = _device.device(device_type).type
    root = sys.modules[_ROOT]
    if name in root.__dict__:
        raise RuntimeError(f"The runtime module of '{name}' has already been registered with '{root.__dict__[name]}'")
    setattr(root, name, module)
    for package in (_ROOT, "torch"):
        if sys.modules.get(package) is root:
            sys.modules[f"{package}.{name}"] = module


def device_module(name: str) -> Any:
    """What `torch.<name>` is for an accelerator; None where the name is none."""
    backend = _accelerators.find(name)
    return None if backend is None else backend.module()

"""Devices of other packages: `torch.utils.rename_privateuse1_backend` and what belongs to it, and `register_backend`.

A package ships a device by deriving from `Backend` and calling `register_backend(MyBackend())`
(docs/adding-a-device.md). PyTorch's own way works beside it: rename the reserved device type `privateuseone`,
register a module for it, generate its methods. What has no `Backend` then is a device that can be named and asked,
and has no kernels.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import _accelerators
from .._accelerators import Backend

__all__ = ["Backend", "generate_methods_for_privateuse1_backend", "register_backend", "rename_privateuse1_backend"]

RESERVED = "privateuseone"
_renamed = ""  # what the reserved type is called; empty: by its own name
_generated: set[tuple[str, str]] = set()


class ModuleBackend(Backend):
    """A device that only a module registered by `torch._register_device_module` tells about, until a backend with
    kernels is registered under its name."""

    is_reserved = True

    def __init__(self, name: str) -> None:
        self.name = name

    def module(self) -> Any:
        import sys

        found = sys.modules[__name__.partition(".")[0]].__dict__.get(self.name)
        if found is None:
            raise AttributeError(
                f"torch has no attribute '{self.name}': register a module with torch._register_device_module"
            )
        return found

    def _ask(self, function: str, otherwise: Any) -> Any:
        try:
            return getattr(self.module(), function)()
        except AttributeError:
            return otherwise

    def is_available(self) -> bool:
        return bool(self._ask("is_available", False))

    def device_count(self) -> int:
        return int(self._ask("device_count", 0))

    def current_index(self) -> int:
        return int(self._ask("current_device", 0))

    def synchronize(self) -> None:
        self._ask("synchronize", None)

    def box(self, op: Any) -> Any:
        def refuse(*args: Any) -> Any:
            backend = _accelerators.find(self.name)
            if backend is not None and backend is not self:  # registered since
                return backend.box(op)(*args)
            raise NotImplementedError(
                f"Could not run '{op.event}' with arguments from the '{self.name}' backend: it has no kernels. "
                "Register some with torch.utils.backend_registration.register_backend."
            )

        return refuse


def register_backend(backend: Backend) -> Backend:
    """Makes a device known: its name, key, kernels, memory, streams, generators and profiler source, as the backend
    tells them. One that carries the name given to `rename_privateuse1_backend` replaces the reserved
    device.
    """
    return _accelerators.register(backend)


def rename_privateuse1_backend(backend_name: str) -> None:
    """Gives the device type that PyTorch reserves for others (`privateuseone`) a name.

    Once: another name is a RuntimeError.
    """
    global _renamed
    if _renamed and _renamed != backend_name:
        raise RuntimeError(f"torch.register_privateuse1_backend() has already been set! Current backend: {_renamed}")
    if backend_name in _accelerators.TAKEN:
        raise RuntimeError(f"Cannot register privateuse1 backend with in-tree device name: {backend_name}")
    if not _accelerators.knows(backend_name):
        _accelerators.register(ModuleBackend(backend_name))
    _renamed = backend_name


def privateuse1_name() -> str:
    """What the reserved device type is called."""
    return _renamed or RESERVED


def generate_methods_for_privateuse1_backend(
    for_tensor: bool = True,
    for_module: bool = True,
    for_packed_sequence: bool = True,
    for_storage: bool = False,
    unsupported_dtype: Sequence[Any] | None = None,
) -> None:
    """Makes the methods of the renamed device: `Tensor.name()`, `Tensor.is_name`, `Module.name()` and the like, as
    asked for. They are there already for backends that registered themselves; a second call is a RuntimeError, as in
    PyTorch.
    """
    if not _renamed:
        raise RuntimeError(
            "generate_methods_for_privateuse1_backend() needs a name: call rename_privateuse1_backend() first"
        )
    from .._python import devices

    wanted = {
        "Tensor": for_tensor,
        "Module": for_module,
        "PackedSequence": for_packed_sequence,
        "UntypedStorage": for_storage,
    }
    for kind in (kind for kind, is_wanted in wanted.items() if is_wanted):
        if (kind, _renamed) in _generated:
            raise RuntimeError(f"The custom device module of {kind} has already been registered with {_renamed}")
        _generated.add((kind, _renamed))
    if for_tensor:
        devices.add_tensor_methods(_renamed)
    if for_storage:
        devices.add_storage_methods(_renamed)

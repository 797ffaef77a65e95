"""The members of Tensor that belong to its memory: pinned, shared and of which storage."""

from __future__ import annotations

from typing import Any

from .. import _accelerators, _device
from .._keys import CPU, META
from .._storage import taken
from .._tensor import Tensor, wrap
from .members import method
from .untyped_storage import UntypedStorage


@method
def pin_memory(self: Tensor, device: Any = None) -> Tensor:
    """A copy in host memory that an accelerator can reach directly; the tensor itself if it lies there already."""
    if not self._keys & CPU:
        raise RuntimeError(f"cannot pin '{self.type()}' only dense CPU tensors can be pinned")
    if not _accelerators.available():
        raise RuntimeError("Cannot access accelerator device when none is available.")
    return self if self.is_pinned() else _pinned_copy(self, None if device is None else _device.device(device).type)


def _pinned_copy(t: Tensor, name: str | None = None) -> Tensor:
    """A copy in pinned memory of the named accelerator, or of the first that has some."""
    for backend in _accelerators.available():
        if name in (None, backend.name) and (array := backend.pinned_like(t._array)) is not None:
            return taken(wrap(array, t.dtype))
    raise RuntimeError(
        f"no accelerator that is available here ({', '.join(b.name for b in _accelerators.available())}) has pinned "
        "memory"
    )


def pinned_result(made: Tensor) -> Tensor:
    """The fresh tensor of a call with `pin_memory=True`, in pinned memory."""
    if made._keys & META:
        return made
    if not made._keys & CPU:
        raise RuntimeError("Only dense CPU tensors can be pinned")
    if not _accelerators.available():
        raise RuntimeError(
            "pin_memory=True requires a CUDA or other accelerator backend; no pinned memory allocator is available on "
            "this system."
        )
    return _pinned_copy(made)


@method
def is_pinned(self: Tensor, device: Any = None) -> bool:
    """Whether the tensor lies in host memory that an accelerator reaches directly.

    >>> torch.ones(1).is_pinned()
    False
    """
    if not self._keys & CPU:
        return False
    backends, owner = _accelerators.loaded_backends(), self._array.base
    while owner is not None and not any(backend.is_pinned(owner) for backend in backends):
        owner = getattr(owner, "base", None)
    return owner is not None


@method
def record_stream(self: Tensor, stream: Any) -> None:
    """Says that a stream uses the tensor's memory, so that it is not reused before the stream has passed."""
    backend = _accelerators.of_keys(self._keys)
    if backend is not None:
        backend.record_use(self._array, stream)


@method
def is_shared(self: Tensor) -> bool:
    """Whether the tensor lies in memory that other processes can see.

    >>> torch.ones(1).is_shared()
    False
    """
    from .shared_memory import block_of

    return block_of(self._array) is not None


@method
def share_memory_(self: Tensor) -> Tensor:
    """Moves the tensor into memory that other processes can see. Views that were made before stay where they are.

    >>> torch.ones(1).share_memory_().is_shared()
    True
    """
    from .shared_memory import share

    if self.is_cpu:
        share(self)
    return self


@method
def untyped_storage(self: Tensor) -> UntypedStorage:
    """The storage that this tensor and its views share.

    >>> torch.ones(3).untyped_storage().nbytes()
    12
    """
    return UntypedStorage(self)


@method
def storage(self: Tensor) -> Any:
    """The same, as elements of the tensor's type."""
    from importlib import import_module

    return import_module(f"{__name__.partition('.')[0]}.storage").TypedStorage(
        wrap_storage=UntypedStorage(self), dtype=self.dtype
    )

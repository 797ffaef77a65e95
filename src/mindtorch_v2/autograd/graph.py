"""The recorded graph: nodes, and hooks on what they save."""

from __future__ import annotations

from typing import Any

from .._autograd.node import Node as Node
from .._dispatch import modes
from .._tensor import Tensor

__all__ = ["Node", "saved_tensors_hooks", "save_on_cpu", "disable_saved_tensors_hooks"]


class saved_tensors_hooks(modes.Switch):
    """While active, every tensor saved for the backward pass goes through `pack_hook`, and comes back through
    `unpack_hook`.
    """

    _special = True

    def __init__(self, pack_hook: Any, unpack_hook: Any) -> None:
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook
        self._changes = {"saved_hooks": ((pack_hook, unpack_hook),)}

    def __enter__(self) -> None:
        if modes.state.saved_hooks_error is not None:
            raise RuntimeError(modes.state.saved_hooks_error)
        super().__enter__()


class save_on_cpu(saved_tensors_hooks):
    """Saves tensors in host memory and brings them back to their device for the backward pass."""

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        def pack(t: Tensor) -> Any:
            return t.device, t.cpu()

        def unpack(packed: Any) -> Tensor:
            device, t = packed
            return t.to(device)

        super().__init__(pack, unpack)


class disable_saved_tensors_hooks(modes.Switch):
    """Within this block, setting hooks on saved tensors is an error with the given message, and so is beginning the
    block where such hooks are set.

    >>> with torch.autograd.graph.disable_saved_tensors_hooks("no hooks here"):
    ...     with torch.autograd.graph.save_on_cpu():
    ...         pass
    Traceback (most recent call last):
    RuntimeError: no hooks here
    """

    _special = False

    def __init__(self, error_message: str) -> None:
        self._changes = {"saved_hooks_error": error_message}

    def __enter__(self) -> None:
        if modes.state.saved_hooks:
            raise RuntimeError(self._changes["saved_hooks_error"])
        super().__enter__()

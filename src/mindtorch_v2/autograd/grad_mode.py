"""Switches for recording gradients."""

from __future__ import annotations

from typing import Any

from .._autograd.grad_mode import enable_grad, inference_mode, no_grad, set_grad_enabled

__all__ = ["enable_grad", "inference_mode", "no_grad", "set_grad_enabled", "set_multithreading_enabled"]
_multithreading = [True]


class set_multithreading_enabled:  # noqa: N801 - PyTorch's name
    """Whether backward may use several threads: as a call, or for a block.

    The engine uses the calling thread either way; what was set can be read back.

    >>> with torch.autograd.set_multithreading_enabled(False):
    ...     torch.ones(1, requires_grad=True).sum().backward()
    """

    def __init__(self, mode: bool) -> None:
        self.prev, self.mode = _multithreading[0], mode
        _multithreading[0] = mode

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: Any) -> None:
        _multithreading[0] = self.prev

    def clone(self) -> set_multithreading_enabled:
        """The same switch for another block."""
        return type(self)(self.mode)


def is_multithreading_enabled() -> bool:
    """What `set_multithreading_enabled` was last told."""
    return _multithreading[0]

"""Methods of tensors and modules that name devices which are not here: they ask for one, and are refused, as in
PyTorch.
"""

from __future__ import annotations

from typing import Any

from .. import _device
from .._tensor import Tensor


def _mover(kind: str) -> Any:
    def move(self: Tensor, device: Any = None, non_blocking: bool = False, memory_format: Any = None) -> Any:
        where = _device.device(kind, device) if isinstance(device, int) else _device.device(device or kind)
        return self.to(where, non_blocking=non_blocking)

    # for pickles
    move.__name__, move.__qualname__, move.__module__ = kind, f"Tensor.{kind}", __name__.partition(".")[0]
    move.__doc__ = f"The tensor on {kind}: refused, there is no such device."
    return move


def install() -> None:
    """Puts the methods into Tensor."""
    for kind in ("cuda", "xpu", "mtia", "ipu"):
        setattr(Tensor, kind, _mover(kind))
    for name in ("is_xpu", "is_mps", "is_mtia", "is_xla", "is_ipu", "is_vulkan", "is_maia"):
        setattr(Tensor, name, False)

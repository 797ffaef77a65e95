"""Exchange of tensors with other libraries, without copies, by the DLPack protocol: `torch.utils.dlpack`."""

from __future__ import annotations

from typing import Any

from .._python.dlpack import DLDeviceType, from_dlpack
from .._tensor import Tensor

__all__ = ["DLDeviceType", "from_dlpack", "to_dlpack"]


def to_dlpack(tensor: Tensor) -> Any:
    """A capsule over the tensor's memory, which can be consumed once.

    >>> torch.from_dlpack(torch.to_dlpack(torch.tensor([1, 2])))
    tensor([1, 2])
    """
    return tensor.__dlpack__()

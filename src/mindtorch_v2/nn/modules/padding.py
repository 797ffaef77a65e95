"""Padding layers: `padding` is one number for all borders, or (before, after) from the last dimension backwards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..._tensor import Tensor
from .. import functional as F
from .module import Module
from .utils import _ntuple

__all__ = [
    f"{kind}Pad{n}d" for kind in ("Circular", "Constant", "Reflection", "Replication", "Zero") for n in (1, 2, 3)
]


class _Pad(Module):
    """Pads the last `_n` dimensions."""

    _n: int
    _mode: str
    padding: Sequence[int]

    def __init__(self, padding: Any) -> None:
        super().__init__()
        self.padding = _ntuple(2 * self._n)(padding)

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, self._mode)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _ConstantPadNd(_Pad):
    _mode = "constant"

    def __init__(self, padding: Any, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_ConstantPadNd):
    """Pads (*, L) with a value.

    >>> nn.ConstantPad1d(1, 9.)(torch.tensor([[1., 2.]]))
    tensor([[9., 1., 2., 9.]])
    """

    _n = 1


class ConstantPad2d(_ConstantPadNd):
    """Pads (*, H, W) with a value.

    >>> nn.ConstantPad2d(1, 9.)(torch.ones(1, 2, 2)).shape
    torch.Size([1, 4, 4])
    """

    _n = 2


class ConstantPad3d(_ConstantPadNd):
    """Pads (*, D, H, W) with a value.

    >>> nn.ConstantPad3d(1, 9.)(torch.ones(1, 2, 2, 2)).shape
    torch.Size([1, 4, 4, 4])
    """

    _n = 3


class _ZeroPad(_ConstantPadNd):
    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ZeroPad1d(_ZeroPad):
    """Pads (*, L) with zeros.

    >>> nn.ZeroPad1d(1)(torch.tensor([[1., 2.]]))
    tensor([[0., 1., 2., 0.]])
    """

    _n = 1


class ZeroPad2d(_ZeroPad):
    """Pads (*, H, W) with zeros.

    >>> nn.ZeroPad2d(1)(torch.ones(1, 2, 2)).shape
    torch.Size([1, 4, 4])
    """

    _n = 2


class ZeroPad3d(_ZeroPad):
    """Pads (*, D, H, W) with zeros.

    >>> nn.ZeroPad3d(1)(torch.ones(1, 2, 2, 2)).shape
    torch.Size([1, 4, 4, 4])
    """

    _n = 3


class _ReflectionPadNd(_Pad):
    _mode = "reflect"


class ReflectionPad1d(_ReflectionPadNd):
    """Pads (*, L) with the mirror image of its border.

    >>> nn.ReflectionPad1d(1)(torch.tensor([[1., 2., 3.]]))
    tensor([[2., 1., 2., 3., 2.]])
    """

    _n = 1


class ReflectionPad2d(_ReflectionPadNd):
    """Pads (*, H, W) with the mirror image of its border.

    >>> nn.ReflectionPad2d(1)(torch.ones(1, 2, 2)).shape
    torch.Size([1, 4, 4])
    """

    _n = 2


class ReflectionPad3d(_ReflectionPadNd):
    """Pads (*, D, H, W) with the mirror image of its border.

    >>> nn.ReflectionPad3d(1)(torch.ones(1, 2, 2, 2)).shape
    torch.Size([1, 4, 4, 4])
    """

    _n = 3


class _ReplicationPadNd(_Pad):
    _mode = "replicate"


class ReplicationPad1d(_ReplicationPadNd):
    """Pads (*, L) by repeating its border.

    >>> nn.ReplicationPad1d(1)(torch.tensor([[1., 2., 3.]]))
    tensor([[1., 1., 2., 3., 3.]])
    """

    _n = 1


class ReplicationPad2d(_ReplicationPadNd):
    """Pads (*, H, W) by repeating its border.

    >>> nn.ReplicationPad2d(1)(torch.ones(1, 2, 2)).shape
    torch.Size([1, 4, 4])
    """

    _n = 2


class ReplicationPad3d(_ReplicationPadNd):
    """Pads (*, D, H, W) by repeating its border.

    >>> nn.ReplicationPad3d(1)(torch.ones(1, 2, 2, 2)).shape
    torch.Size([1, 4, 4, 4])
    """

    _n = 3


class _CircularPadNd(_Pad):
    _mode = "circular"

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() not in (self._n + 1, self._n + 2):
            raise ValueError(f"expected {self._n + 1}D or {self._n + 2}D input (got {input.dim()}D input)")
        return super().forward(input)


class CircularPad1d(_CircularPadNd):
    """Pads (*, L) with what lies at its other end.

    >>> nn.CircularPad1d(1)(torch.tensor([[1., 2., 3.]]))
    tensor([[3., 1., 2., 3., 1.]])
    """

    _n = 1


class CircularPad2d(_CircularPadNd):
    """Pads (*, H, W) with what lies at the other end.

    >>> nn.CircularPad2d(1)(torch.ones(1, 2, 2)).shape
    torch.Size([1, 4, 4])
    """

    _n = 2


class CircularPad3d(_CircularPadNd):
    """Pads (*, D, H, W) with what lies at the other end.

    >>> nn.CircularPad3d(1)(torch.ones(1, 2, 2, 2)).shape
    torch.Size([1, 4, 4, 4])
    """

    _n = 3

"""What losses as layers have in common: `reduction`, and the weight of classes."""

from __future__ import annotations

from ..._tensor import Tensor
from .. import _reduction
from .module import Module

Flag = bool | None


class _Loss(Module):
    reduction: str

    def __init__(self, size_average: Flag = None, reduce: Flag = None, reduction: str = "mean") -> None:
        super().__init__()
        if size_average is not None or reduce is not None:
            reduction = _reduction.legacy_get_string(size_average, reduce)
        self.reduction = reduction


class _WeightedLoss(_Loss):
    """A loss with a rescaling weight, kept as a buffer."""

    weight: Tensor | None

    def __init__(
        self, weight: Tensor | None = None, size_average: Flag = None, reduce: Flag = None, reduction: str = "mean"
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)

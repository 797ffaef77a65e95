"""Learning rates that change over the steps: `torch.optim.lr_scheduler`."""

from ._composed_schedules import ChainedScheduler, CosineAnnealingWarmRestarts, CyclicLR, OneCycleLR, SequentialLR
from ._plateau import ReduceLROnPlateau
from ._scheduler import LRScheduler
from ._simple_schedules import (
    ConstantLR,
    CosineAnnealingLR,
    ExponentialLR,
    LambdaLR,
    LinearLR,
    MultiplicativeLR,
    MultiStepLR,
    PolynomialLR,
    StepLR,
)

_LRScheduler = LRScheduler  # its old name
__all__ = [
    "ChainedScheduler",
    "ConstantLR",
    "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts",
    "CyclicLR",
    "ExponentialLR",
    "LambdaLR",
    "LinearLR",
    "LRScheduler",
    "MultiplicativeLR",
    "MultiStepLR",
    "OneCycleLR",
    "PolynomialLR",
    "ReduceLROnPlateau",
    "SequentialLR",
    "StepLR",
]

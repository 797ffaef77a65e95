"""`torch.optim.adadelta`: where PyTorch has the class."""

from __future__ import annotations

from .adaptive import Adadelta

__all__ = ["Adadelta"]

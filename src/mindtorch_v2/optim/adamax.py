"""`torch.optim.adamax`: where PyTorch has the class."""

from __future__ import annotations

from .adaptive import Adamax

__all__ = ["Adamax"]

"""`torch.optim.radam`: where PyTorch has the class."""

from __future__ import annotations

from .adaptive import RAdam

__all__ = ["RAdam"]

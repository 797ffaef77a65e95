"""`torch.optim.nadam`: where PyTorch has the class."""

from __future__ import annotations

from .adaptive import NAdam

__all__ = ["NAdam"]

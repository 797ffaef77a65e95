"""`torch.optim.asgd`: where PyTorch has the class."""

from __future__ import annotations

from .averaging import ASGD

__all__ = ["ASGD"]

"""`torch.optim.rprop`: where PyTorch has the class."""

from __future__ import annotations

from .averaging import Rprop

__all__ = ["Rprop"]

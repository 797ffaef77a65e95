"""`torch.optim.rmsprop`: where PyTorch has the class."""

from __future__ import annotations

from .adaptive import RMSprop

__all__ = ["RMSprop"]

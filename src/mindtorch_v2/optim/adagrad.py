"""`torch.optim.adagrad`: where PyTorch has the class."""

from __future__ import annotations

from .adaptive import Adagrad

__all__ = ["Adagrad"]

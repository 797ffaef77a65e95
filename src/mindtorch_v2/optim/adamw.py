"""`torch.optim.adamw`: the module in which PyTorch keeps AdamW."""

from .adam import AdamW

__all__ = ["AdamW"]

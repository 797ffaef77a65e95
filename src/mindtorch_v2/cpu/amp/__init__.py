"""Mixed precision on the CPU under its former names; `torch.amp` has the ones in use."""

from .autocast_mode import autocast
from .grad_scaler import GradScaler

__all__ = ["GradScaler", "autocast"]

"""`torch.cpu.amp.autocast`: the former name of `torch.amp.autocast("cpu", ...)`."""

from __future__ import annotations

import warnings

from ... import _dtype as dt
from ...amp import autocast_mode

__all__ = ["autocast"]


class autocast(autocast_mode.autocast):
    """A region for the CPU. Deprecated: `torch.amp.autocast("cpu", ...)` is the same."""

    def __init__(self, enabled: bool = True, dtype: dt.dtype = dt.bfloat16, cache_enabled: bool = True) -> None:
        warnings.warn(
            "`torch.cpu.amp.autocast(args...)` is deprecated. Please use `torch.amp.autocast('cpu', args...)` instead.",
            FutureWarning,
            stacklevel=2,
        )
        super().__init__("cpu", dtype=dtype, enabled=enabled, cache_enabled=cache_enabled)

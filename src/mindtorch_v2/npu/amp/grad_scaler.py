"""`torch.npu.amp.GradScaler`: the former name of `torch.amp.GradScaler("npu", ...)`."""

from __future__ import annotations

import warnings

from ...amp import grad_scaler

__all__ = ["GradScaler"]


class GradScaler(grad_scaler.GradScaler):
    """A scaler for NPUs. Deprecated: `torch.amp.GradScaler("npu", ...)` is the same."""

    def __init__(
        self,
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        warnings.warn(
            "`torch.npu.amp.GradScaler(args...)` is deprecated. Please use `torch.amp.GradScaler('npu', args...)` "
            "instead.",
            FutureWarning,
            stacklevel=2,
        )
        super().__init__("npu", init_scale, growth_factor, backoff_factor, growth_interval, enabled)

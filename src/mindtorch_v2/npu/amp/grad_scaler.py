"""`torch.npu.amp.GradScaler`: the former name of `torch.amp.GradScaler("npu", ...)`."""

from __future__ import annotations

from ...amp import former_names

__all__ = ["GradScaler"]


class GradScaler(former_names.GradScaler):
    """A scaler for NPUs. Deprecated: `torch.amp.GradScaler("npu", ...)` is the same."""

    _former_device = "npu"

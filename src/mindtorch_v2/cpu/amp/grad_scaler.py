"""`torch.cpu.amp.GradScaler`: the former name of `torch.amp.GradScaler("cpu", ...)`."""

from __future__ import annotations

from ...amp import former_names

__all__ = ["GradScaler"]


class GradScaler(former_names.GradScaler):
    """A scaler for the CPU. Deprecated: `torch.amp.GradScaler("cpu", ...)` is the same."""

    _former_device = "cpu"

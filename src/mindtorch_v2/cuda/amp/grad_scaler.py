"""`torch.cuda.amp.GradScaler`: the former name of `torch.amp.GradScaler("cuda", ...)`."""

from __future__ import annotations

from ...amp import former_names

__all__ = ["GradScaler"]


class GradScaler(former_names.GradScaler):
    """A scaler for CUDA. Deprecated: `torch.amp.GradScaler("cuda", ...)` is the same."""

    _former_device = "cuda"

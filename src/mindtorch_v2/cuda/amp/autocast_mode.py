"""`torch.cuda.amp.autocast`: the former name of `torch.amp.autocast("cuda", ...)`."""

from __future__ import annotations

from typing import Any

from ... import _dtype as dt
from ...amp import former_names

__all__ = ["autocast", "custom_bwd", "custom_fwd"]


class autocast(former_names.autocast):
    """A region for CUDA. Deprecated: `torch.amp.autocast("cuda", ...)` is the same."""

    _former_device = "cuda"


def custom_fwd(fwd: Any = None, *, cast_inputs: dt.dtype | None = None) -> Any:
    """Deprecated: `torch.amp.custom_fwd(device_type="cuda")` is the same."""
    return former_names.custom_fwd("cuda", fwd, cast_inputs)


def custom_bwd(bwd: Any) -> Any:
    """Deprecated: `torch.amp.custom_bwd(device_type="cuda")` is the same."""
    return former_names.custom_bwd("cuda", bwd)

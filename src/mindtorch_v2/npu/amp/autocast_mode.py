"""`torch.npu.amp.autocast`: the former name of `torch.amp.autocast("npu", ...)`."""

from __future__ import annotations

from typing import Any

from ... import _dtype as dt
from ...amp import former_names

__all__ = ["autocast", "custom_bwd", "custom_fwd"]


class autocast(former_names.autocast):
    """A region for NPUs. Deprecated: `torch.amp.autocast("npu", ...)` is the same."""

    _former_device = "npu"


def custom_fwd(fwd: Any = None, *, cast_inputs: dt.dtype | None = None) -> Any:
    """Deprecated: `torch.amp.custom_fwd(device_type="npu")` is the same."""
    return former_names.custom_fwd("npu", fwd, cast_inputs)


def custom_bwd(bwd: Any) -> Any:
    """Deprecated: `torch.amp.custom_bwd(device_type="npu")` is the same."""
    return former_names.custom_bwd("npu", bwd)

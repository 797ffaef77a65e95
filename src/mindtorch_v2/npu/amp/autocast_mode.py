"""`torch.npu.amp.autocast`: the former name of `torch.amp.autocast("npu", ...)`."""

from __future__ import annotations

import functools
import warnings
from typing import Any

from ... import _dtype as dt
from ...amp import autocast_mode

__all__ = ["autocast", "custom_bwd", "custom_fwd"]


def _warn(name: str) -> None:
    warnings.warn(
        f"`torch.npu.amp.{name}(args...)` is deprecated. Please use `torch.amp.{name}(args..., device_type='npu')` "
        "instead.",
        FutureWarning,
        stacklevel=3,
    )


class autocast(autocast_mode.autocast):
    """A region for NPUs. Deprecated: `torch.amp.autocast("npu", ...)` is the same."""

    def __init__(self, enabled: bool = True, dtype: dt.dtype = dt.float16, cache_enabled: bool = True) -> None:
        warnings.warn(
            "`torch.npu.amp.autocast(args...)` is deprecated. Please use `torch.amp.autocast('npu', args...)` instead.",
            FutureWarning,
            stacklevel=2,
        )
        super().__init__("npu", dtype=dtype, enabled=enabled, cache_enabled=cache_enabled)


def custom_fwd(fwd: Any = None, *, cast_inputs: dt.dtype | None = None) -> Any:
    """Deprecated: `torch.amp.custom_fwd(device_type="npu")` is the same."""
    _warn("custom_fwd")
    return functools.partial(autocast_mode.custom_fwd, device_type="npu")(fwd=fwd, cast_inputs=cast_inputs)


def custom_bwd(bwd: Any) -> Any:
    """Deprecated: `torch.amp.custom_bwd(device_type="npu")` is the same."""
    _warn("custom_bwd")
    return autocast_mode.custom_bwd(bwd, device_type="npu")

"""`torch.cuda.amp.autocast`: the former name of `torch.amp.autocast("cuda", ...)`."""

from __future__ import annotations

import functools
import warnings
from typing import Any

from ... import _dtype as dt
from ...amp import autocast_mode

__all__ = ["autocast", "custom_bwd", "custom_fwd"]


def _warn(name: str) -> None:
    warnings.warn(
        f"`torch.cuda.amp.{name}(args...)` is deprecated. Please use `torch.amp.{name}(args..., device_type='cuda')` "
        "instead.",
        FutureWarning,
        stacklevel=3,
    )


class autocast(autocast_mode.autocast):
    """A region for CUDA. Deprecated: `torch.amp.autocast("cuda", ...)` is the same."""

    def __init__(self, enabled: bool = True, dtype: dt.dtype = dt.float16, cache_enabled: bool = True) -> None:
        warnings.warn(
            "`torch.cuda.amp.autocast(args...)` is deprecated. Please use `torch.amp.autocast('cuda', args...)` "
            "instead.",
            FutureWarning,
            stacklevel=2,
        )
        super().__init__("cuda", dtype=dtype, enabled=enabled, cache_enabled=cache_enabled)


def custom_fwd(fwd: Any = None, *, cast_inputs: dt.dtype | None = None) -> Any:
    """Deprecated: `torch.amp.custom_fwd(device_type="cuda")` is the same."""
    _warn("custom_fwd")
    return functools.partial(autocast_mode.custom_fwd, device_type="cuda")(fwd=fwd, cast_inputs=cast_inputs)


def custom_bwd(bwd: Any) -> Any:
    """Deprecated: `torch.amp.custom_bwd(device_type="cuda")` is the same."""
    _warn("custom_bwd")
    return autocast_mode.custom_bwd(bwd, device_type="cuda")

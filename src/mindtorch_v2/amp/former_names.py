"""What `torch.<device>.amp` has: the former names of classes and decorators of `torch.amp`, for one device each."""

from __future__ import annotations

import functools
import warnings
from typing import Any, ClassVar

from .. import _dtype as dt
from . import autocast_mode, grad_scaler


class GradScaler(grad_scaler.GradScaler):
    """`torch.amp.GradScaler` for the device that a subclass names."""

    _former_device: ClassVar[str]

    def __init__(
        self,
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        _warn_of_class("GradScaler", self._former_device)
        super().__init__(self._former_device, init_scale, growth_factor, backoff_factor, growth_interval, enabled)


class autocast(autocast_mode.autocast):
    """`torch.amp.autocast` for the device that a subclass names."""

    _former_device: ClassVar[str]

    def __init__(self, enabled: bool = True, dtype: dt.dtype = dt.float16, cache_enabled: bool = True) -> None:
        _warn_of_class("autocast", self._former_device)
        super().__init__(self._former_device, dtype=dtype, enabled=enabled, cache_enabled=cache_enabled)


def custom_fwd(device: str, fwd: Any, cast_inputs: dt.dtype | None) -> Any:
    """`torch.amp.custom_fwd` for a device, called by that device's function of the same name."""
    _warn_of_decorator("custom_fwd", device)
    return functools.partial(autocast_mode.custom_fwd, device_type=device)(fwd=fwd, cast_inputs=cast_inputs)


def custom_bwd(device: str, bwd: Any) -> Any:
    """`torch.amp.custom_bwd` for a device, called by that device's function of the same name."""
    _warn_of_decorator("custom_bwd", device)
    return autocast_mode.custom_bwd(bwd, device_type=device)


def _warn_of_class(name: str, device: str) -> None:
    """Points at the line that makes an object of the class."""
    warnings.warn(
        f"`torch.{device}.amp.{name}(args...)` is deprecated. Please use `torch.amp.{name}('{device}', args...)` "
        "instead.",
        FutureWarning,
        stacklevel=3,
    )


def _warn_of_decorator(name: str, device: str) -> None:
    """Points at the line that calls the device's function."""
    warnings.warn(
        f"`torch.{device}.amp.{name}(args...)` is deprecated. Please use "
        f"`torch.amp.{name}(args..., device_type='{device}')` instead.",
        FutureWarning,
        stacklevel=4,
    )

"""`torch.autocast`: a region in which operators of PyTorch's lists compute in a shorter type
(`_dispatch/autocast.py` has the lists).
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from .. import _accelerators, _device
from .. import _dtype as dt
from .._dispatch import autocast as casting
from .._dispatch import modes
from .._tensor import Tensor
from .settings import checked_device, get_autocast_dtype, is_autocast_enabled

__all__ = ["autocast", "autocast_decorator", "custom_bwd", "custom_fwd", "is_autocast_available"]

_SUPPORTED = (dt.bfloat16, dt.float16)


def is_autocast_available(device_type: str) -> bool:
    """Whether regions can be opened for this device type.

    >>> torch.amp.is_autocast_available("cpu")
    True
    """
    return casting.default_type(checked_device(device_type)) is not None


class autocast(modes.Switch):
    """A region, or a decorator for functions, in which operators on devices of a type choose their precision.

    device_type    "cpu" or the name of an accelerator; a region for a device that is not here warns and does nothing
    dtype          the shorter type: bfloat16 or float16; by default what `torch.get_autocast_dtype` says
    enabled        False: nothing is cast inside, also within another region
    cache_enabled  whether the cast of a weight serves all its uses until the outermost region ends

    >>> with torch.autocast("cpu", dtype=torch.bfloat16):
    ...     torch.mm(torch.ones(2, 2), torch.ones(2, 2)).dtype
    torch.bfloat16
    """

    def __init__(
        self, device_type: str, dtype: dt.dtype | None = None, enabled: bool = True, cache_enabled: bool | None = None
    ) -> None:
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        self.fast_dtype = get_autocast_dtype(device_type) if dtype is None else dtype
        if not is_autocast_available(device_type):
            raise RuntimeError(f"User specified an unsupported autocast device_type '{device_type}'")
        self.device = device_type
        self.custom_backend_name = _accelerators.default_name()
        self._cache_enabled = casting.setting().keeps_casts if cache_enabled is None else cache_enabled
        self._enabled = enabled and self._is_usable()

    def _is_usable(self) -> bool:
        if self.device != "cpu" and self.device not in _accelerators.names():
            why = (
                "CUDA is not available or torch_xla is imported"
                if self.device == "cuda"
                else f"there are no {self.device} devices"
            )
            warnings.warn(f"{why}. Disabling autocast.", stacklevel=4)
            return False
        if self.fast_dtype not in _SUPPORTED:
            word = self.device.upper()
            warnings.warn(
                f"In {word} autocast, but the target dtype is not supported. Disabling autocast.\n{word} Autocast only "
                f"supports dtypes of {', '.join(map(repr, _SUPPORTED))} currently.",
                stacklevel=4,
            )
            return False
        return True

    @property
    def _special(self) -> bool:  # type: ignore[override]
        return self._enabled

    @property
    def _changes(self) -> Mapping[str, Any]:  # type: ignore[override]
        now = casting.setting()
        enabled = now.enabled | {self.device} if self._enabled else now.enabled - {self.device}
        return {
            "autocast": casting.Setting(enabled, {**now.types, self.device: self.fast_dtype}, self._cache_enabled),
            "autocast_depth": modes.state.autocast_depth + 1,
        }

    def __enter__(self) -> autocast:  # type: ignore[override]
        super().__enter__()
        return self

    def __exit__(self, *exc: object) -> None:
        super().__exit__(*exc)
        if modes.state.autocast_depth == 0:
            casting.clear_cache()

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return autocast_decorator(self, function)


def autocast_decorator(region: autocast, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, run inside a region like the given one each time it is called."""

    @functools.wraps(function)
    def inside(*args: Any, **kwargs: Any) -> Any:
        with _like(region):
            return function(*args, **kwargs)

    return inside


def _like(region: autocast) -> autocast:
    """A fresh region: one object can be in one block at a time."""
    made: autocast = autocast.__new__(autocast)
    made.__dict__.update(region.__dict__)
    return made


def _enter_autocast(*args: Any) -> autocast:
    """Enters a region that `_exit_autocast` leaves."""
    region = autocast(*args)
    region.__enter__()
    return region


def _exit_autocast(region: autocast) -> None:
    region.__exit__(None, None, None)


# --- custom functions
def _cast(value: Any, device_type: str, dtype: dt.dtype) -> Any:
    """Floating tensors on the device (float64 left out) in another type, wherever they stand in lists, tuples and
    mappings.
    """
    if isinstance(value, Tensor):
        fits = value.is_floating_point() and value.device.type == device_type and value.dtype is not dt.float64
        return value.to(dtype) if fits else value
    if isinstance(value, (str, bytes, np.ndarray)):
        return value
    if isinstance(value, Mapping):
        return {_cast(k, device_type, dtype): _cast(v, device_type, dtype) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_cast(v, device_type, dtype) for v in value)
    return value


def _check_device_type(device_type: Any) -> str:
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
    return _device.device(device_type).type


def custom_fwd(fwd: Callable[..., Any] | None = None, *, device_type: str, cast_inputs: dt.dtype | None = None) -> Any:
    """Decorates `forward` of an autograd Function. With `cast_inputs`, floating inputs are cast to that type where
    the caller is in a region, and the function runs outside of it; else it runs as its caller does. `custom_bwd`
    lets `backward` do the same.
    """
    where = _check_device_type(device_type)
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def forward(*args: Any, **kwargs: Any) -> Any:
        args[0]._dtype = get_autocast_dtype(where)
        if cast_inputs is None or not is_autocast_enabled(where):
            args[0]._fwd_used_autocast = cast_inputs is None and is_autocast_enabled(where)
            return fwd(*args, **kwargs)
        args[0]._fwd_used_autocast = False
        with autocast(where, enabled=False):
            return fwd(*_cast(args, where, cast_inputs), **_cast(kwargs, where, cast_inputs))

    return forward


def custom_bwd(bwd: Callable[..., Any] | None = None, *, device_type: str) -> Any:
    """Decorates `backward` of an autograd Function whose `forward` has `custom_fwd`: it runs in the region that
    forward ran in.
    """
    where = _check_device_type(device_type)
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def backward(*args: Any, **kwargs: Any) -> Any:
        with autocast(where, enabled=args[0]._fwd_used_autocast, dtype=args[0]._dtype):
            return bwd(*args, **kwargs)

    return backward

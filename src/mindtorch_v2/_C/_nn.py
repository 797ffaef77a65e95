"""`torch._C._nn`: operators of `nn`, and how the arguments of `to` are read."""

from __future__ import annotations

from typing import Any

from .. import _dtype as dt
from .._device import device as _device
from .._dispatch.namespace import function_of
from .._python.movement import read_in_any_order


def _parse_to(*args: Any, **kwargs: Any) -> tuple[_device | None, dt.dtype | None, bool, Any]:
    """(device, dtype, non_blocking, memory_format) that a call of `to` names."""
    device, dtype = kwargs.pop("device", None), kwargs.pop("dtype", None)
    non_blocking, memory_format = kwargs.pop("non_blocking", False), kwargs.pop("memory_format", None)
    kwargs.pop("copy", None)
    if kwargs:
        raise TypeError(f"to() got an unexpected keyword argument '{next(iter(kwargs))}'")
    device, dtype, non_blocking = read_in_any_order(args, device, dtype, non_blocking)
    return None if device is None else _device(device), dtype, non_blocking, memory_format


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return function_of(name, "function")

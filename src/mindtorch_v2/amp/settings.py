"""The functions of `torch` that ask about or change a thread's autocast setting: `is_autocast_enabled`,
`set_autocast_dtype`, ...
"""

from __future__ import annotations

from typing import Any

from .. import _accelerators
from .. import _dtype as dt
from .._device import NAMED_BY_PYTORCH
from .._dispatch import autocast as casting
from .._dispatch import modes

__all__ = [
    "autocast_decrement_nesting",
    "autocast_increment_nesting",
    "clear_autocast_cache",
    "get_autocast_cpu_dtype",
    "get_autocast_dtype",
    "get_autocast_gpu_dtype",
    "is_autocast_cache_enabled",
    "is_autocast_cpu_enabled",
    "is_autocast_enabled",
    "set_autocast_cache_enabled",
    "set_autocast_cpu_dtype",
    "set_autocast_cpu_enabled",
    "set_autocast_dtype",
    "set_autocast_enabled",
    "set_autocast_gpu_dtype",
]


def checked_device(device_type: str) -> str:
    """The device type itself; RuntimeError where there is none of this name."""
    if device_type not in _accelerators.names() and device_type not in NAMED_BY_PYTORCH:
        raise RuntimeError(
            f"Expected one of {', '.join(NAMED_BY_PYTORCH)} device type at start of device string: {device_type}"
        )
    return device_type


class _Raised(modes.Switch):
    """Keeps calls on the general path for as long as the thread casts outside of any block."""

    _changes: dict[str, Any] = {}
    _special = True


def _change(
    enabled: frozenset[str] | None = None, types: dict[str, dt.dtype] | None = None, keeps_casts: bool | None = None
) -> None:
    """Changes the calling thread's setting until it is changed again."""
    now = casting.setting()
    after = casting.Setting(
        now.enabled if enabled is None else enabled,
        now.types if types is None else types,
        now.keeps_casts if keeps_casts is None else keeps_casts,
    )
    state = modes.state
    if after.enabled and state.autocast_raised is None:
        state.autocast_raised = _Raised()
        state.autocast_raised.__enter__()
    state.autocast = after
    if not after.enabled and state.autocast_raised is not None:
        raised, state.autocast_raised = state.autocast_raised, None
        raised.__exit__()


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """Whether the calling thread casts for this device type.

    >>> torch.is_autocast_enabled("cpu")
    False
    """
    if casting.default_type(checked_device(device_type)) is None:
        raise RuntimeError("unknown device type for autocast in get_autocast_dispatch_key_from_device_type")
    return device_type in casting.setting().enabled


def set_autocast_enabled(device_type: Any, enabled: bool | None = None) -> None:
    """Switches casting for a device type on or off in the calling thread (for CUDA where only a bool is given).

    >>> torch.set_autocast_enabled("cpu", False)
    """
    if enabled is None:
        device_type, enabled = "cuda", device_type
    now = casting.setting().enabled
    _change(enabled=now | {checked_device(device_type)} if enabled else now - {device_type})


def get_autocast_dtype(device_type: str) -> dt.dtype:
    """The type that regions for this device type cast to in the calling thread.

    >>> torch.get_autocast_dtype("cpu")
    torch.bfloat16
    """
    if casting.default_type(checked_device(device_type)) is None:
        raise RuntimeError("unsupported scalarType")
    return casting.setting().type_of(device_type)


def set_autocast_dtype(device_type: str, dtype: dt.dtype) -> None:
    """Sets the type that regions for this device type cast to in the calling thread.

    >>> torch.set_autocast_dtype("cpu", torch.bfloat16)
    """
    if not isinstance(dtype, dt.dtype):
        raise TypeError(
            f"set_autocast_dtype(): argument 'dtype' (position 2) must be torch.dtype, not {type(dtype).__name__}"
        )
    _change(types={**casting.setting().types, checked_device(device_type): dtype})


def is_autocast_cache_enabled() -> bool:
    """Whether casts of weights are kept until the outermost region ends.

    >>> torch.is_autocast_cache_enabled()
    True
    """
    return casting.setting().keeps_casts


def set_autocast_cache_enabled(enabled: bool) -> None:
    """Sets whether casts of weights are kept until the outermost region ends.

    >>> torch.set_autocast_cache_enabled(True)
    """
    _change(keeps_casts=bool(enabled))


def clear_autocast_cache() -> None:
    """Drops the casts of weights that the calling thread keeps.

    >>> torch.clear_autocast_cache()
    """
    casting.clear_cache()


def autocast_increment_nesting() -> int:
    """Counts a region that is entered; returns how deep the calling thread is in regions.

    >>> torch.autocast_increment_nesting(), torch.autocast_decrement_nesting()
    (1, 0)
    """
    modes.state.autocast_depth += 1
    return modes.state.autocast_depth


def autocast_decrement_nesting() -> int:
    """Counts a region that is left; returns how deep the calling thread still is in regions.

    >>> torch.autocast_increment_nesting(), torch.autocast_decrement_nesting()
    (1, 0)
    """
    modes.state.autocast_depth -= 1
    return modes.state.autocast_depth


def is_autocast_cpu_enabled() -> bool:
    """Whether the calling thread casts on the CPU.

    >>> torch.is_autocast_cpu_enabled()
    False
    """
    return is_autocast_enabled("cpu")


def set_autocast_cpu_enabled(enabled: bool) -> None:
    """Switches casting on the CPU on or off in the calling thread.

    >>> torch.set_autocast_cpu_enabled(False)
    """
    set_autocast_enabled("cpu", enabled)


def get_autocast_cpu_dtype() -> dt.dtype:
    """The type that regions for the CPU cast to in the calling thread.

    >>> torch.get_autocast_cpu_dtype()
    torch.bfloat16
    """
    return get_autocast_dtype("cpu")


def set_autocast_cpu_dtype(dtype: dt.dtype) -> None:
    """Sets the type that regions for the CPU cast to in the calling thread.

    >>> torch.set_autocast_cpu_dtype(torch.bfloat16)
    """
    set_autocast_dtype("cpu", dtype)


def get_autocast_gpu_dtype() -> dt.dtype:
    """The type that regions for CUDA cast to in the calling thread.

    >>> torch.get_autocast_gpu_dtype()
    torch.float16
    """
    return get_autocast_dtype("cuda")


def set_autocast_gpu_dtype(dtype: dt.dtype) -> None:
    """Sets the type that regions for CUDA cast to in the calling thread.

    >>> torch.set_autocast_gpu_dtype(torch.float16)
    """
    set_autocast_dtype("cuda", dtype)

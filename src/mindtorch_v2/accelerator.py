"""`torch.accelerator`: whichever accelerator is here, the one in use before others; where there is none, calls raise
as in PyTorch.
"""

from __future__ import annotations

import warnings
from typing import Any

from . import _accelerators
from ._device import device as _device

_NONE = "Cannot access accelerator device when none is available."


def _present() -> Any:
    """The module of the accelerator, `torch.<name>`, or None."""
    found = _accelerators.available()
    return found[0].module() if found else None


def _module() -> Any:
    """The module of the accelerator; RuntimeError if there is none."""
    found = _present()
    if found is None:
        raise RuntimeError(_NONE)
    return found


def is_available() -> bool:
    """Whether an accelerator can be used."""
    return bool(_accelerators.available())


def current_accelerator(check_available: bool = False) -> _device | None:
    """The device type of the accelerator where one can be used, else None."""
    found = _accelerators.available()
    return _device(found[0].name) if found else None


def device_count() -> int:
    """How many devices the accelerator has."""
    found = _present()
    return 0 if found is None else found.device_count()


def current_device_index() -> int:
    """The index of the calling thread's device."""
    return _module().current_device()


def set_device_index(device: Any, /) -> None:
    """Chooses the calling thread's device; a negative index leaves it as it is."""
    module = _module()
    if not (isinstance(device, int) and device < 0):
        module.set_device(device)


def current_device_idx() -> int:
    """The old name of `current_device_index`."""
    warnings.warn("Use `current_device_index` instead.", FutureWarning, stacklevel=2)
    return current_device_index()


def set_device_idx(device: Any, /) -> None:
    """The old name of `set_device_index`."""
    warnings.warn("Use `set_device_index` instead.", FutureWarning, stacklevel=2)
    set_device_index(device)


class device_index:
    """A block in which a device is the current one; None changes nothing."""

    def __init__(self, device: int | None, /) -> None:
        self.idx = device
        self.prev_idx = -1

    def __enter__(self) -> None:
        if self.idx is not None:
            self.prev_idx = current_device_index()
            set_device_index(self.idx)

    def __exit__(self, *exc: object) -> None:
        if self.idx is not None:
            set_device_index(self.prev_idx)


def current_stream(device: Any = None, /) -> Any:
    """The stream that the calling thread's work goes to."""
    return _module().current_stream(device)


def set_stream(stream: Any) -> None:
    """Chooses the stream that the calling thread's work goes to."""
    _module().set_stream(stream)


def synchronize(device: Any = None, /) -> None:
    """Waits until the device has done its work."""
    _module().synchronize(device)


def empty_cache() -> None:
    """Gives memory that is kept for reuse back to the device."""
    _module().empty_cache()


def empty_host_cache() -> None:
    """Gives pinned host memory that is kept for reuse back to the system: none is kept."""
    _module()


def get_device_capability(device: Any = None, /) -> dict[str, Any]:
    """What the device computes with, by name: {"supported_dtypes": set of dtypes}."""
    _module()
    from . import _dtype

    names = (
        "bool_",
        "uint8",
        "int8",
        "int16",
        "int32",
        "int64",
        "float16",
        "float32",
        "float64",
        "complex64",
        "complex128",
        "bfloat16",
    )
    return {"supported_dtypes": {getattr(_dtype, n) for n in names if hasattr(_dtype, n)}}


def get_memory_info(device_index: Any = None, /) -> tuple[int, int]:
    """(free, total) bytes of the device."""
    return _module().mem_get_info(device_index)


def memory_allocated(device_index: Any = None, /) -> int:
    """Bytes that tensors occupy on the device."""
    return _module().memory_allocated(device_index)


def max_memory_allocated(device_index: Any = None, /) -> int:
    """The most bytes that tensors occupied."""
    return _module().max_memory_allocated(device_index)


def memory_reserved(device_index: Any = None, /) -> int:
    """Bytes taken from the device, in use or kept for reuse."""
    return _module().memory_reserved(device_index)


def max_memory_reserved(device_index: Any = None, /) -> int:
    """The most bytes taken from the device."""
    return _module().max_memory_reserved(device_index)


def memory_stats(device_index: Any = None, /) -> Any:
    """Counters of the device's memory."""
    return _module().memory_stats(device_index)


def reset_peak_memory_stats(device_index: Any = None, /) -> None:
    """The peaks start anew from what is in use."""
    _module().reset_peak_memory_stats(device_index)


def reset_accumulated_memory_stats(device_index: Any = None, /) -> None:
    """The sums start anew from zero."""
    _module().reset_accumulated_memory_stats(device_index)

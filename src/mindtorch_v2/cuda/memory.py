"""Memory of CUDA devices: none is allocated, and there is nothing to reset."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from typing import Any

from .. import _absent

_refuse = _absent.Refuser(__name__, AssertionError, "Torch not compiled with CUDA enabled")
__all__ = [
    "caching_allocator_enable",
    "change_current_allocator",
    "empty_cache",
    "get_allocator_backend",
    "get_per_process_memory_fraction",
    "host_memory_stats",
    "host_memory_stats_as_nested_dict",
    "max_memory_allocated",
    "max_memory_cached",
    "max_memory_reserved",
    "mem_get_info",
    "memory_allocated",
    "memory_cached",
    "memory_reserved",
    "memory_snapshot",
    "memory_stats",
    "memory_stats_as_nested_dict",
    "memory_summary",
    "reset_accumulated_host_memory_stats",
    "reset_accumulated_memory_stats",
    "reset_max_memory_allocated",
    "reset_max_memory_cached",
    "reset_peak_host_memory_stats",
    "reset_peak_memory_stats",
    "set_per_process_memory_fraction",
    "caching_allocator_alloc",
    "caching_allocator_delete",
    "CUDAPluggableAllocator",
    "MemPool",
]

get_per_process_memory_fraction = _refuse("get_per_process_memory_fraction")
set_per_process_memory_fraction = _refuse("set_per_process_memory_fraction")
mem_get_info = _refuse("mem_get_info")
caching_allocator_alloc = _refuse("caching_allocator_alloc")
caching_allocator_delete = _refuse.missing("caching_allocator_delete", "_cuda_cudaCachingAllocator_raw_delete")
change_current_allocator = _refuse.missing("change_current_allocator", "_cuda_changeCurrentAllocator")
get_allocator_backend = _refuse.missing("get_allocator_backend", "_cuda_getAllocatorBackend")
memory_snapshot = _refuse.missing("memory_snapshot", "_cuda_memorySnapshot")
reset_accumulated_memory_stats = _refuse.missing("reset_accumulated_memory_stats", "_cuda_resetAccumulatedMemoryStats")
reset_accumulated_host_memory_stats = _refuse.missing(
    "reset_accumulated_host_memory_stats", "_cuda_resetAccumulatedHostMemoryStats"
)
reset_peak_memory_stats = _refuse.missing("reset_peak_memory_stats", "_cuda_resetPeakMemoryStats")
reset_peak_host_memory_stats = _refuse.missing("reset_peak_host_memory_stats", "_cuda_resetPeakHostMemoryStats")
_record_memory_history = _refuse.missing("_record_memory_history", "_cuda_record_memory_history")
_snapshot = _refuse.missing("_snapshot", "_cuda_memorySnapshot")
_dump_snapshot = _refuse.missing("_dump_snapshot", "_cuda_memorySnapshot")
CUDAPluggableAllocator = _refuse.dummy("CUDAPluggableAllocator")
MemPool = _refuse.dummy("MemPool")


def caching_allocator_enable(value: bool = True) -> None:
    """Nothing to switch."""


def empty_cache() -> None:
    """Nothing is cached."""


def memory_allocated(device: Any = None) -> int:
    """0 bytes."""
    return 0


def max_memory_allocated(device: Any = None) -> int:
    """0 bytes."""
    return 0


def memory_reserved(device: Any = None) -> int:
    """0 bytes."""
    return 0


def max_memory_reserved(device: Any = None) -> int:
    """0 bytes."""
    return 0


def memory_stats(device: Any = None) -> dict[str, Any]:
    """Empty: there are no counters."""
    return OrderedDict()


def memory_stats_as_nested_dict(device: Any = None) -> dict[str, Any]:
    return {}


def host_memory_stats() -> dict[str, Any]:
    """Empty: no host memory is pinned for a device."""
    return OrderedDict()


def host_memory_stats_as_nested_dict() -> dict[str, Any]:
    return {}


def memory_summary(device: Any = None, abbreviated: bool = False) -> str:
    """PyTorch's table is made of counters, of which there are none: KeyError, as there."""
    raise KeyError("allocated_bytes.all.current")


def _warn_renamed(old: str, new: str) -> None:
    warnings.warn(f"`torch.cuda.{old}` has been renamed to `torch.cuda.{new}`", FutureWarning, stacklevel=3)


def memory_cached(device: Any = None) -> int:
    """The old name of `memory_reserved`."""
    _warn_renamed("memory_cached", "memory_reserved")
    return memory_reserved(device)


def max_memory_cached(device: Any = None) -> int:
    """The old name of `max_memory_reserved`."""
    _warn_renamed("max_memory_cached", "max_memory_reserved")
    return max_memory_reserved(device)


def reset_max_memory_allocated(device: Any = None) -> None:
    """The old name of `reset_peak_memory_stats`."""
    warnings.warn(
        "torch.cuda.reset_max_memory_allocated now calls torch.cuda.reset_peak_memory_stats, which resets /all/ peak "
        "memory stats.",
        FutureWarning,
        stacklevel=2,
    )
    reset_peak_memory_stats(device)


def reset_max_memory_cached(device: Any = None) -> None:
    """The old name of `reset_peak_memory_stats`."""
    warnings.warn(
        "torch.cuda.reset_max_memory_cached now calls torch.cuda.reset_peak_memory_stats, which resets /all/ peak "
        "memory stats.",
        FutureWarning,
        stacklevel=2,
    )
    reset_peak_memory_stats(device)

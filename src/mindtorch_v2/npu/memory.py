"""What the device allocator holds and has counted."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from .._backends.npu.allocator import Allocator, allocator_of
from .._backends.npu.runtime import connect
from .._backends.npu.streams import index_of


def _allocator(device: Any) -> Allocator | None:
    """The allocator of a device, up to date; None where there are no devices."""
    if connect() is None:
        return None
    found = allocator_of(index_of(device))
    found.settle()
    return found


def memory_allocated(device: Any = None) -> int:
    """Bytes that tensors occupy now."""
    found = _allocator(device)
    return 0 if found is None else found.statistics.current("allocated_bytes")


def max_memory_allocated(device: Any = None) -> int:
    """The most bytes that tensors occupied since the start or the last reset."""
    found = _allocator(device)
    return 0 if found is None else found.statistics.peak("allocated_bytes")


def memory_reserved(device: Any = None) -> int:
    """Bytes that the allocator holds, used or cached."""
    found = _allocator(device)
    return 0 if found is None else found.statistics.current("reserved_bytes")


def max_memory_reserved(device: Any = None) -> int:
    """The most bytes that the allocator held since the start or the last reset."""
    found = _allocator(device)
    return 0 if found is None else found.statistics.peak("reserved_bytes")


def memory_stats(device: Any = None) -> OrderedDict[str, Any]:
    """All that the allocator counts, by name."""
    found = _allocator(device)
    return OrderedDict() if found is None else found.statistics.flat()


def reset_peak_memory_stats(device: Any = None) -> None:
    """Starts the peaks anew from what is held now."""
    found = _allocator(device)
    if found is not None:
        found.statistics.reset_peaks()


reset_max_memory_allocated = reset_peak_memory_stats


def reset_accumulated_memory_stats(device: Any = None) -> None:
    """Starts the sums of what was allocated and freed anew."""
    found = _allocator(device)
    if found is not None:
        found.statistics.reset_accumulated()


def empty_cache() -> None:
    """Gives memory that no tensor uses back to the devices."""
    from .._backends.npu.allocator import _allocators

    if connect() is not None:
        for found in list(_allocators.values()):
            found.release_cached()


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """Free and total bytes of a device, as the driver sees them."""
    from .._backends.npu.backend import activate

    activate()
    return allocator_of(index_of(device)).device_memory()


def set_per_process_memory_fraction(fraction: float, device: Any = None) -> None:
    """Lets this process take at most this part of a device's memory."""
    if not 0 <= fraction <= 1:
        raise ValueError(f"Invalid fraction value: {fraction}. Allowed range: 0~1")
    found = _allocator(device)
    if found is not None:
        found.limit = fraction


_LINES = (
    ("Allocated memory", "allocated_bytes", True),
    ("Active memory", "active_bytes", True),
    ("Requested memory", "requested_bytes", True),
    ("NPU reserved memory", "reserved_bytes", True),
    ("Non-releasable memory", "inactive_split_bytes", True),
    ("Allocations", "allocation", False),
    ("Active allocs", "active", False),
    ("NPU reserved segments", "segment", False),
    ("Non-releasable allocs", "inactive_split", False),
)
_WIDTH = 75


def memory_summary(device: Any = None, abbreviated: bool = False) -> str:
    """The allocator's statistics as a table for people."""
    stats = memory_stats(device)
    index = index_of(device)
    rule, thick = "|" + "-" * _WIDTH + "|", "|" + "=" * _WIDTH + "|"
    lines = [
        thick,
        "|" + f"NPU memory summary, device ID {index}".center(_WIDTH) + "|",
        rule,
        "|"
        + f"  NPU OOMs: {stats.get('num_ooms', 0)}".ljust(37)
        + f"|  Malloc retries: {stats.get('num_alloc_retries', 0)}".ljust(38)
        + "|",
        thick,
        "|" + "        Metric         | Cur Usage  | Peak Usage | Tot Alloc  | Tot Freed  ".ljust(_WIDTH) + "|",
    ]
    for title, group, is_bytes in _LINES:
        lines.append(rule)
        for pool in ("all",) if abbreviated else ("all", "large_pool", "small_pool"):
            name = title if pool == "all" else f"      from {pool.replace('_', ' ')}"
            cells = [
                _cell(stats.get(f"{group}.{pool}.{word}", 0), is_bytes)
                for word in ("current", "peak", "allocated", "freed")
            ]
            lines.append("|" + f" {name:<22}| " + " | ".join(f"{c:>10}" for c in cells) + " |")
    return "\n".join([*lines, thick]) + "\n"


def _cell(value: int, is_bytes: bool) -> str:
    if not is_bytes:
        return str(value)
    for unit, size in (("GiB", 1 << 40), ("MiB", 10 << 20), ("KiB", 10 << 10)):
        if value >= size:
            return f"{value // {'GiB': 1 << 30, 'MiB': 1 << 20, 'KiB': 1 << 10}[unit]} {unit}"
    return f"{value} B"

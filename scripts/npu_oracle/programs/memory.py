"""The statistics of the caching allocator through a sequence of allocations, frees and resets."""

from __future__ import annotations

from typing import Any


def run(torch: Any) -> dict[str, Any]:
    npu = torch.npu
    npu.empty_cache()
    steps: dict[str, Any] = {}

    def note(name: str) -> None:
        steps[name] = [
            npu.memory_allocated(),
            npu.max_memory_allocated(),
            npu.memory_reserved(),
            npu.max_memory_reserved(),
        ]

    note("start")
    small = torch.empty(12, device="npu")
    note("48 bytes")
    large = torch.empty(3 << 20, device="npu", dtype=torch.uint8)
    note("3 MiB")
    huge = torch.empty(11 << 20, device="npu", dtype=torch.uint8)
    note("11 MiB")
    del large
    note("3 MiB freed")
    again = torch.empty(1 << 20, device="npu", dtype=torch.uint8)
    note("1 MiB in its place")
    del huge
    npu.empty_cache()
    note("cache emptied")
    npu.reset_peak_memory_stats()
    note("peaks reset")
    views = again[10:20].view(2, 5)
    del again
    note("a view holds its storage")
    del views, small
    npu.empty_cache()
    note("all freed")
    stats = npu.memory_stats()
    counts = (
        "allocation.all.allocated",
        "allocation.all.freed",
        "segment.all.allocated",
        "segment.all.current",
        "num_ooms",
        "num_alloc_retries",
        "active.all.current",
        "allocated_bytes.all.allocated",
    )
    return {"steps": steps, "keys": sorted(stats), "counts": {name: stats.get(name) for name in counts}}

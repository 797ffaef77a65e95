"""The questions that scripts ask torch.npu, and what tensors say about themselves."""

from __future__ import annotations

from typing import Any

NAMES = (
    "Event",
    "Stream",
    "current_device",
    "current_stream",
    "default_stream",
    "device",
    "device_count",
    "empty_cache",
    "get_device_name",
    "get_device_properties",
    "get_rng_state",
    "get_rng_state_all",
    "init",
    "initial_seed",
    "is_available",
    "is_initialized",
    "manual_seed",
    "manual_seed_all",
    "max_memory_allocated",
    "max_memory_reserved",
    "mem_get_info",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "memory_summary",
    "reset_accumulated_memory_stats",
    "reset_peak_memory_stats",
    "seed",
    "seed_all",
    "set_device",
    "set_rng_state",
    "set_rng_state_all",
    "set_stream",
    "stream",
    "synchronize",
    "is_bf16_supported",
    "memory_snapshot",
    "get_device_capability",
    "memory_cached",
    "max_memory_cached",
    "reset_max_memory_allocated",
    "caching_allocator_alloc",
    "set_per_process_memory_fraction",
    "utilization",
)


def run(torch: Any) -> dict[str, Any]:
    npu = torch.npu
    x = torch.ones(2, 3, device="npu")
    result: dict[str, Any] = {
        "available": npu.is_available(),
        "count": npu.device_count(),
        "initialized": npu.is_initialized(),
        "device": str(x.device),
        "type": x.device.type,
        "index": x.device.index,
        "is_npu": x.is_npu,
        "get_device": x.get_device(),
        "capability": type(npu.get_device_capability()).__name__,
        "tensor": repr(torch.arange(3, device="npu")),
        "new": str(x.new_zeros(2).device),
        "like": str(torch.zeros_like(x).device),
        "parameter": str(torch.nn.Linear(2, 2).npu().weight.device),
        "to(int)": str(torch.ones(1).to(0).device),
        "torch.device": str(torch.device("npu", 1)),
        "cpu": str(x.cpu().device),
        "accelerator": str(torch.accelerator.current_accelerator()) if hasattr(torch, "accelerator") else None,
        "stream": type(npu.current_stream()).__name__,
        "event": type(npu.Event()).__name__,
        "moved module": str(next(torch.nn.Linear(2, 2).to("npu:1").parameters()).device),
    }
    result["torch.npu has"] = {name: hasattr(npu, name) for name in NAMES}
    try:
        _ = x + torch.ones(2, 3)
        result["mixed devices"] = "none"
    except RuntimeError as error:
        result["mixed devices"] = "Expected all tensors to be on the same device" in str(error)
    return result

"""Differences from torch_npu that are wanted, with their reasons. Patterns match `/program/path`."""

from __future__ import annotations

KNOWN: dict[str, str] = {
    **{
        f"/interface/torch.npu has/{name}": "only torch_npu has this name"
        for name in (
            "get_rng_state_all",
            "set_rng_state_all",
            "is_bf16_supported",
            "memory_snapshot",
            "memory_cached",
            "max_memory_cached",
            "caching_allocator_alloc",
            "utilization",
        )
    },
    "/memory/keys/num_oom_rejections": "a counter that only torch_npu's allocator has",
    "/profiler/columns*/*NPU Mem": "torch_npu does not record the device's memory with profile_memory; here it is a "
    "column",
    "/profiler/operators have device time/*": "torch_npu shows no device time for operators; here they have their "
    "kernels'",
    "/profiler/trace/privateuse1_runtime/*": "the launching call carries the numbers that link it to its operator "
    "and its kernel",
    "/profiler/trace/kernel/args/*": "fields as PyTorch writes them for CUDA (device, stream, correlation, External "
    "id), which "
    "trace readers know, instead of streamId and type",
    "/profiler/trace/gpu_memcpy": "copies are recorded with times and links; torch_npu asks for kernels only",
    "/profiler/trace/overhead": "what is loaded or planned at the first use of an operator is an event of its own kind",
    "/profiler/trace/C": "counters of memory in the trace, as PyTorch writes them",
    "/profiler/links/flows": "copies are linked as well as kernels",
    "/profiler/links/a kernel for every flow": "copies are linked as well as kernels",
    "/profiler/names of processes/*": "a simulated device says so",
    "/profiler/device processes/*": "the number of the device belongs to its name, so that several can be told apart",
}

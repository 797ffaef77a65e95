"""Apple's devices, of which there are none; what needs one raises as in PyTorch without that backend."""

from __future__ import annotations

from typing import Any

from . import _absent

_refuse = _absent.Refuser(__name__, RuntimeError, "PyTorch is not linked with support for mps devices")
for _name, _internal in {
    "current_allocated_memory": "getCurrentAllocatedMemory",
    "driver_allocated_memory": "getDriverAllocatedMemory",
    "empty_cache": "emptyCache",
    "get_rng_state": "getDefaultGenerator",
    "set_rng_state": "getDefaultGenerator",
    "recommended_max_memory": "getRecommendedMaxMemory",
    "seed": "getDefaultGenerator",
    "synchronize": "deviceSynchronize",
    "set_per_process_memory_fraction": "setMemoryFraction",
    "Event": "acquireEvent",
}.items():
    globals()[_name] = _refuse(_name, f"Cannot execute {_internal}() without MPS backend.")
compile_shader = _refuse.missing("compile_shader", "_mps_compileShader")


def is_available() -> bool:
    """False: there is no such device."""
    return False


def device_count() -> int:
    """0."""
    return 0


def manual_seed(seed: int) -> None:
    """Nothing to seed."""
    int(seed)


def _is_in_bad_fork() -> bool:
    return False


class profiler:
    """Switches of Apple's viewer, which need that backend."""

    start = staticmethod(_refuse("start", "Cannot execute profilerStartTrace() without MPS backend."))
    stop = staticmethod(_refuse("stop", "Cannot execute profilerStopTrace() without MPS backend."))
    profile = staticmethod(_refuse("profile", "Cannot execute profilerStartTrace() without MPS backend."))


def __getattr__(name: str) -> Any:
    raise AttributeError(f"module 'torch.mps' has no attribute '{name}'")

"""Meta's devices, of which there are none; what needs one raises as in PyTorch without that backend."""

from __future__ import annotations

from typing import Any

from . import _absent

_refuse = _absent.Refuser(
    __name__,
    AssertionError,
    "Torch not compiled with MTIA enabled. Ensure you have `import mtia.host_runtime."
    "torch_mtia.dynamic_library` in your python src file and include `//mtia/host_runtime/torch_mtia:torch_mtia` "
    "as your target dependency!",
)
default_generators: tuple[Any, ...] = ()
for _name in ("get_rng_state", "init", "initial_seed", "_lazy_init"):
    globals()[_name] = _refuse(_name)
for _name, _internal in {
    "current_device": "getCurrentDevice",
    "current_stream": "getCurrentDevice",
    "default_stream": "getCurrentDevice",
    "empty_cache": "emptyCache",
    "get_device_capability": "getCurrentDevice",
    "get_device_properties": "getCurrentDevice",
    "set_device": "setCurrentDevice",
    "snapshot": "memorySnapshot",
    "synchronize": "getCurrentDevice",
    "graph_pool_handle": "graphPoolHandle",
}.items():
    globals()[_name] = _refuse(_name, f"Cannot execute {_internal}() without MTIA backend.", RuntimeError)


def is_available() -> bool:
    """False: there is no such device."""
    return False


def is_initialized() -> bool:
    return False


def device_count() -> int:
    """0."""
    return 0


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """True, as PyTorch answers without a device: every device of that kind computes in bfloat16."""
    return True


def manual_seed(seed: int) -> None:
    """PyTorch keeps the seed for a device that may come; none will."""
    int(seed)


manual_seed_all = manual_seed


def seed() -> None:
    """Nothing to seed."""


seed_all = seed


def get_rng_state_all() -> list[Any]:
    return []


def memory_allocated(device: Any = None) -> int:
    """0 bytes."""
    return 0


max_memory_allocated = memory_allocated


def memory_stats(device: Any = None) -> dict[str, Any]:
    """Empty: there are no counters."""
    return {}


def reset_peak_memory_stats(device: Any = None) -> None:
    """Nothing to reset."""


def record_memory_history(enabled: str | None = "all", stacks: str = "python", max_entries: int = 0) -> None:
    """Nothing to record."""

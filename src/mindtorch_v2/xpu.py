"""Intel's devices, of which there are none: see `torch.cuda`, whose answers these are."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from typing import Any

from . import _absent

_refuse = _absent.Refuser(__name__, AssertionError, "Torch not compiled with XPU enabled")
default_generators: tuple[Any, ...] = ()
for _name in (
    "can_device_access_peer",
    "current_device",
    "current_stream",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "get_per_process_memory_fraction",
    "get_rng_state",
    "init",
    "initial_seed",
    "mem_get_info",
    "set_device",
    "set_per_process_memory_fraction",
    "synchronize",
    "_lazy_init",
    "get_stream_from_external",
):
    globals()[_name] = _refuse(_name)
for _name in ("clock_rate", "device_memory_used", "memory_usage", "power_draw", "temperature", "utilization"):
    globals()[_name] = _refuse(_name, "pyzes is required; install it with 'pip install pyzes'.", ImportError)
reset_peak_memory_stats = _refuse.missing("reset_peak_memory_stats", "_xpu_resetPeakMemoryStats")
reset_accumulated_memory_stats = _refuse.missing("reset_accumulated_memory_stats", "_xpu_resetAccumulatedMemoryStats")
Stream, Event, XPUGraph, MemPool = (_refuse.dummy(n) for n in ("Stream", "Event", "XPUGraph", "MemPool"))
graph = _refuse("graph", "Tried to instantiate dummy base class Stream", RuntimeError)
is_current_stream_capturing = _refuse(
    "is_current_stream_capturing", "Tried to instantiate dummy base class _xpu_isCurrentStreamCapturing", RuntimeError
)


def is_available() -> bool:
    """False: there is no such device."""
    return False


def is_initialized() -> bool:
    return False


def device_count() -> int:
    """0."""
    return 0


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """False: no device computes in bfloat16."""
    return False


def is_tf32_supported() -> bool:
    return False


def get_arch_list() -> list[str]:
    return []


def get_gencode_flags() -> str:
    return ""


def empty_cache() -> None:
    """Nothing is cached."""


def memory_allocated(device: Any = None) -> int:
    """0 bytes."""
    return 0


max_memory_allocated = memory_reserved = max_memory_reserved = memory_allocated


def memory_stats(device: Any = None) -> dict[str, Any]:
    """Empty: there are no counters."""
    return OrderedDict()


def memory_stats_as_nested_dict(device: Any = None) -> dict[str, Any]:
    return {}


def memory_snapshot(mempool_id: Any = None) -> list[Any]:
    return []


def manual_seed(seed: int) -> None:
    """PyTorch keeps the seed for a device that may come; none will."""
    int(seed)


manual_seed_all = manual_seed


def seed() -> None:
    """Nothing to seed."""


seed_all = seed


def get_rng_state_all() -> list[Any]:
    return []


def set_rng_state(new_state: Any, device: Any = "xpu") -> None:
    """PyTorch keeps the state for a device that may come; none will."""


def set_rng_state_all(new_states: Iterable[Any]) -> None:
    """The same for several devices."""


class device:
    """A block in which a device is the current one. Entering it with the index of a device is refused."""

    def __init__(self, device: Any) -> None:
        self.idx = _absent.device_index("xpu", device, optional=True)

    def __enter__(self) -> None:
        if self.idx is None or self.idx >= 0:
            raise NotImplementedError("PyTorch was compiled without XPU support")

    def __exit__(self, type: Any, value: Any, traceback: Any) -> None:
        return None


class device_of(device):
    """The device of a tensor: no tensor is on one, so the block changes nothing."""

    def __init__(self, obj: Any) -> None:
        super().__init__(-1)


class StreamContext:
    """A block whose work goes to a stream. Without a stream it changes nothing."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        return None

    def __exit__(self, type: Any, value: Any, traceback: Any) -> None:
        return None


def stream(stream: Any) -> StreamContext:
    """The block for a stream; `None`, the only one there can be, leaves all as it is."""
    return StreamContext(stream)

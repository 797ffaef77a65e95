"""Ascend NPUs: `torch.npu`, shaped as `torch.cuda`. Importing it starts nothing."""

from __future__ import annotations

from typing import Any

from .. import _device
from .._backends.npu import random as _random
from .._backends.npu.backend import activate
from .._backends.npu.runtime import connect, current_index, reason, runtime, set_index, thread
from .._backends.npu.streams import Event, Stream, current_stream, default_stream, index_of, set_current
from .._errors import OutOfMemoryError
from .._lazy_parts import lazy_parts as _lazy_parts
from .memory import (
    empty_cache,
    max_memory_allocated,
    max_memory_reserved,
    mem_get_info,
    memory_allocated,
    memory_reserved,
    memory_stats,
    memory_summary,
    reset_accumulated_memory_stats,
    reset_max_memory_allocated,
    reset_peak_memory_stats,
    set_per_process_memory_fraction,
)
from .properties import get_device_capability, get_device_name, get_device_properties

__all__ = [
    "Event",
    "OutOfMemoryError",
    "Stream",
    "current_device",
    "current_stream",
    "default_stream",
    "device",
    "device_count",
    "device_of",
    "empty_cache",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "get_rng_state",
    "init",
    "initial_seed",
    "is_available",
    "is_initialized",
    "is_simulated",
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
    "reset_max_memory_allocated",
    "reset_peak_memory_stats",
    "restart_device",
    "seed",
    "seed_all",
    "set_device",
    "set_per_process_memory_fraction",
    "set_rng_state",
    "set_stream",
    "stream",
    "synchronize",
    "why_unavailable",
]


def is_available() -> bool:
    """Whether an NPU can be used. Never raises."""
    try:
        return connect() is not None
    except (OSError, RuntimeError, ValueError):  # a library that is there but broken
        return False


def is_simulated() -> bool:
    """Whether the devices are a simulator's instead of hardware. False where there are none."""
    return is_available() and runtime().simulated


def why_unavailable() -> str:
    """The reason why no NPU can be used; empty if one can."""
    return "" if is_available() else reason()


def device_count() -> int:
    """How many NPUs can be used."""
    return runtime().device_count if is_available() else 0


def init() -> None:
    """Starts the runtime, which otherwise happens at the first use."""
    activate()


def is_initialized() -> bool:
    """Whether this thread has used a device."""
    return thread.bound >= 0


def current_device() -> int:
    """The index of the calling thread's device."""
    init()
    return current_index()


def set_device(device: Any) -> None:
    """Chooses the calling thread's device."""
    init()
    index = index_of(device)
    if index >= 0:
        set_index(index)


class device:
    """`with torch.npu.device(1):` chooses a device for the block. A negative index changes nothing."""

    def __init__(self, device: Any) -> None:
        self.idx = device if isinstance(device, int) else index_of(device)
        self.prev_idx = -1

    def __enter__(self) -> None:
        if self.idx >= 0:
            init()
            self.prev_idx = current_index()
            set_index(self.idx)

    def __exit__(self, *exc: object) -> None:
        if self.idx >= 0:
            set_index(self.prev_idx)


class device_of(device):
    """`with torch.npu.device_of(tensor):` chooses the tensor's device; a tensor elsewhere changes nothing."""

    def __init__(self, obj: Any) -> None:
        super().__init__(obj.get_device() if getattr(obj, "is_npu", False) else -1)


def synchronize(device: Any = None) -> None:
    """Waits for all work on a device. Errors of that work surface here."""
    init()
    from .._backends.npu.runtime import bind

    bind(index_of(device))
    rt = runtime()
    rt.check(rt.aclrtSynchronizeDevice(), "waiting for the device")


def restart_device(device: Any = None) -> None:
    """Makes a device usable again after a fault, which otherwise every later call on it reports. Its tensors are
    lost (using one raises RuntimeError), its streams and events too. Other threads that use the device call
    `set_device` again.
    """
    init()
    index = index_of(device)
    if not 0 <= index < runtime().device_count:
        raise RuntimeError(f"Invalid NPU device index {index}: there are {runtime().device_count} devices")
    from .._backends.npu.activation import restart

    restart(index)


# --- streams
class StreamContext:
    """`with torch.npu.stream(s):` sends the block's work to a stream; None changes nothing."""

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        if self.stream is not None:
            self.stream.__enter__()

    def __exit__(self, *exc: object) -> None:
        if self.stream is not None:
            self.stream.__exit__(*exc)


def stream(stream: Stream | None) -> StreamContext:
    """A context that makes `stream` the current one."""
    return StreamContext(stream)


def set_stream(stream: Stream | None) -> None:
    """Makes `stream` the calling thread's current one, on its device."""
    if stream is not None:
        set_current(stream)
        set_index(stream.device_index)


# --- random numbers
def manual_seed(seed: int) -> None:
    """Seeds the current device's generator. Does nothing where there is no device."""
    if is_available():
        _random.seed(current_index(), seed)


def manual_seed_all(seed: int) -> None:
    """Seeds the generators of all devices."""
    for index in range(device_count()):
        _random.seed(index, seed)


def seed() -> None:
    """Seeds the current device's generator with a number from the operating system."""
    manual_seed(_random.fresh_seed())


def seed_all() -> None:
    """Seeds all devices' generators with one number from the operating system."""
    manual_seed_all(_random.fresh_seed())


def initial_seed() -> int:
    """The seed of the current device's generator."""
    return _random.initial_seed(current_device())


def get_rng_state(device: Any = "npu") -> Any:
    """The state of a device's generator, as a tensor of bytes."""
    from .._dtype import uint8
    from .._python.creation import tensor

    return tensor(list(_random.get_state(index_of(device))), dtype=uint8, device=_device.CPU)


def set_rng_state(new_state: Any, device: Any = "npu") -> None:
    """Restores the state of a device's generator."""
    _random.set_state(index_of(device), bytes(new_state.tolist()))


__getattr__, __dir__ = _lazy_parts(__name__, ("amp",))

"""NVIDIA's devices, of which there are none: `is_available()` is False, `device_count()` 0; what needs one raises as
in PyTorch built without CUDA. Calls that PyTorch keeps for a device which may come later (seeds, random states) do
nothing.
"""

from __future__ import annotations

from typing import Any

from .. import _absent
from .._errors import OutOfMemoryError
from .._lazy_parts import lazy_parts as _lazy_parts

__all__ = [
    "AcceleratorError",
    "CUDAGraph",
    "CudaError",
    "DeferredCudaCallError",
    "Event",
    "ExternalStream",
    "OutOfMemoryError",
    "Stream",
    "StreamContext",
    "current_stream",
    "default_generators",
    "default_stream",
    "device",
    "device_count",
    "device_of",
    "get_arch_list",
    "get_gencode_flags",
    "get_rng_state",
    "get_rng_state_all",
    "graph",
    "graph_pool_handle",
    "has_half",
    "has_magma",
    "initial_seed",
    "is_available",
    "is_bf16_supported",
    "is_current_stream_capturing",
    "is_initialized",
    "is_tf32_supported",
    "list_gpu_processes",
    "make_graphed_callables",
    "manual_seed",
    "manual_seed_all",
    "seed",
    "seed_all",
    "set_device",
    "set_rng_state",
    "set_rng_state_all",
    "set_stream",
    "stream",
]
_MESSAGE = "Torch not compiled with CUDA enabled"
_refuse = _absent.Refuser(__name__, AssertionError, _MESSAGE)
has_half = True
has_magma = False
default_generators: tuple[Any, ...] = ()

for _name in (
    "cudart",
    "current_blas_handle",
    "current_device",
    "current_solver_handle",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "get_sync_debug_mode",
    "set_sync_debug_mode",
    "init",
    "ipc_collect",
    "synchronize",
    "can_device_access_peer",
    "_lazy_init",
    "get_stream_from_external",
):
    globals()[_name] = _refuse(_name)
for _name in ("clock_rate", "device_memory_used", "memory_usage", "power_draw", "temperature", "utilization"):
    globals()[_name] = _refuse(
        _name, "nvidia-ml-py does not seem to be installed or it can't be imported.", ModuleNotFoundError
    )
_sleep = _refuse.missing("_sleep", "_cuda_sleep")


class AcceleratorError(RuntimeError):
    """What a device reports that has failed."""

    __module__ = "torch"


class DeferredCudaCallError(Exception):
    """A call that was kept until the device came, and failed then."""


class CudaError(RuntimeError):
    """An error code of the CUDA runtime, which is not here to explain it."""

    def __init__(self, code: int) -> None:
        super().__init__(f"CUDA error ({code}): {_MESSAGE}")


def is_available() -> bool:
    """False: there is no such device."""
    return False


_initialized = False  # libraries read it instead of asking


def is_initialized() -> bool:
    """False: there is nothing to initialise."""
    return False


def _is_compiled() -> bool:
    return False


def _is_in_bad_fork() -> bool:
    return False


def device_count() -> int:
    """0."""
    return 0


def _device_count_nvml() -> int:
    """-1: NVIDIA's management library cannot be asked."""
    return -1


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """False: no device computes in bfloat16."""
    return False


def is_tf32_supported() -> bool:
    """False."""
    return False


def get_arch_list() -> list[str]:
    """[]: kernels were compiled for no architecture."""
    return []


def get_gencode_flags() -> str:
    return ""


def list_gpu_processes(device: Any = None) -> str:
    """PyTorch's answer where NVIDIA's management library is missing."""
    return "pynvml module not found, please install nvidia-ml-py"


def set_device(device: Any) -> None:
    """Negative indices mean "leave as it is"; any other is refused."""
    index = _absent.device_index("cuda", device, optional=True)
    if index is None or index >= 0:
        raise AttributeError("module 'torch._C' has no attribute '_cuda_setDevice'")


def _get_device(device: Any) -> Any:
    from .._device import device as make

    return make("cuda", device) if isinstance(device, int) else make(device)


class device:
    """A block in which a device is the current one. Entering it with the index of a device is refused."""

    def __init__(self, device: Any) -> None:
        self.idx = _absent.device_index("cuda", device, optional=True)
        self.prev_idx = -1

    def __enter__(self) -> None:
        if self.idx is None or self.idx >= 0:
            raise RuntimeError("PyTorch was compiled without CUDA support")

    def __exit__(self, type: Any, value: Any, traceback: Any) -> None:
        return None


class device_of(device):
    """The device of a tensor: no tensor is on one, so the block changes nothing."""

    def __init__(self, obj: Any) -> None:
        super().__init__(obj.get_device() if getattr(obj, "is_cuda", False) else -1)


from .graphs import CUDAGraph, graph, graph_pool_handle, is_current_stream_capturing, make_graphed_callables  # noqa: E402
from .memory import *  # noqa: E402, F403
from .random import (  # noqa: E402
    get_rng_state,
    get_rng_state_all,
    initial_seed,
    manual_seed,
    manual_seed_all,
    seed,
    seed_all,
    set_rng_state,
    set_rng_state_all,
)
from .streams import Event, ExternalStream, Stream, StreamContext, current_stream, default_stream, set_stream, stream  # noqa: E402
from .typed import TYPED as _TYPED  # noqa: E402

globals().update(_TYPED)  # FloatTensor, LongTensor, ...
_SUBMODULES = ("amp", "graphs", "memory", "nccl", "nvtx", "profiler", "random", "streams", "_utils")


__getattr__, __dir__ = _lazy_parts(__name__, _SUBMODULES)

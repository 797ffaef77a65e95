"""The enumerations of the profiler's API, with PyTorch's members and numbers."""

from __future__ import annotations

from enum import Enum
from typing import Any


class _Named(Enum):
    """Prints like PyTorch's: `DeviceType.CPU`, `<DeviceType.CPU: 0>`; hashes by identity of the member."""

    def __str__(self) -> str:
        return f"{type(self).__name__}.{self.name}"

    def __int__(self) -> int:
        return int(self.value)

    __index__ = __int__


class ProfilerAction(Enum):
    """What the profiler does in a step. DEVICE_STOPPED is for the profiler's own use.

    >>> torch.profiler.schedule(wait=1, warmup=0, active=1)(0).name
    'NONE'
    """

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3
    DEVICE_STOPPED = 4


class ProfilerActivity(_Named):
    """Who may be recorded. Strings such as "cpu" stand for members wherever activities are given.

    >>> torch.profiler.ProfilerActivity.CPU.name
    'CPU'
    """

    CPU = 0
    XPU = 1
    MTIA = 4
    CUDA = 2
    HPU = 3
    PrivateUse1 = 5
    NPU = 6


class DeviceType(_Named):
    """Where an event ran. A member equals its own name, so `event.device_type == "CPU"` holds."""

    CPU = 0
    CUDA = 1
    MKLDNN = 2
    OPENGL = 3
    OPENCL = 4
    IDEEP = 5
    HIP = 6
    FPGA = 7
    MAIA = 8
    XLA = 9
    Vulkan = 10
    Metal = 11
    XPU = 12
    MPS = 13
    Meta = 14
    HPU = 15
    VE = 16
    Lazy = 17
    IPU = 18
    MTIA = 19
    PrivateUse1 = 20
    NPU = 21

    def __eq__(self, other: Any) -> bool:
        return self is other or (isinstance(other, str) and other == self.name)

    def __hash__(self) -> int:
        return hash(self.name)


class RecordScope(_Named):
    """The origin of an event, as PyTorch numbers it.

    >>> torch.profiler.RecordScope is not None
    True
    """

    FUNCTION = 0
    BACKWARD_FUNCTION = 1
    TORCHSCRIPT_FUNCTION = 2
    KERNEL_FUNCTION_DTYPE = 3
    CUSTOM_CLASS = 4
    BUILD_FEATURE = 5
    LITE_INTERPRETER = 6
    USER_SCOPE = 7
    STATIC_RUNTIME_OP = 8
    STATIC_RUNTIME_MODEL = 9


class ProfilerState(_Named):
    """The kinds of profiler that a configuration may ask for.

    >>> torch.autograd.ProfilerState.KINETO
    <ProfilerState.KINETO: 6>
    """

    Disabled = 0
    CPU = 1
    CUDA = 2
    NVTX = 3
    ITT = 4
    PRIVATEUSE1 = 5
    KINETO = 6
    KINETO_GPU_FALLBACK = 7
    KINETO_PRIVATEUSE1_FALLBACK = 8
    KINETO_PRIVATEUSE1 = 9


class ActiveProfilerType(_Named):
    """The kind of profiler that runs on this thread."""

    NONE = 0
    LEGACY = 1
    KINETO = 2
    NVTX = 3
    ITT = 4
    PRIVATEUSE1 = 5


class _EventType(_Named):
    """The kinds of node in the experimental event tree."""

    TorchOp = 0
    Backend = 1
    Vulkan = 2
    Allocation = 3
    PyCall = 5
    PyCCall = 6
    Kineto = 7

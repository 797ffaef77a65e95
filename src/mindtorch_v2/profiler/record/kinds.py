"""What rows and blocks of memory are: the codes that recorders note, stores keep and files hold."""

from __future__ import annotations

from enum import IntEnum, IntFlag


class Kind(IntEnum):
    """What a row is. The order is part of the file format: append only."""

    OP = 0  # an operator call that went through the dispatcher: aten::add
    NODE = 1  # the engine evaluates a node: autograd::engine::evaluate_function: X
    BACKWARD = 2  # a node's function is applied: X
    SCOPE = 3  # a user annotation: record_function, Optimizer.step#..., enumerate(DataLoader)#...
    STEP = 4  # ProfilerStep#N
    FUNCTION = 5  # a named call that is recorded like an operator (_RecordFunctionFast, a custom Function's forward)
    PYTHON = 6  # a Python function: file.py(12): fn
    BUILTIN = 7  # a function written in C: <built-in function len>
    MODULE = 8  # nn.Module: Linear_0
    GC = 9  # Python GC
    RUNTIME = 10  # a call into a device's runtime, on the CPU: cudaLaunchKernel
    DRIVER = 11  # the same below the runtime: cuLaunchKernel
    OVERHEAD = 12  # what profiling itself cost: Activity Buffer Request
    KERNEL = 13  # on a device: a kernel
    MEMCPY = 14  # on a device: a copy
    MEMSET = 15  # on a device: memory filled
    DEVICE_SCOPE = 16  # on a device: from the first to the last thing that an annotation launched
    SYNC = 17  # on a device: something waits for it; no work
    RANGE = 18  # on a device: counters of a kernel; no time of its own
    OTHER = 19  # a slice of a category that is none of these; only in loaded traces
    LOADING = 20  # what is done once, when something is first used: imports, code made from declarations


LOADING_PREFIX = "loading: "  # of the names of such rows
PYTHON_KINDS = (Kind.PYTHON, Kind.BUILTIN, Kind.MODULE, Kind.GC)
ANNOTATION_KINDS = (Kind.SCOPE, Kind.STEP, Kind.DEVICE_SCOPE)
LAUNCHING_KINDS = (Kind.RUNTIME, Kind.DRIVER)
# each is one event of its own, whatever its neighbours are called
SINGLE_KINDS = (*LAUNCHING_KINDS, Kind.OVERHEAD, Kind.OTHER)
WORKING_KINDS = (Kind.OP, Kind.NODE, Kind.BACKWARD, Kind.FUNCTION)  # inside of which the package computes
WORK_KINDS = (Kind.KERNEL, Kind.MEMCPY, Kind.MEMSET)  # what device time is made of
DEVICE_KINDS = (*WORK_KINDS, Kind.DEVICE_SCOPE, Kind.SYNC, Kind.RANGE)
# whose device and stream a trace names in "args", as PyTorch does
PLACED_KINDS = (*WORK_KINDS, Kind.SYNC)
# PyTorch's name for what a row is ("cat" in a trace, `activity_type` of an event); all others are "cpu_op".
ACTIVITY_NAMES: dict[int, str] = {
    Kind.SCOPE: "user_annotation",
    Kind.STEP: "user_annotation",
    **dict.fromkeys(PYTHON_KINDS, "python_function"),
    Kind.RUNTIME: "cuda_runtime",
    Kind.DRIVER: "cuda_driver",
    Kind.OVERHEAD: "overhead",
    Kind.LOADING: "overhead",
    Kind.KERNEL: "kernel",
    Kind.MEMCPY: "gpu_memcpy",
    Kind.MEMSET: "gpu_memset",
    Kind.DEVICE_SCOPE: "gpu_user_annotation",
    Kind.SYNC: "cuda_sync",
    Kind.RANGE: "cuda_profiler_range",
    Kind.OTHER: "other",
}


class Category(IntEnum):
    """What a block of memory is for. The first eight stand in the order of PyTorch's files, which know no others."""

    PARAMETER = 0
    OPTIMIZER_STATE = 1
    INPUT = 2
    TEMPORARY = 3
    ACTIVATION = 4
    GRADIENT = 5
    AUTOGRAD_DETAIL = 6
    UNKNOWN = 7
    SCRATCH = 8  # a kernel's own, released before the operator ends
    BUFFER = 9  # a module's, not trained


class Role(IntEnum):
    """What a tensor is to the module or optimizer that owns it. The order is part of the file format."""

    OWNER = 0  # none: the owner itself
    PARAMETER = 1
    GRADIENT = 2
    STATE = 3  # an optimizer keeps it for a parameter


class Flag(IntFlag):
    """Facts about single rows, or-ed together in the column `flags`."""

    UNFINISHED = 1  # still open when the window ended; its end is the end of the window
    ASYNC = 2  # outlives the event that it began in, or another thread ended it; takes no part in nesting

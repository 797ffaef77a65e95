"""The catalogue of what a store holds: every column, its type, its unit and its meaning.

The store, its file format, the exporters and the documentation read this one table, so a column is added here
and nowhere else.
"""
from __future__ import annotations

from enum import IntEnum, IntFlag
from typing import NamedTuple


class Kind(IntEnum):
    """What a row is. The order is part of the file format: append only."""

    OP = 0           # an operator call that went through the dispatcher: aten::add
    NODE = 1         # the engine evaluates a node: autograd::engine::evaluate_function: X
    BACKWARD = 2     # a node's function is applied: X
    SCOPE = 3        # a user annotation: record_function, Optimizer.step#..., enumerate(DataLoader)#...
    STEP = 4         # ProfilerStep#N
    FUNCTION = 5     # a named call that is shown like an operator (_RecordFunctionFast, a custom Function's forward)
    PYTHON = 6       # a Python function: file.py(12): fn
    BUILTIN = 7      # a function written in C: <built-in function len>
    MODULE = 8       # nn.Module: Linear_0
    GC = 9           # Python GC
    RUNTIME = 10     # a call into a device's runtime, on the CPU: cudaLaunchKernel
    DRIVER = 11      # the same below the runtime: cuLaunchKernel
    OVERHEAD = 12    # what profiling itself cost: Activity Buffer Request
    KERNEL = 13      # on a device: a kernel
    MEMCPY = 14      # on a device: a copy
    MEMSET = 15      # on a device: memory filled
    DEVICE_SCOPE = 16    # on a device: from the first to the last thing that an annotation launched
    SYNC = 17        # on a device: something waits for it; no work
    RANGE = 18       # on a device: counters of a kernel; no time of its own
    OTHER = 19       # a slice of a category that is none of these; only in loaded traces
    LOADING = 20     # what is done once, when something is first used: imports, code made from declarations


LOADING_PREFIX = "loading: "     # of the names of such rows
PYTHON_KINDS = (Kind.PYTHON, Kind.BUILTIN, Kind.MODULE, Kind.GC)
ANNOTATION_KINDS = (Kind.SCOPE, Kind.STEP, Kind.DEVICE_SCOPE)
LAUNCHING_KINDS = (Kind.RUNTIME, Kind.DRIVER)
SINGLE_KINDS = (*LAUNCHING_KINDS, Kind.OVERHEAD, Kind.OTHER)   # each is one event of its own, whatever its neighbours are called
WORKING_KINDS = (Kind.OP, Kind.NODE, Kind.BACKWARD, Kind.FUNCTION)   # inside of which the package computes
WORK_KINDS = (Kind.KERNEL, Kind.MEMCPY, Kind.MEMSET)   # what device time is made of
DEVICE_KINDS = (*WORK_KINDS, Kind.DEVICE_SCOPE, Kind.SYNC, Kind.RANGE)
PLACED_KINDS = (*WORK_KINDS, Kind.SYNC)                # whose device and stream a trace names in "args", as PyTorch does

# PyTorch's name for what a row is ("cat" in a trace, `activity_type` of an event); all others are "cpu_op".
ACTIVITY_NAMES: dict[int, str] = {
    Kind.SCOPE: "user_annotation", Kind.STEP: "user_annotation", **dict.fromkeys(PYTHON_KINDS, "python_function"),
    Kind.RUNTIME: "cuda_runtime", Kind.DRIVER: "cuda_driver", Kind.OVERHEAD: "overhead", Kind.LOADING: "overhead", Kind.KERNEL: "kernel",
    Kind.MEMCPY: "gpu_memcpy", Kind.MEMSET: "gpu_memset", Kind.DEVICE_SCOPE: "gpu_user_annotation", Kind.SYNC: "cuda_sync",
    Kind.RANGE: "cuda_profiler_range", Kind.OTHER: "other"}


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
    SCRATCH = 8      # a kernel's own, gone when the operator ends
    BUFFER = 9       # a module's, not trained


class Flag(IntFlag):
    """Facts about single rows, or-ed together in the column `flags`."""

    UNFINISHED = 1   # still open when the window ended; its end is the end of the window
    ASYNC = 2        # outlives the event that it began in, or another thread ended it; takes no part in nesting


class Field(NamedTuple):
    """One column: its name, numpy type, unit ("" when it has none), what a missing value looks like, and its meaning."""

    name: str
    dtype: str
    unit: str
    missing: int | None
    meaning: str
    json_key: str = ""   # the key in a trace's args, where it has one of its own


EVENT_FIELDS: tuple[Field, ...] = (
    Field("start_ns", "int64", "ns", None, "when the event began, on the profiler's clock"),
    Field("end_ns", "int64", "ns", None, "when it ended; never before start_ns"),
    Field("name", "int32", "string", None, "its name, an index into the strings"),
    Field("parent", "int32", "row", -1, "the innermost event of the same thread that encloses it; always a smaller row"),
    Field("thread", "int32", "thread", None, "an index into the threads"),
    Field("kind", "uint8", "Kind", None, "what it is"),
    Field("step", "int32", "", None, "the profiler's step number when it began"),
    Field("sequence_nr", "int64", "", -1, "ties a forward operator to its backward node", "Sequence number"),
    Field("forward_thread", "int32", "", 0, "number of the thread that ran the forward; 0 on forward events", "Fwd thread id"),
    Field("inputs", "int32", "inputs", -1, "its arguments, an index into the input descriptions"),
    Field("stack", "int32", "stack", -1, "the Python call that led to it, a node of the stack tree", "Call stack"),
    Field("module", "int32", "module", -1, "the nn.Module it ran in, an index into the modules", "Module Hierarchy"),
    Field("overload", "int32", "string", -1, "the operator's overload (\"Tensor\"), an index into the strings"),
    Field("device_type", "uint8", "DeviceType", None, "the device that ran it (0 is the CPU)"),
    Field("flags", "uint8", "Flag", None, "unfinished, asynchronous"),
    Field("launcher", "int32", "row", -1, "of what ran on a device: the call that launched it; of an annotation there: that on the CPU"),
    Field("end_thread", "int32", "", 0, "number of the thread that ended it, where that is another (-1: not known which); 0 otherwise"),
    Field("correlation", "int64", "", -1, "number that a launching call and what it launched share", "correlation"),
    Field("category", "int32", "string", -1, "of events of loaded traces: \"cat\" there, if the kind does not imply it; a string"),
)

MEMORY_FIELDS: tuple[Field, ...] = (
    Field("time_ns", "int64", "ns", None, "when it happened, on the profiler's clock"),
    Field("address", "int64", "", None, "the address of the block", "Addr"),
    Field("nbytes", "int64", "bytes", None, "bytes gained (positive) or given back (negative)", "Bytes"),
    Field("total", "int64", "bytes", None, "live bytes on that device after it, among those the profiler saw", "Total Allocated"),
    Field("device_type", "uint8", "DeviceType", None, "where the block lives", "Device Type"),
    Field("device_index", "int16", "", -1, "which device of that type; -1 on the CPU", "Device Id"),
    Field("row", "int32", "row", -1, "the innermost open event of the thread"),
    Field("thread", "int32", "thread", None, "an index into the threads"),
    Field("block", "int64", "", 0, "the number of the block, which no other of its process has"),
)

HELD_FIELDS: tuple[Field, ...] = (
    Field("time_ns", "int64", "ns", None, "when the tensors that live were looked at, on the profiler's clock"),
    Field("at_end", "uint8", "", None, "1 where that was when the recording ended, 0 where it began (or was resumed)"),
    Field("block", "int64", "", None, "the number of a block that a tensor held; each look begins with a row of number 0"),
    Field("address", "int64", "", None, "its address"),
    Field("nbytes", "int64", "bytes", None, "its size"),
    Field("device_type", "uint8", "DeviceType", None, "where the block lives"),
    Field("device_index", "int16", "", -1, "which device of that type; -1 on the CPU"),
    Field("category", "uint8", "Category", None, "what it is for"),
)

STACK_FIELDS: tuple[Field, ...] = (
    Field("parent", "int32", "stack", -1, "the calling frame's node; always a smaller number"),
    Field("frame", "int32", "string", None, "`file.py(12): fn`, an index into the strings"),
)

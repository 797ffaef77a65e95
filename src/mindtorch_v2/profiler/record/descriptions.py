"""What the ids in rows refer to (arguments, threads, modules), and what is known of a window as a whole."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple


class InputDescription(NamedTuple):
    """The arguments of one call, one entry per argument of the schema, without any tensor.

    shapes    the dimensions of a tensor, a tuple of those for a list of tensors, () for anything else
    strides   likewise, in elements
    types     C++ names: "float", "long int", "Scalar", "ScalarList", "TensorList", "" for None and other objects
    values    None for tensors and absent values; numbers, strings and tuples of numbers as they are
    keywords  (name, value) pairs of `_RecordFunctionFast`
    """

    shapes: tuple[tuple[Any, ...], ...]
    strides: tuple[tuple[Any, ...], ...]
    types: tuple[str, ...]
    values: tuple[Any, ...]
    keywords: tuple[tuple[str, Any], ...] = ()


class ThreadInfo(NamedTuple):
    """A thread: its id (1 is the first that recorded anything), the system's id for it, and its name. A
    stream of a device is one too: `device` is the device's index (-1 for threads of the CPU), `os_id` the stream's.
    So is an asyncio task or a greenlet: both ids are its thread's, `task` is its own id (0 for the thread
    itself). `process` is the system's id of the process it belongs to, where that is not the store's own (a loaded
    trace of several processes); else 0.
    """

    id: int
    os_id: int
    name: str
    device: int = -1
    task: int = 0
    process: int = 0


class ModuleInfo(NamedTuple):
    """An nn.Module that ran. `path` is its name inside the outermost module called ("layers.3.fc", "" for that one
    itself), `parent` the index of the module that called it, or -1."""

    root: int
    path: str
    type_name: str
    parent: int


@dataclass(frozen=True)
class Options:
    """What a window was asked to record."""

    record_shapes: bool = False
    profile_memory: bool = False
    with_stack: bool = False
    with_flops: bool = False
    with_modules: bool = False
    verbose: bool = False
    profile_all_threads: bool = False
    capture_overload_names: bool = False
    record_python_gc_info: bool = False
    trace_only: bool = False
    max_events: int = 0  # how many events are kept at most; 0 for all
    keep: str = "newest"  # which ones: "newest", or "oldest"
    concrete_inputs: bool = True  # whether the values of arguments are kept
    event_metadata: bool = False  # whether events tell what else a trace shows of them (`metadata_json`)
    forward_backward: bool = True  # whether backward functions are linked with the operators that recorded them
    activity_filters: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # "CPU" -> names, where given

    @property
    def describes_inputs(self) -> bool:
        """FLOPs are computed from shapes, so asking for them asks for shapes."""
        return self.record_shapes or self.with_flops


@dataclass(frozen=True)
class Metadata:
    """What is known about a window as a whole. Unix time = a time of the store + `epoch_offset_ns`."""

    start_ns: int = 0
    stop_ns: int = 0
    epoch_offset_ns: int = 0
    pid: int = 0
    process_name: str = "python"
    host_name: str = ""
    trace_id: str = ""
    use_device: str | None = None
    options: Options = Options()
    user: Mapping[str, str] = field(default_factory=dict)  # key -> JSON text, in the order of first insertion
    dropped_events: int = 0  # rows and memory records that a bound kept out
    record_function_base: int | None = None  # events an ExecutionTraceObserver had counted at start; None without one
    # made from a trace, whose events and arguments are exported again as they are
    is_foreign: bool = False
    device_properties: str = "[]"  # JSON text: a list of objects, as in a trace's "deviceProperties"
    # ids -> names of processes beside `pid`, of loaded traces
    other_processes: Mapping[str, str] = field(default_factory=dict)
    machine_load: Mapping[str, float] = field(default_factory=dict)  # what `machine_load.load_between` gives
    yardstick: str = ""  # what `speed` can be compared with: readings under the same name
    # how quickly the machine ran, as `yardstick.SpeedReading` says
    speed: tuple[tuple[int, int, int], ...] = ()


def process_name() -> str:
    """What this process is called in profiles."""
    return os.path.basename(sys.executable) or "python"

"""The recorder in C, and its tracer: same rows, same contract as their forms in Python.

Per event only C runs. What is met for the first time (a name, a combination of shapes, a code object) is described
by the Python recorder's code, once.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._dispatch import native_call
from ..._storage import native as _native
from .descriptions import ThreadInfo
from .interning import op_label
from .kinds import Kind
from .python_recorder import Recorder
from .row_format import REFERENCES, Position, device_code
from .stacks import INTERNAL, builtin_name, code_class, function_name, is_own_function, is_recorded, line_of
from .thread_buffer import ThreadBuffer

IMPORTS = 4  # bit that marks the import machinery, beside a code's class
HIDDEN_FUNCTION = -(1 << 31) + 1  # the label of functions in C that are not recorded, as in recorder.h
MEMORY = np.dtype(
    [("time_ns", "i8"), ("block", "i8"), ("address", "i8"), ("nbytes", "i8"), ("device", "i4"), ("row", "i4")]
)


def joined_memory(parts: list[Any]) -> dict[str, np.ndarray]:
    """The columns of parts of a table of memory records."""
    tables = [np.frombuffer(chunk, MEMORY, count, first * MEMORY.itemsize) for chunk, first, count in parts]
    table = np.concatenate(tables) if tables else np.zeros(0, MEMORY)
    return {name: table[name] for name in MEMORY.fields or ()}


if TYPE_CHECKING or _native is None:

    class _Core:
        """Stands for the native type where there is none."""

    class _Buffer:
        """Stands for the native type where there is none."""
else:
    _Core, _Buffer = _native.Core, _native.Buffer


class NativeBuffer(_Buffer):  # type: ignore[misc, valid-type]
    """What one thread recorded; the table of rows is in C."""

    __slots__ = ()

    if TYPE_CHECKING:
        next_row: int
        next_memory: int
        next_reference: int
        nbytes: int

        def __getattr__(self, name: str) -> Any: ...

    def position(self) -> Position:
        row, memory = self.next_row, self.next_memory
        return Position(row, row, 0, 0, 0, memory, memory, self.next_reference)


class NativeStacks:
    """Call stacks by id."""

    def __init__(self, table: Any) -> None:
        self._table = table

    def frames(self, stack: int) -> list[str]:
        """The frames of a stack, innermost first."""
        return [function_name(code, line_of(code, lasti)) for code, lasti in self._table.frames_of(stack)]


class NativeRecorder(_Core, Recorder):  # type: ignore[misc, valid-type]
    """The recorder in C. Its base in Python does what is not done per event."""

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

    def reset(self) -> None:
        super().reset()
        self.renew(self.buffers)

    def _start_tables(self) -> None:
        own = self.now is time.perf_counter_ns and _same_clock
        self.restart(None if own else self.now, _counter_is_trusted, self._describe_code, self._describe_function)
        if own:
            self.now = self.clock_now  # one clock for everything, whichever the native part reads
        self.stacks = NativeStacks(self.stack_table)  # type: ignore[assignment]

    def _describe_code(self, code: CodeType) -> tuple[int, int]:
        """The class of a code object, and the label of its calls."""
        whose = code_class(code)
        mark = IMPORTS if code.co_filename.startswith("<frozen importlib") else 0
        if whose == INTERNAL:
            return whose | mark, 0
        return whose | mark, self.labels.id_of(function_name(code, code.co_firstlineno), Kind.PYTHON)

    def _describe_function(self, function: Any) -> int:
        """The label of calls of a function written in C."""
        return HIDDEN_FUNCTION if is_own_function(function) else self.labels.id_of(builtin_name(function), Kind.BUILTIN)

    @staticmethod
    def _op_label(op: Any) -> tuple[int, bool]:
        return op_label(op), op.event.startswith("aten::")

    # --- threads ----------------------------------------------------------------------------------------------------
    def _make_buffer(self, info: ThreadInfo) -> ThreadBuffer:
        return NativeBuffer(self, info, info.id)  # type: ignore[return-value, call-arg]

    def _bind(self, buffer: ThreadBuffer) -> None:
        self.bind(buffer)
        if self.watches_memory:
            _native.install_allocator()  # numpy keeps it per context: every thread has its own

    def watch_memory(self, on: bool) -> None:
        if on and not self.watches_memory:
            self.watches_memory = True
            _native.install_allocator()
            self.rebind_threads()
        elif not on:
            self.watches_memory = False
            _native.remove_allocator()  # again, where an interrupt had come between these lines

    def rebind_threads(self) -> None:
        self.renew(self.buffers)

    # --- events -----------------------------------------------------------------------------------------------------
    def _tell_op(self, op: Any, args: tuple[Any, ...], sequence_nr: int) -> None:
        for listener in self.listeners:
            listener.enter(Kind.OP, op.event, op, args, sequence_nr, 0)

    def _tell_leave(self) -> None:
        for listener in self.listeners:
            listener.leave()

    def _push(
        self,
        buffer: Any,
        by_handle: bool,
        kind: Kind,
        name: str,
        inputs: Any,
        sequence_nr: int = -1,
        forward_thread: int = 0,
        keywords: dict[str, Any] | None = None,
    ) -> int:
        described = self._described(inputs, keywords)
        label = self.labels.id_of(name, kind)
        row = int(buffer.push(label, sequence_nr, forward_thread, described, by_handle, False))
        if self.detail & REFERENCES and isinstance(inputs, (list, tuple)):
            buffer.refer(row, tuple(inputs))
        return row

    def push_python(self, buffer: Any, label: int) -> int:
        return int(buffer.push(label, -1, 0, -1, True, True))

    def allocated(self, address: int, nbytes: int, device_type: str, device_index: int, block: int = 0) -> None:
        self.note_allocated(block, address, nbytes, device_code(device_type, device_index))

    def run_kernel(self, kernel: Callable[..., Any], args: tuple[Any, ...], claim: Callable[[Any], None]) -> Any:
        out = kernel(*args)  # what it allocates is seen by the allocator
        claim(out)
        return out

    def freed(self, address: int, nbytes: int, device_type: str, device_index: int, block: int = 0) -> None:
        self.note_freed(block, address, nbytes, device_code(device_type, device_index))


class _Monitoring:
    """A tool id of sys.monitoring with the native callbacks. Others keep theirs; the id that profilers
    agreed on is taken last, because cProfile knows no other.
    """

    TOOL_IDS = (4, 3, 2, 5)
    NAME = "mindtorch_v2.profiler"

    def __init__(self, tool_id: int) -> None:
        self.tool_id = tool_id
        tools: Any = sys.monitoring  # type: ignore[attr-defined]
        self._tools, names = tools, tools.events
        self._callbacks = {
            names.PY_START: _native.on_start,
            names.PY_RESUME: _native.on_start,
            names.PY_THROW: _native.on_start,
            names.PY_RETURN: _native.on_return,
            names.PY_YIELD: _native.on_return,
            names.PY_UNWIND: _native.on_unwind,
            names.CALL: _native.on_call,
            names.C_RETURN: _native.on_function_return,
            names.C_RAISE: _native.on_function_raise,
        }
        self.alone = not any(tools.get_tool(n) for n in range(6) if n != tool_id)

    @classmethod
    def claim(cls) -> _Monitoring | None:
        """With a free id; None where none is, or before Python 3.12."""
        tools: Any = getattr(sys, "monitoring", None)
        for tool_id in cls.TOOL_IDS if tools is not None else ():
            try:
                tools.use_tool_id(tool_id, cls.NAME)
            except ValueError:  # somebody else's, or ours that an interrupt left behind
                if tools.get_tool(tool_id) != cls.NAME:
                    continue
            return cls(tool_id)
        return None

    def start(self) -> None:
        for event, callback in self._callbacks.items():
            self._tools.register_callback(self.tool_id, event, callback)
        wanted = 0
        for event in self._callbacks:
            wanted |= event
        # C_RETURN and C_RAISE come with CALL and cannot be asked for by themselves
        self._tools.set_events(self.tool_id, wanted & ~(self._tools.events.C_RETURN | self._tools.events.C_RAISE))

    @classmethod
    def stop_all(cls) -> None:
        """Gives back every id that is ours."""
        tools: Any = getattr(sys, "monitoring", None)
        for tool_id in cls.TOOL_IDS if tools is not None else ():
            if tools.get_tool(tool_id) == cls.NAME:
                made = cls(tool_id)
                tools.set_events(tool_id, 0)
                for event in made._callbacks:
                    tools.register_callback(tool_id, event, None)
                tools.free_tool_id(tool_id)


class NativeTracer:
    """Traces threads in C: told by sys.monitoring where Python has it and an id is free, else by a profile hook."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder: Any = recorder
        self._threads: set[int] = set()  # those with a profile function of ours
        self._monitoring: _Monitoring | None = None

    def start(self) -> None:
        """Makes ready to trace; may be called again."""
        if self._monitoring is None:
            self._monitoring = _Monitoring.claim()
        if self._monitoring is not None:
            self._monitoring.start()

    def trace_thread(self, buffer: Any) -> None:
        """Traces the calling thread, whose buffer is given. Frames that already run become open rows."""
        if buffer.traced:
            return
        frames: list[FrameType] = []
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:
            frames.append(frame)
            frame = frame.f_back
        recorded: set[FrameType] = set()
        running = []
        for frame in reversed(frames):
            row = -1
            if is_recorded(frame, recorded):
                recorded.add(frame)
                label = self.recorder.labels.id_of(function_name(frame.f_code, frame.f_lineno), Kind.PYTHON)
                row = self.recorder.push_python(buffer, label)
                row = -3 if row == -1 else row  # recorded, but not kept
            running.append((frame, self.recorder._describe_code(frame.f_code)[0], row))
        buffer.begin_trace(
            running, self._monitoring is not None, self._monitoring is not None and self._monitoring.alone
        )
        if self._monitoring is None:
            self._threads.add(threading.get_ident())

    def is_displaced(self) -> bool:
        """Whether the calling thread was traced and now has another profile function, or none."""
        return threading.get_ident() in self._threads and type(sys.getprofile()).__name__ != "Hook"

    def stop(self, buffers: list[Any]) -> None:
        """Ends tracing and closes the rows of all frames. Other threads notice at their next call."""
        _Monitoring.stop_all()
        self._monitoring = None
        for buffer in buffers:
            buffer.end_trace()


def _system_trusts_counter() -> bool:
    """Whether the system itself keeps time by the processor's counter: then it runs evenly, and alike on all
    processors.
    """
    try:
        with open("/sys/devices/system/clocksource/clocksource0/current_clocksource") as source:
            return source.read().strip() == "tsc"
    except OSError:
        return False


def _clock_is_the_same() -> bool:
    """Whether the native clock is the one that Python's counter reads."""
    probe = NativeRecorder()
    before = time.perf_counter_ns()
    native = probe.clock_now()
    return before <= native <= time.perf_counter_ns()


def make() -> Recorder | None:
    """The native recorder, or None where it was not built, is switched off, or cannot read this numpy's arrays."""
    global _same_clock, _counter_is_trusted
    if _native is None or not native_call.READS_ARRAYS:
        return None
    _same_clock = _clock_is_the_same()
    _counter_is_trusted = _system_trusts_counter()
    return NativeRecorder()


_same_clock = _counter_is_trusted = False

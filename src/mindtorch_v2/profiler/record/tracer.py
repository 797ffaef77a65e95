"""Python calls as events: a profile function per traced thread writes rows into the thread's buffer."""

from __future__ import annotations

import gc
import sys
import threading
import warnings
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

from .kinds import Kind
from .python_recorder import Recorder
from .stacks import CLASSES, INTERNAL, builtin_name, function_name, is_own_function, is_recorded
from .thread_buffer import ThreadBuffer
from .thread_identity import identity

ProfileFunction = Callable[[FrameType, str, Any], Any]
# Each thread's last profile function. Before the interpreter calls it, it may collect garbage, whose finalisers may end
# tracing: the function must outlive that, and the interpreter holds only the one that is set.
_last = threading.local()
# From 3.12 on, setting and unsetting a profile function makes the interpreter rewrite all code.
_CAN_PAUSE = sys.version_info < (3, 12)


class PythonTracer:
    """Traces threads while `active`. The package's own frames, what they call in libraries, and everything inside an
    operator are left out: what other runtimes do in native code does not show."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.active = True
        self._code_labels: dict[CodeType, int] = {}
        self._builtin_labels: dict[tuple[Any, str], int] = {}  # 0: not recorded
        self._functions: list[Any] = []
        self._threads: set[int] = set()  # those with a profile function of ours

    def start(self) -> None:
        """Nothing is to be done before a thread is traced."""

    def trace_thread(self, buffer: ThreadBuffer) -> None:
        """Traces the calling thread, whose buffer is given. Frames that already run become open rows."""
        if buffer.traced:
            return
        buffer.traced = True
        frames: list[FrameType] = []
        frame: FrameType | None = sys._getframe(1)  # its own frame would hold a list that holds the frame
        while frame is not None:
            frames.append(frame)
            frame = frame.f_back
        for frame in reversed(frames):
            if is_recorded(frame, buffer.frames):
                name = function_name(frame.f_code, frame.f_lineno)
                label = self.recorder.labels.id_of(name, Kind.PYTHON)
                buffer.frames[frame] = self.recorder.push_python(buffer, label)
        previous: Any = sys.getprofile()
        if getattr(previous, "tracer", None) is not None:
            previous = previous.previous  # one of ours that had not yet noticed its end
        if previous is not None and not callable(previous):
            warnings.warn(
                f"Python calls are not traced on this thread: another profiler in C ({type(previous).__qualname__}) is "
                "running and cannot be shared from Python. End it first, or install mindtorch_v2 with its native part.",
                stacklevel=2,
            )
            return
        function = _last.function = _profile_function(self, buffer, previous)
        self._functions.append(function)
        if _CAN_PAUSE and previous is None:
            buffer.paused_by_ops = function
        sys.setprofile(function)
        self._threads.add(threading.get_ident())

    def is_displaced(self) -> bool:
        """Whether the calling thread was traced and now has another profile function, or none."""
        current: Any = sys.getprofile()
        return threading.get_ident() in self._threads and getattr(current, "tracer", None) is not self

    def stop(self, buffers: list[ThreadBuffer]) -> None:
        """Ends tracing and the rows of all frames, also around events that are open. Other threads notice at their next
        call: what they have open is theirs alone to change.
        """
        self.active = False
        current: Any = sys.getprofile()
        if getattr(current, "tracer", None) is self:
            sys.setprofile(current.previous)
        running = []
        for buffer in buffers:
            running.append((buffer, [*reversed(buffer.builtins.values()), *reversed(buffer.frames.values())]))
            buffer.frames.clear()
            buffer.builtins.clear()
            buffer.traced = False
            buffer.paused_by_ops = None
        for function in self._functions:
            function.release()
        self._functions.clear()
        now = self.recorder.now()  # where the clock fails, only the rows stay open
        own = identity.info.id
        for buffer, rows in running:
            for row in rows:
                if row >= 0:
                    buffer.ends += (row, now)
            buffer.has_ended_calls = bool(rows)
            if buffer.info.id == own:
                buffer.drop_ended_calls()
        self.recorder.rebind_threads()  # each drops the calls that have ended when it next comes by

    def call(self, buffer: ThreadBuffer, frame: FrameType) -> None:
        """A Python function begins."""
        code = frame.f_code
        if not is_recorded(frame, buffer.frames):
            return
        label = self._code_labels.get(code)
        if label is None:
            name = function_name(code, code.co_firstlineno)
            label = self._code_labels[code] = self.recorder.labels.id_of(name, Kind.PYTHON)
        buffer.frames[frame] = self.recorder.push_python(buffer, label)

    def call_builtin(self, buffer: ThreadBuffer, frame: FrameType, function: Any) -> None:
        """A function written in C begins, called by a recorded frame."""
        key = (type(getattr(function, "__self__", None)), getattr(function, "__name__", ""))
        label = self._builtin_labels.get(key)
        if label is None:
            label = self._builtin_labels[key] = (
                0 if is_own_function(function) else self.recorder.labels.id_of(builtin_name(function), Kind.BUILTIN)
            )
        if label == 0:
            return
        buffer.builtins[frame] = self.recorder.push_python(buffer, label)


def _profile_function(tracer: PythonTracer, buffer: ThreadBuffer, previous: ProfileFunction | None) -> ProfileFunction:
    """The profile function of one thread. A function that was there before keeps being called. This runs at every call
    and return, so it decides the common case, a frame that is not recorded, by itself."""
    frames, builtins, ops, now = buffer.frames, buffer.builtins, buffer.op_stacks, tracer.recorder.now

    def release() -> None:
        """Lets go of what was recorded: the function itself may be kept for long."""
        nonlocal frames, builtins, ops, buffer
        buffer = ThreadBuffer(buffer.info)
        frames, builtins, ops = buffer.frames, buffer.builtins, buffer.op_stacks

    def trace(frame: FrameType, event: str, arg: Any) -> None:
        if not ops:
            if event == "return":
                row = frames.pop(frame, None)
                if row is not None:
                    buffer.end(row, now())
            elif not tracer.active:
                sys.setprofile(previous)
            elif event == "call":
                if CLASSES.get(frame.f_code) != INTERNAL:
                    tracer.call(buffer, frame)
            elif frame in frames:
                if event == "c_call":
                    tracer.call_builtin(buffer, frame, arg)
                else:
                    row = builtins.pop(frame, None)
                    if row is not None:
                        buffer.end(row, now())
        if previous is not None:
            previous(frame, event, arg)

    trace.tracer, trace.previous, trace.release = tracer, previous, release  # type: ignore[attr-defined]
    return trace


class GarbageWatch:
    """Records collections of Python's garbage collector as events under what triggered them."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._rows: list[tuple[ThreadBuffer, int]] = []

    def start(self) -> None:
        """Watches from now on; may be called again."""
        if self._note not in gc.callbacks:
            gc.callbacks.append(self._note)

    def stop(self) -> None:
        """Watches no more; may be called again."""
        while self._note in gc.callbacks:
            gc.callbacks.remove(self._note)

    def _note(self, phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            buffer = self._recorder.thread_buffer()
            if buffer is not None:
                label = self._recorder.labels.id_of("Python GC", Kind.GC)
                self._rows.append((buffer, self._recorder.push_python(buffer, label)))
        elif self._rows:
            buffer, row = self._rows.pop()
            buffer.end(row, self._recorder.now())

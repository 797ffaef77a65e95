"""Python calls as events: a profile function per traced thread writes rows into the thread's buffer."""
from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

from ._fields import Kind
from ._recorder import Recorder, ThreadBuffer
from ._stacks import INTERNAL, LIBRARY, builtin_name, code_class, function_name

SKIPPED = -1
ProfileFunction = Callable[[FrameType, str, Any], Any]


class PythonTracer:
    """Traces threads while `active`. The package's own frames, and what they call in libraries, are left out: what
    other runtimes do in native code does not show."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self.active = True
        self._code_labels: dict[CodeType, int] = {}
        self._builtin_labels: dict[tuple[Any, str], int] = {}

    def trace_thread(self, buffer: ThreadBuffer) -> None:
        """Traces the calling thread, whose buffer is given. Frames that already run become open rows."""
        if buffer.traced:
            return
        buffer.traced = True
        frames: list[FrameType] = []
        frame: FrameType | None = sys._getframe(0)
        while frame is not None:
            frames.append(frame)
            frame = frame.f_back
        for frame in reversed(frames):
            self._enter(buffer, frame, frame.f_lineno)
        sys.setprofile(self._profile_function(buffer, sys.getprofile()))

    def stop(self, buffers: list[ThreadBuffer]) -> None:
        """Ends tracing and closes the rows of all frames. Other threads notice at their next call."""
        self.active = False
        current: Any = sys.getprofile()
        if getattr(current, "tracer", None) is self:
            sys.setprofile(current.previous)
        now = self._recorder.now()
        for buffer in buffers:
            for row in reversed(buffer.marks):
                if row != SKIPPED:
                    buffer.end(row, now)
            buffer.marks = []
            buffer.traced = False

    def _profile_function(self, buffer: ThreadBuffer, previous: Any) -> ProfileFunction:
        if getattr(previous, "tracer", None) is not None:
            previous = previous.previous
        return _ThreadTracer(self, buffer, previous)

    def _enter(self, buffer: ThreadBuffer, frame: FrameType, line: int | None = None) -> None:
        code = frame.f_code
        kind = code_class(code)
        if kind == INTERNAL or (kind == LIBRARY and buffer.marks and buffer.marks[-1] == SKIPPED):
            buffer.marks.append(SKIPPED)
            return
        buffer.marks.append(self._recorder.push_python(buffer, self._label(code, line)))

    def _label(self, code: CodeType, line: int | None) -> int:
        if line is not None:
            return self._recorder.labels.number(function_name(code, line), Kind.PYTHON)
        label = self._code_labels.get(code)
        if label is None:
            name = function_name(code, code.co_firstlineno)
            label = self._code_labels[code] = self._recorder.labels.number(name, Kind.PYTHON)
        return label

    def call(self, buffer: ThreadBuffer, frame: FrameType) -> None:
        self._enter(buffer, frame)

    def call_builtin(self, buffer: ThreadBuffer, function: Any) -> None:
        """Recorded where the calling frame is."""
        marks = buffer.marks
        if not marks or marks[-1] == SKIPPED:
            marks.append(SKIPPED)
            return
        key = (type(getattr(function, "__self__", None)), getattr(function, "__name__", ""))
        label = self._builtin_labels.get(key)
        if label is None:
            label = self._builtin_labels[key] = self._recorder.labels.number(builtin_name(function), Kind.BUILTIN)
        marks.append(self._recorder.push_python(buffer, label))

    def leave(self, buffer: ThreadBuffer) -> None:
        marks = buffer.marks
        if marks:
            row = marks.pop()
            if row != SKIPPED:
                buffer.end(row, self._recorder.now())


class _ThreadTracer:
    """The profile function of one thread. A function that was there before keeps being called."""

    __slots__ = ("tracer", "buffer", "previous")

    def __init__(self, tracer: PythonTracer, buffer: ThreadBuffer, previous: ProfileFunction | None) -> None:
        self.tracer, self.buffer, self.previous = tracer, buffer, previous

    def __call__(self, frame: FrameType, event: str, arg: Any) -> None:
        tracer = self.tracer
        if not tracer.active:
            sys.setprofile(self.previous)
        elif event == "call":
            tracer.call(self.buffer, frame)
        elif event == "c_call":
            tracer.call_builtin(self.buffer, arg)
        else:
            tracer.leave(self.buffer)
        if self.previous is not None:
            self.previous(frame, event, arg)


class GarbageWatch:
    """Records collections of Python's garbage collector as events under what triggered them."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._rows: list[tuple[ThreadBuffer, int]] = []
        gc.callbacks.append(self._note)

    def stop(self) -> None:
        gc.callbacks.remove(self._note)

    def _note(self, phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            buffer = self._recorder.thread_buffer()
            if buffer is not None:
                label = self._recorder.labels.number("Python GC", Kind.GC)
                self._rows.append((buffer, self._recorder.push_python(buffer, label)))
        elif self._rows:
            buffer, row = self._rows.pop()
            buffer.end(row, self._recorder.now())

"""Sessions: windows onto the recorder. Any number may be open at once; each gets all of its own events."""
from __future__ import annotations

import itertools
import json
import os
import socket
import sys
import threading
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from .. import _observer
from .._dispatch.modes import install_observer, remove_observer
from . import _clock
from ._build import Span, Window, build_store, recorded, stray_memory
from ._devices import described, watch_of
from ._fields import PYTHON_KINDS, Kind
from ._held import Held, held_blocks
from ._meeting import Meeting
from ._native_recorder import NativeRecorder, NativeTracer
from ._recorder import MODULES, SHAPES, STACKS, Handle, Listener, Position, ThreadBuffer, recorder
from ._store import EventStore, Metadata, Options
from ._tracer import GarbageWatch, PythonTracer

_lock = threading.RLock()     # held while a session starts or stops, never while an event is recorded
_sessions: list[Session] = []
_tracer: PythonTracer | NativeTracer | None = None
_garbage: GarbageWatch | None = None
_meeting: Meeting | None = None
_numbers = itertools.count(1)
_DISPLACED = ("Python calls are missing from this profile: sys.setprofile or cProfile was begun inside it, and before Python 3.12 a thread "
              "has one profile function only. Begin it before the profile (then both see everything), or use another version of Python.")


class Session:
    """One window. `start` and `stop` may be called on different threads; the thread that starts it is recorded. What a
    `warming` one records is of no use to anyone: it exists so that calls are observed for the first time before it counts."""

    def __init__(self, options: Options, warming: bool = False, use_device: str | None = None) -> None:
        self.options = options
        self.use_device = use_device
        self._watch: Any = None          # of the device's launches
        self._first_launch = 0
        self._device: Any = None         # what ran on devices, once the window has ended
        self._displaced = False          # another profile function took the place of the one that records Python calls
        self.warming = warming
        self.number = next(_numbers)
        self.running = False
        self.thread = 0
        self.start_ns = self.stop_ns = self.epoch_offset_ns = 0
        self._spans: dict[int, tuple[ThreadBuffer, list[Span]]] = {}
        self._collecting = False
        self._stray_at = self._dropped_at = 0
        self._steps: list[tuple[int, int]] = []
        self._held: list[tuple[int, bool, list[Held]]] = []

    def start(self, step: int = 0) -> None:
        """Begins to record."""
        with _lock:
            if not _sessions and not recorder.listeners:
                recorder.reset()
            _sessions.append(self)
            self.running = True
            try:
                self._begin(step)
            except BaseException:       # an interrupt, a clock or a device that fails: nothing stays half begun
                self.running = False
                self._let_go()
                _forget_unused()
                raise

    def _begin(self, step: int) -> None:
        _apply_options()
        self.epoch_offset_ns = _clock.current().epoch_offset()
        self.thread = recorder.adopt().info.number
        self._stray_at, self._dropped_at = recorder.stray_count, recorder.dropped
        self._watch = watch_of(self.use_device)
        if self._watch is not None:
            self._first_launch = self._watch.start()
        install_observer(recorder)
        self._open_spans()
        held = self._look(new=True)
        self.start_ns = recorder.now()
        self._held.append((self.start_ns, False, held))
        self._steps.append((self.start_ns, step))

    def _covered(self) -> list[ThreadBuffer]:
        everyone = self.options.profile_all_threads or self.options.with_stack      # of others perhaps only Python calls
        return [b for n, b in list(recorder.buffers.items()) if everyone or n == self.thread]

    def _look(self, new: bool = False) -> list[Held]:
        """The blocks that tensors hold, where memory is profiled."""
        return held_blocks(new) if self.options.profile_memory and not self.warming else []

    def _open_spans(self) -> None:
        self._collecting = True
        for buffer in self._covered():
            carried = _open_frames(buffer) if self.options.with_stack else ()
            span = Span(buffer.position(), carried)
            self._spans.setdefault(buffer.info.number, (buffer, []))[1].append(span)

    def _close_spans(self) -> None:
        for buffer in self._covered() if self._collecting else []:
            if buffer.info.number not in self._spans:      # a thread that came later: all it did is inside
                self._spans[buffer.info.number] = (buffer, [Span(Position(0, 0, 0, 0, 0, 0, 0))])
            self._spans[buffer.info.number][1][-1].stop = buffer.position()
        self._collecting = False

    def toggle(self, on: bool) -> None:
        """Leaves events out from now on, or takes them in again."""
        with _lock:
            if self.running and on != self._collecting:
                if on:
                    self._open_spans()
                    self._held.append((recorder.now(), False, self._look(new=True)))
                else:
                    self._close_spans()

    def mark_step(self, step: int) -> None:
        """Events from now on belong to this step."""
        if self.running:
            self._steps.append((recorder.now(), step))

    def open_step(self, step: int) -> Handle | None:
        """Opens the event of a step, which only this session shows."""
        if not self.running:
            return None
        return recorder.open(Kind.STEP, f"ProfilerStep#{step}", sequence_nr=self.number)

    def stop(self, trace_id: str = "", user: Mapping[str, str] | None = None, use_device: str | None = None,
             record_function_base: int | None = None) -> EventStore:
        """Ends the window and gives its events. In a forked child, where nothing was recorded, they are none."""
        return self.finish(trace_id, user, use_device, record_function_base)()

    def finish(self, trace_id: str = "", user: Mapping[str, str] | None = None, use_device: str | None = None,
               record_function_base: int | None = None) -> Callable[[], EventStore]:
        """Ends the window. What it gives makes the events when called: nothing is done per event before."""
        with _lock:
            metadata = partial(self._metadata, trace_id, user, use_device, record_function_base)
            if not self.running:
                return lambda: EventStore(metadata=metadata())
            try:
                self._end()
                if self._displaced:
                    warnings.warn(_DISPLACED, stacklevel=2)
                return partial(build_store, self._window(), metadata())
            finally:
                self._spans = {}
                _forget_unused()

    def _window(self) -> Window:
        threads = [recorded(buffer, [s for s in spans if s.stop is not None],
                            number != self.thread and not self.options.profile_all_threads)
                   for number, (buffer, spans) in self._spans.items()]
        return Window(self.number, self.start_ns, self.stop_ns, self.options, threads, stray_memory(recorder, self._stray_at),
                      recorder.labels, recorder.inputs, recorder.modules, recorder.stacks, recorder.dropped - self._dropped_at,
                      self._steps, self._device, self._held)

    def discard(self) -> None:
        """Ends the window without making anything of it."""
        with _lock:
            if self.running:
                try:
                    self._end()
                finally:
                    self._spans = {}
                    _forget_unused()

    def _end(self) -> None:
        """Stops recording for this window, even where the clock or the device fails."""
        self.running = False
        try:
            self.stop_ns = recorder.now()
            self._close_spans()
            self._displaced = self.options.with_stack and _tracer is not None and _tracer.is_displaced()
            self._held.append((self.stop_ns, True, self._look()))
        finally:
            self._let_go()

    def _let_go(self) -> None:
        """Ends what was begun for this session alone."""
        watch, self._watch = self._watch, None
        try:
            if watch is not None:
                self._device = watch.stop(self._first_launch)
        finally:
            _sessions.remove(self)
            if not _sessions and not recorder.listeners:
                remove_observer()
            _apply_options()

    def _metadata(self, trace_id: str, user: Mapping[str, str] | None, use_device: str | None,
                  record_function_base: int | None) -> Metadata:
        notes, properties = ({}, "[]") if self._device is None else (described(self._device, use_device or ""), self._device.properties)
        if self._displaced:
            notes = {**notes, "python_calls": json.dumps("incomplete: another profile function was set meanwhile")}
        return Metadata(self.start_ns, self.stop_ns, self.epoch_offset_ns, os.getpid(), _process_name(),
                        socket.gethostname(), trace_id, use_device, self.options, {**(user or {}), **notes},
                        record_function_base=record_function_base, device_properties=properties)


def any_running() -> bool:
    """Whether any thread is being recorded."""
    return any(not session.warming for session in _sessions)


def is_recording() -> bool:
    """Whether the calling thread is being recorded."""
    return any_running() and recorder.thread_buffer() is not None


def add_listener(listener: Listener) -> None:
    """Shows every call to `listener` from now on."""
    with _lock:
        if not _sessions and not recorder.listeners:
            recorder.reset()
        recorder.listeners = (*recorder.listeners, listener)
        _apply_options()
        install_observer(recorder)


def remove_listener(listener: Listener) -> None:
    """Stops showing calls to `listener`; harmless if it was not there."""
    with _lock:
        recorder.listeners = tuple(x for x in recorder.listeners if x is not listener)
        if not _sessions and not recorder.listeners:
            remove_observer()
        _apply_options()
        _forget_unused()


def _process_name() -> str:
    return os.path.basename(sys.executable) or "python"


def _open_frames(buffer: ThreadBuffer) -> tuple[int, ...]:
    """The Python calls that are running on the thread."""
    return tuple(row for row, label in buffer.open_rows() if recorder.labels.label(label).kind in PYTHON_KINDS)


def _apply_options() -> None:
    """Makes the recorder record what any of the sessions asks for."""
    global _tracer, _garbage, _meeting
    asked = [s.options for s in _sessions]
    stacks, modules = any(o.with_stack for o in asked), any(o.with_modules for o in asked)
    recorder.set_details((SHAPES if any(o.describes_inputs for o in asked) else 0) | (STACKS if stacks else 0)
                         | (MODULES if modules or stacks else 0))
    recorder.all_threads = any(o.profile_all_threads for o in asked)
    recorder.watch_memory(any(o.profile_memory for o in asked))
    _bound(asked)
    if _observer.active is recorder:
        install_observer(recorder)      # what it watches may have changed
    if stacks and _tracer is None:
        _tracer = NativeTracer(recorder) if isinstance(recorder, NativeRecorder) else PythonTracer(recorder)
        recorder.on_adopt = _tracer.trace_thread
        recorder.meet_again()
        _meeting = Meeting(recorder.adopt_calls)
    elif not stacks and _tracer is not None:
        recorder.on_adopt = None
        if _meeting is not None:
            _meeting.stop()
            _meeting = None
        ended, _tracer = _tracer, None
        ended.stop(list(recorder.buffers.values()))
    if _meeting is not None:
        _meeting.expect(any(o.with_stack for o in asked) and recorder.all_threads)
    garbage = any(o.with_stack and o.record_python_gc_info for o in asked)
    if garbage and _garbage is None:
        _garbage = GarbageWatch(recorder)
    elif not garbage and _garbage is not None:
        _garbage.stop()
        _garbage = None


def _bound(asked: list[Options]) -> None:
    """Bounds the recorder where all sessions allow it. Where they differ, each cuts its own events to size when it ends."""
    bounds = {(o.max_events, o.keep) for o in asked}
    newest = {o.keep for o in asked} == {"newest"}
    if len(bounds) == 1 or (newest and all(o.max_events for o in asked)):
        recorder.bound(max(limit for limit, _ in bounds), newest)
    else:
        recorder.bound(0, False)


def _forget_unused() -> None:
    if not _sessions and not recorder.listeners:
        recorder.reset()
    elif not recorder.all_threads:
        recorder.release({s.thread for s in _sessions})


def _after_fork_in_child() -> None:
    """The child's calls are its own business: the parent's profile goes on in the parent only."""
    global _lock, _tracer, _garbage, _meeting
    _lock = threading.RLock()
    for session in _sessions:
        session.running = False
    _sessions.clear()
    if _tracer is not None:
        _tracer.stop(list(recorder.buffers.values()))
    if _garbage is not None:
        _garbage.stop()
    if _meeting is not None:
        _meeting.stop()
    _tracer = _garbage = _meeting = None
    recorder.listeners = ()
    recorder.watch_memory(False)
    recorder.watches_modules = recorder.watches_outputs = False
    recorder.reset()
    remove_observer()


os.register_at_fork(after_in_child=_after_fork_in_child)

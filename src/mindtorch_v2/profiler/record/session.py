"""Sessions: windows onto the recorder. Any number may be open at once; each gets all of its own events."""

from __future__ import annotations

import itertools
import json
import os
import socket
import threading
import warnings
from collections.abc import Mapping, Sequence

from ..._dispatch.modes import call_locked, install_observer, remove_observer
from ..._guarded import guarded
from . import clock
from .descriptions import Metadata, Options, process_name
from .devices import DeviceResults, Watches, watch_of
from .kinds import PYTHON_KINDS, Kind
from .live_blocks import LiveBlock, find_live_blocks
from .machine_load import MachineLoad
from .native_recorder import NativeRecorder, NativeTracer
from .recorder import Handle, Listener, recorder
from .row_format import MODULES, REFERENCES, SHAPES, STACKS, Position
from .thread_buffer import ThreadBuffer
from .thread_hooks import ThreadHook
from .tracer import GarbageWatch, PythonTracer
from .window import Recording, Span, Window, recorded, stray_memory
from .yardstick import NO_YARDSTICK, Yardstick, yardstick_of

_lock = threading.RLock()  # held while a session starts or stops, never while an event is recorded
_sessions: list[Session] = []
_tracer: PythonTracer | NativeTracer | None = None
_garbage: GarbageWatch | None = None
_thread_hook: ThreadHook | None = None
_is_tracing = False  # whether all is done that tracing needs
_ids = itertools.count(1)
_DISPLACED = (
    "Python calls are missing from this profile: sys.setprofile or cProfile was begun inside it, and before Python "
    "3.12 a thread has one profile function only. Begin it before the profile (then both see everything), or use "
    "another version of Python."
)


class Session:
    """One window. `start` and `stop` may be called on different threads; the thread that starts it is recorded. What a
    `warming` one records is of no use to anyone: it exists so that calls are observed for the first time before it
    counts.
    """

    is_background = False  # whether it records without the program having asked for a profile

    def __init__(self, options: Options, warming: bool = False, devices: Sequence[str] = ()) -> None:
        self.options = options
        self.devices = tuple(devices)  # whose launches are watched
        self._watch: Watches | None = None
        self._device: DeviceResults | None = None  # what ran on devices, once the window has ended
        self._is_displaced = False  # another profile function replaced the one that records Python calls
        self._told = False  # whether that was said
        self.warming = warming
        self.id = next(_ids)
        self.running = self._is_ending = False
        self.thread = 0
        self.start_ns = self.stop_ns = self.epoch_offset_ns = 0
        self._spans: dict[int, tuple[ThreadBuffer, list[Span]]] = {}
        self._collecting = False
        self._stray_at = self._dropped_at = self._owned_at = 0
        self._steps: list[tuple[int, int]] = []
        self._live_blocks: list[tuple[int, bool, list[LiveBlock]]] = []
        self._last_window: Window | None = None
        self._load = MachineLoad(not warming and not self.is_background)
        self.speed: Yardstick = NO_YARDSTICK  # to be read between steps

    @guarded("_give_up")
    def start(self, step: int = 0) -> None:
        """Begins to record. Where that fails or is interrupted, nothing stays half begun."""
        call_locked(_lock, self._begin, step)

    def _begin(self, step: int) -> None:
        if not _sessions and not recorder.listeners:
            recorder.reset()
        _sessions.append(self)
        self.running = True
        _settle()
        self.epoch_offset_ns = clock.current().epoch_offset()
        self.thread = recorder.adopt().info.id
        self._stray_at, self._dropped_at = recorder.stray_count, recorder.dropped
        self._owned_at = len(recorder.owned.rows)
        self._watch = watch_of(self.devices)
        if self._watch is not None:
            self._watch.start()
        self._open_spans()
        recorder.begin_window()
        held = self._look(new=True)
        self._load.start()
        self.speed = yardstick_of(not self.warming and not self.is_background)
        self.start_ns = recorder.now()
        self._live_blocks.append((self.start_ns, False, held))
        self._steps.append((self.start_ns, step))

    def _covered(self) -> list[ThreadBuffer]:
        # of others perhaps only Python calls
        everyone = self.options.profile_all_threads or self.options.with_stack
        return [b for n, b in list(recorder.buffers.items()) if everyone or n == self.thread]

    def _look(self, new: bool = False) -> list[LiveBlock]:
        """The blocks that tensors hold, where memory is profiled."""
        return find_live_blocks(new) if self.options.profile_memory and not self.warming else []

    def _open_spans(self) -> None:
        self._collecting = True
        for buffer in self._covered():
            carried = _open_frames(buffer) if self.options.with_stack else ()
            span = Span(buffer.position(), carried)
            self._spans.setdefault(buffer.info.id, (buffer, []))[1].append(span)

    def _close_spans(self) -> None:
        if not self._collecting:
            return
        for buffer in self._covered():
            if buffer.info.id not in self._spans:  # a thread that came later: all it did is inside
                self._spans[buffer.info.id] = (buffer, [Span(Position(0, 0, 0, 0, 0, 0, 0))])
        # Other sessions may have released some of the buffers since; what they hold is still there.
        for buffer, spans in self._spans.values():
            if spans[-1].stop is None:
                spans[-1].stop = buffer.position()
        self._collecting = False

    def toggle(self, on: bool) -> None:
        """Leaves events out from now on, or takes them in again."""
        call_locked(_lock, self._toggle, on)

    def _toggle(self, on: bool) -> None:
        if self.running and on != self._collecting:
            if on:
                self._open_spans()
                self._live_blocks.append((recorder.now(), False, self._look(new=True)))
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
        return recorder.open(Kind.STEP, f"ProfilerStep#{step}", sequence_nr=self.id)

    @guarded("end")
    def finish(
        self,
        trace_id: str = "",
        user: Mapping[str, str] | None = None,
        use_device: str | None = None,
        record_function_base: int | None = None,
    ) -> Recording:
        """Ends the window and gives what it recorded. Nothing is done per event: `store.build.build_store` does
        that. Where it was interrupted, the window has ended too, and another call gives what it recorded.
        """
        call_locked(_lock, self._end)
        if self._is_displaced and not self._told:
            self._told = True
            warnings.warn(_DISPLACED, stacklevel=2)
        return Recording(self._metadata(trace_id, user, use_device, record_function_base), self._last_window)

    def _window(self) -> Window:
        threads = [
            recorded(
                buffer,
                [s for s in spans if s.stop is not None],
                thread != self.thread and not self.options.profile_all_threads,
            )
            for thread, (buffer, spans) in self._spans.items()
        ]
        return Window(
            self.id,
            self.start_ns,
            self.stop_ns,
            self.options,
            threads,
            stray_memory(recorder, self._stray_at),
            recorder.labels,
            recorder.inputs,
            recorder.modules,
            recorder.stacks,
            recorder.dropped - self._dropped_at,
            self._steps,
            self._device,
            self._live_blocks,
            tuple(recorder.owned.rows[self._owned_at :]),
        )

    @guarded("_give_up")
    def discard(self) -> None:
        """Ends the window without making anything of it."""
        self._give_up()

    def end(self) -> None:
        """Ends the window and keeps what it recorded; even where the clock or the device fails."""
        try:
            call_locked(_lock, self._end)
        except Exception:  # noqa: BLE001 - then nothing is kept
            self._give_up()

    def _end(self) -> None:
        """Ends the window, once. Where that was interrupted, the next call goes on with it."""
        if self not in _sessions and not self._is_ending:
            return
        self._is_ending = True
        self.running = False
        try:
            self.stop_ns = self.stop_ns or recorder.now()
            self._load.stop()
            self._close_spans()
            self._is_displaced = self.options.with_stack and _tracer is not None and _tracer.is_displaced()
            if not any(is_end for _, is_end, _ in self._live_blocks):
                self._live_blocks.append((self.stop_ns, True, self._look()))
            self._stop_watch()
        finally:
            self._leave()
        self._last_window = self._last_window or self._window()
        self._spans = {}
        self._is_ending = False
        _forget_unused()

    def _give_up(self) -> None:
        """Ends the window, whatever state it is in, and forgets what it recorded."""
        self.running = self._is_ending = False
        call_locked(_lock, self._leave)
        self._spans = {}
        self._stop_watch()
        call_locked(_lock, _forget_unused)

    def _stop_watch(self) -> None:
        watch, self._watch = self._watch, None
        if watch is not None:
            self._device = watch.stop()

    def _leave(self) -> None:
        """Takes the session off the register."""
        while self in _sessions:
            _sessions.remove(self)
        _settle()

    def _metadata(
        self, trace_id: str, user: Mapping[str, str] | None, use_device: str | None, record_function_base: int | None
    ) -> Metadata:
        notes, properties = ({}, "[]") if self._device is None else (self._device.described(), self._device.properties)
        if self._is_displaced:
            notes = {**notes, "python_calls": json.dumps("incomplete: another profile function was set meanwhile")}
        return Metadata(
            self.start_ns,
            self.stop_ns,
            self.epoch_offset_ns,
            os.getpid(),
            process_name(),
            socket.gethostname(),
            trace_id,
            use_device,
            self.options,
            {**(user or {}), **notes},
            record_function_base=record_function_base,
            device_properties=properties,
            machine_load=self._load.shares,
            yardstick=self.speed.name,
            speed=tuple(self.speed.readings),
        )


def any_running() -> bool:
    """Whether any thread is being recorded."""
    return any(not session.warming and not session.is_background for session in _sessions)


def is_recording() -> bool:
    """Whether the calling thread is being recorded."""
    return any_running() and recorder.thread_buffer() is not None


def add_listener(listener: Listener) -> None:
    """Shows every call to `listener` from now on."""
    call_locked(_lock, _add_listener, listener)


def _add_listener(listener: Listener) -> None:
    if not _sessions and not recorder.listeners:
        recorder.reset()
    recorder.listeners = (*recorder.listeners, listener)
    _settle()


def remove_listener(listener: Listener) -> None:
    """Stops showing calls to `listener`; harmless if it was not there."""
    call_locked(_lock, _remove_listener, listener)


def _remove_listener(listener: Listener) -> None:
    recorder.listeners = tuple(x for x in recorder.listeners if x is not listener)
    _settle()
    _forget_unused()


def _open_frames(buffer: ThreadBuffer) -> tuple[int, ...]:
    """The Python calls that are running on the thread."""
    return tuple(row for row, label in buffer.open_rows() if recorder.labels.label(label).kind in PYTHON_KINDS)


def _settle() -> None:
    """Makes the recorder, its hooks and the observer's slot what the registered sessions and listeners ask for. What
    it does depends on them alone, so that a call that was interrupted is made good by the next.
    """
    global _tracer, _garbage, _thread_hook, _is_tracing
    asked = [s.options for s in _sessions]
    stacks, modules = any(o.with_stack for o in asked), any(o.with_modules for o in asked)
    references = any(o.record_shapes and o.profile_memory for o in asked)
    recorder.set_details(
        (SHAPES if any(o.describes_inputs for o in asked) else 0)
        | (STACKS if stacks else 0)
        | (MODULES if modules or stacks else 0)
        | (REFERENCES if references else 0)
    )
    recorder.all_threads = any(o.profile_all_threads for o in asked)
    recorder.watch_memory(any(o.profile_memory for o in asked))
    _bound(asked)
    if _sessions or recorder.listeners:
        install_observer(recorder)
    else:
        remove_observer()
    if stacks and not _is_tracing:
        if _tracer is None:
            _tracer = NativeTracer(recorder) if isinstance(recorder, NativeRecorder) else PythonTracer(recorder)
        _tracer.start()
        recorder.on_adopt = _tracer.trace_thread
        recorder.rebind_threads()
        _thread_hook = _thread_hook or ThreadHook(recorder.adopt_calls)
        _thread_hook.start()
        _is_tracing = True
    elif not stacks and _tracer is not None:
        _is_tracing, recorder.on_adopt = False, None
        if _thread_hook is not None:
            _thread_hook.stop()
            _thread_hook = None
        _tracer.stop(list(recorder.buffers.values()))
        _tracer = None
    if _thread_hook is not None:
        _thread_hook.watch_new_threads(any(o.with_stack for o in asked) and recorder.all_threads)
    garbage = any(o.with_stack and o.record_python_gc_info for o in asked)
    if garbage and _garbage is None:
        _garbage = GarbageWatch(recorder)
    if _garbage is not None:
        (_garbage.start if garbage else _garbage.stop)()
        _garbage = _garbage if garbage else None


def _bound(asked: list[Options]) -> None:
    """Bounds the recorder where all sessions allow it.

    Where they differ, each cuts its own events to size when it ends.
    """
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
    global _lock, _tracer, _garbage, _thread_hook, _is_tracing
    _lock = threading.RLock()
    for session in _sessions:
        session.running = False
    _sessions.clear()
    if _tracer is not None:
        _tracer.stop(list(recorder.buffers.values()))
    if _garbage is not None:
        _garbage.stop()
    if _thread_hook is not None:
        _thread_hook.stop()
    _tracer = _garbage = _thread_hook = None
    _is_tracing = False
    recorder.listeners = ()
    recorder.watch_memory(False)
    recorder.watches_modules = recorder.watches_outputs = False
    recorder.reset()
    remove_observer()


os.register_at_fork(after_in_child=_after_fork_in_child)

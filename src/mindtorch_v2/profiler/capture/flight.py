"""The flight recorder: always on, within a share of the program's time and a bound of memory; when something happens,
the last seconds are there."""

from __future__ import annotations

import atexit
import itertools
import os
import selectors
import signal
import sys
import threading
import time
import traceback
import weakref
from collections import Counter, deque
from collections.abc import Callable
from typing import Any

from ..._dispatch.modes import call_locked
from ..._guarded import guarded
from ...optim import optimizer as optimizers
from ..record import clock
from ..record.continuous import ContinuousSession, can_split, is_crowded
from ..record.descriptions import Options
from ..record.recorder import recorder
from ..store import storefile
from .exceptions import ExceptionHooks
from .pacing import GO_ON, PAUSE, Pace, measured_event_ns
from .segments import SegmentRing, noted, store_of
from .settings import FlightSettings
from .signals import SignalPipe
from .spill import SegmentFolder, folder_of
from .steps import StepClock, slow_limit, usual_length

THREAD_NAME = "mindprof flight recorder"
_TICK_S = 0.1  # how often the thread looks where no signal wakes it
_LATE_NS = 200_000_000  # a segment that no step ends for so long is ended by the thread
_STACK_FRAMES = 100
_STEPS_SHOWN = 1 << 14


class FlightRecorder:
    """A recorder that is on; `flight_recorder()` makes it. All methods may be called on any thread."""

    def __init__(
        self, settings: FlightSettings, pace: Pace | None = None, cpu_clock: Callable[[], int] = time.process_time_ns
    ) -> None:
        self.settings = settings
        self.pid = os.getpid()
        self.dumps: list[str] = []
        self._steps = StepClock(_fake_clock(), self._step_ended)
        self._known_steps = self._known_slow = self._usual_ns = 0
        self._pace = pace or Pace(settings.overhead, measured_event_ns())
        self._span_ns = int(settings.seconds * 1e9)
        self._options = Options(
            record_shapes=settings.record_shapes,
            profile_memory=settings.profile_memory,
            with_stack=settings.with_stack,
            with_modules=settings.with_modules,
            profile_all_threads=True,
            max_events=settings.max_events // 2,  # the segments that are kept have the other half
        )
        self._ring = SegmentRing(self._span_ns, settings.max_events // 2)
        self._folder = SegmentFolder(folder_of(settings.directory, self.pid), self._span_ns)
        self._session: ContinuousSession | None = None
        self._run = 0  # changes where recording was interrupted
        self._cpu_clock = cpu_clock  # recording takes a share of the time that the program works, not of what it waits
        self._begun_ns = self._begun_cpu_ns = self._owed_ns = self._recorded_ns = self._started_ns = 0
        self._aligned: deque[tuple[int, int]] = deque(maxlen=1024)
        self._seen_events = 0
        self._lock = threading.RLock()
        self._unsaved_segments: list[Any] = []  # segments that are to be written to the folder
        self._file_ids = itertools.count(1)
        # of "slow-step" and of "stuck": files written, and until when no other is
        self._automatic, self._quiet_until_ns = Counter[str](), Counter[str]()
        self._moved_ns, self._progress, self._is_stuck = 0, (0, 0), False
        self._wake_read, self._wake_write = -1, -1
        self._signals: list[SignalPipe] = []
        self._thread: threading.Thread | None = None
        self._exceptions = ExceptionHooks(self._raised)
        self.running = False

    # --- on and off ---------------------------------------------------------------------------------------------------
    @guarded("_end")
    def start(self, with_thread: bool = True) -> None:
        """Begins to record. Without a thread, whoever calls `look` now and then does its work."""
        self._folder.create()
        self._wake_read, self._wake_write = os.pipe()
        os.set_blocking(self._wake_write, False)
        self.running = True
        call_locked(self._lock, self._begin)
        self._started_ns = self._moved_ns = self._begun_ns  # the clock is that of the session, which has begun now
        optimizers.on_step.append(self._steps.end_step)
        self._exceptions.install()
        self._signals = [pipe for pipe in map(SignalPipe, self.settings.signals) if pipe.open()]
        if with_thread:
            self._thread = threading.Thread(target=self._watch, name=THREAD_NAME, daemon=True)
            self._thread.start()
        if self._folder.error is not None:
            _say(f"segments are not kept on disk: {self._folder.error}")

    @guarded("_end")
    def stop(self) -> None:
        """Ends recording for good. What was dumped stays; the segments on disk are removed."""
        if self.running:
            self._end()

    def _end(self) -> None:
        """Ends whatever has begun. Where that was interrupted, the next call goes on with it."""
        if os.getpid() != self.pid:
            return
        self.running = False
        thread = self._thread
        if thread is not None and thread.ident is not None and thread is not threading.current_thread():
            self._wake()
            thread.join()
        call_locked(self._lock, self._pause)
        self._let_go()
        self._folder.remove()

    def _let_go(self) -> None:
        """Takes back whatever tells this recorder of something."""
        if self._steps.end_step in optimizers.on_step:
            optimizers.on_step.remove(self._steps.end_step)
        self._exceptions.remove()
        for pipe in self._signals:
            pipe.close()
        ends, self._wake_read, self._wake_write = (self._wake_read, self._wake_write), -1, -1
        for end in (end for end in ends if end >= 0):
            os.close(end)

    @guarded("_end")
    def __enter__(self) -> FlightRecorder:
        return self

    @guarded("_end")
    def __exit__(self, *exc: object) -> None:
        self.stop()

    def abandon(self) -> None:
        """In a forked child: the recorder goes on in the parent only, and signals are the child's own again."""
        self.running = False
        self._session = None
        self._let_go()

    # --- segments -----------------------------------------------------------------------------------------------------
    def _begin(self) -> None:
        self._session = ContinuousSession(self._options)
        self._session.start()
        self._run += 1
        self._note_beginning(self._session.start_ns)

    def _note_beginning(self, now_ns: int) -> None:
        self._begun_ns, self._begun_cpu_ns = now_ns, self._cpu_clock()
        self._steps.turn_ns = now_ns + self._pace.probe_ns

    def _pause(self) -> None:
        session = self._session
        if session is not None:
            recording = session.finish()  # interrupted, it is finished by the next call
            self._session = None
            self._keep(recording)

    def _split(self) -> None:
        """The next segment begins; it is a continuation of this one where that is possible."""
        session = self._session
        if session is not None and can_split() and not is_crowded():
            self._keep(session.split())
            self._note_beginning(session.start_ns)
        else:
            self._pause()
            self._begin()

    def _keep(self, recording: Any) -> None:
        segment = self._ring.add(recording, self._run)
        self._recorded_ns += segment.stop_ns - segment.start_ns
        self._seen_events += segment.events
        self._unsaved_segments = [segment]

    def _step_ended(self, now_ns: int) -> None:
        call_locked(self._lock, self._turn, now_ns, True)

    def _turn(self, now_ns: int, between_steps: bool) -> None:
        """Decides whether recording goes on, pauses or begins again."""
        if not self.running or now_ns < self._steps.turn_ns:
            return
        session, elapsed = self._session, min(now_ns - self._begun_ns, self._cpu_clock() - self._begun_cpu_ns)
        if session is None:
            self._steps.turn_ns = now_ns + self._owed_ns - elapsed
            if elapsed >= self._owed_ns:
                self._begin()
                if between_steps:
                    self._aligned.append((self._begun_ns, self._steps.count - 1))
            return
        what, after_ns = self._pace.decide(elapsed, session.row_count())
        self._steps.turn_ns = now_ns + after_ns - elapsed
        if what == PAUSE:
            self._owed_ns = after_ns
            self._pause()
        elif what != GO_ON:
            self._split()

    # --- steps --------------------------------------------------------------------------------------------------------
    def step(self) -> None:
        """A step of the program ends. `Optimizer.step` tells it by itself; programs without an optimizer may call
        this."""
        self._steps.end_step(None)

    def _look_at_steps(self) -> None:
        """Notices slow steps, and learns how long they usually take."""
        steps = self._steps
        if steps.slow_count != self._known_slow:
            self._known_slow = steps.slow_count
            text = (
                f"step {steps.slow_step} took {steps.slow_ns / 1e6:.1f} ms, the median is {self._usual_ns / 1e6:.3f} ms"
            )
            self._dump_automatically("slow-step", text)
        if steps.count != self._known_steps:
            self._known_steps = steps.count
            self._usual_ns = usual_length(steps.ends(65))
            steps.limit_ns = slow_limit(self._usual_ns, self.settings.slow_step)

    # --- dumps --------------------------------------------------------------------------------------------------------
    def dump(self, path: str | os.PathLike[str] | None = None, reason: str = "request", text: str = "") -> str:
        """Writes the last seconds as a profile and gives its path: `flight-PID-NUMBER-REASON.mindprof` in the
        recorder's folder, where none is given. Recording goes on meanwhile. OSError where it cannot be written."""
        facts, segments, ends = call_locked(self._lock, self._cut, reason, text)
        target = os.fspath(path) if path is not None else self._new_path(reason)
        since = recorder.now() - self._span_ns
        store = store_of(segments, since, ends)
        covered = (store.metadata.stop_ns - store.metadata.start_ns) / 1e9
        storefile.save(noted(store, {**facts, "covered_seconds": round(covered, 3)}), target, sync=False)
        self.dumps.append(target)
        return target

    def _cut(self, reason: str, text: str) -> tuple[dict[str, Any], list[Any], list[tuple[int, int]]]:
        if self._session is not None:
            self._split()
        facts = {**self._facts(), "reason": reason, "text": text, "threads": _stacks()}
        return facts, self._ring.segments(), self._step_bounds()

    def _step_bounds(self) -> list[tuple[int, int]]:
        """(time, number) of the steps that ended, and of the moments between two steps at which recording began."""
        return sorted([*self._steps.ends(_STEPS_SHOWN), *self._aligned])

    def _facts(self) -> dict[str, Any]:
        lasted = max(recorder.now() - self._started_ns, 1)
        going = 0 if self._session is None else recorder.now() - self._begun_ns
        return {
            "seconds": self.settings.seconds,
            "steps": self._steps.count,
            "median_step_ms": round(self._usual_ns / 1e6, 4),
            "recorded_share": round(min((self._recorded_ns + going) / lasted, 1.0), 4),
        }

    def _new_path(self, reason: str) -> str:
        name = f"flight-{self.pid}-{next(self._file_ids):02}-{reason}.mindprof"
        return os.path.join(self.settings.directory, name)

    def _dump_automatically(self, reason: str, text: str) -> None:
        """A dump that nobody waits for: says where it is, and never raises an OSError."""
        if reason in ("slow-step", "stuck"):
            if self._automatic[reason] >= self.settings.max_dumps or recorder.now() < self._quiet_until_ns[reason]:
                return
            self._automatic[reason] += 1
            self._quiet_until_ns[reason] = recorder.now() + self._span_ns  # until then it would be much the same
        try:
            path = self.dump(None, reason, text)
        except OSError as error:
            _say(f"the flight recorder could not write: {error}")
        else:
            _say(f"{text.splitlines()[0] if text else reason}: the last seconds are in {path}")

    def _raised(self, reason: str, text: str) -> None:
        """An exception that nobody caught."""
        if self.running and os.getpid() == self.pid:
            self._dump_automatically(reason, text)

    def status(self) -> dict[str, Any]:
        """What the recorder is doing, as JSON has it."""
        return {
            **self._facts(),
            "recording": self._session is not None,
            "events": self._seen_events,
            "kept_events": self._ring.events,
            "directory": self.settings.directory,
            "dumps": list(self.dumps),
        }

    # --- the thread ---------------------------------------------------------------------------------------------------
    def _wake(self) -> None:
        try:
            os.write(self._wake_write, b"!")
        except (BlockingIOError, OSError):
            return  # it is awake, or gone

    def _watch(self) -> None:
        with selectors.DefaultSelector() as ready:
            ready.register(self._wake_read, selectors.EVENT_READ)
            for pipe in self._signals:
                ready.register(pipe.fd, selectors.EVENT_READ, pipe)
            while self.running:
                for key, _ in ready.select(_TICK_S):
                    if key.data is None:
                        os.read(self._wake_read, 4096)
                    else:
                        self._signalled(key.data)
                self.look(recorder.now())

    def look(self, now_ns: int) -> None:
        """What the thread does each time: overdue turns, requested dumps, segments to disk, the watchdog."""
        if now_ns >= self._steps.turn_ns + _LATE_NS or (self._session is None and now_ns >= self._steps.turn_ns):
            call_locked(self._lock, self._turn, now_ns, False)
        self._look_at_steps()
        unsaved, self._unsaved_segments = self._unsaved_segments, []
        for segment in unsaved:
            self._folder.write(segment, self._step_bounds())
        self._watch_progress(now_ns)

    def _signalled(self, pipe: SignalPipe) -> None:
        stacks = pipe.read()
        name = signal.Signals(pipe.signum).name
        self._dump_automatically(name.lower(), f"{name}\n{stacks}")
        if pipe.takes_over:
            self._folder.remove()
            pipe.deliver()

    def _watch_progress(self, now_ns: int) -> None:
        rows = 0 if self._session is None else self._session.row_count()
        progress = (self._steps.count, self._seen_events + rows)
        if progress != self._progress:
            self._progress, self._moved_ns, self._is_stuck = progress, now_ns, False
        quiet = now_ns - self._moved_ns
        if (
            self.settings.watchdog
            and quiet > self.settings.watchdog * 1e9
            and progress != (0, 0)
            and not self._is_stuck
        ):
            self._is_stuck = True
            self._dump_automatically("stuck", f"nothing has moved for {quiet / 1e9:.0f} s")


def _say(text: str) -> None:
    print(f"mindprof: {text}", file=sys.stderr, flush=True)


def _stacks() -> list[dict[str, Any]]:
    """Where each thread is, innermost frame first."""
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    found = []
    for ident, frame in sys._current_frames().items():
        if names.get(ident) != THREAD_NAME:
            calls = reversed(traceback.extract_stack(frame, _STACK_FRAMES))
            lines = [f"{f.filename}({f.lineno}): {f.name}" for f in calls]
            found.append({"name": names.get(ident, f"thread {ident}"), "stack": lines})
    return found


def _fake_clock() -> Any:
    """The clock of recordings, where that is not the system's."""
    used = clock.current()
    return None if isinstance(used, clock.SystemClock) else used.now


_current: FlightRecorder | None = None


def current() -> FlightRecorder | None:
    """The flight recorder of this process, if one is on."""
    return _current if _current is not None and _current.running else None


def start(settings: FlightSettings, pace: Pace | None = None) -> FlightRecorder:
    """Begins to record; where a recorder is on already, that one."""
    global _current
    running = current()
    if running is not None:
        return running
    _current = FlightRecorder(settings, pace)
    atexit.register(_stop_at_exit, weakref.ref(_current))
    _current.start()
    return _current


def _stop_at_exit(made: weakref.ref[FlightRecorder]) -> None:
    flight = made()
    if flight is not None:
        flight.stop()


def _after_fork_in_child() -> None:
    global _current
    flight, _current = _current, None
    if flight is not None and flight.running:
        flight.abandon()


os.register_at_fork(after_in_child=_after_fork_in_child)

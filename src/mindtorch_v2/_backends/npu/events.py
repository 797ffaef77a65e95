"""Device times from timing events: marks in streams whose times the device tells.

Copies are always timed by a pair of marks, as the libraries' records of copies hold the times of the host's call.
Where there are no records of kernels either, kernels are timed so too; their times then include what the device
needs to get from one task to the next.
"""

from __future__ import annotations

import ctypes
import threading
from collections import deque
from typing import Any, NamedTuple

import numpy as np

from ..device_work import KERNEL, Work
from . import abi, streams
from .clocks import Alignment, Pair
from .runtime import bind, runtime
from .streams import Stream

_ANCHORS = 8
# nanoseconds: a float32 of milliseconds is right to a quarter of a microsecond so far from its base
_BASE_PERIOD = 4_000_000_000
# pairs of marks before those that have passed are read and used again: events are scarce
_MOST_PENDING = 1024
COPY_NAMES = {
    abi.HOST_TO_HOST: "MEMCPY_HTOH",
    abi.HOST_TO_DEVICE: "MEMCPY_HTOD",
    abi.DEVICE_TO_HOST: "MEMCPY_DTOH",
    abi.DEVICE_TO_DEVICE: "MEMCPY_DTOD",
}


class Mark(NamedTuple):
    """A recorded event: its device, and the count of the base that its time is counted from."""

    event: int
    device: int
    base: int


class _Timed(NamedTuple):
    """Work between two marks."""

    launch_id: int
    kind: int
    name: str
    stream: int
    nbytes: int
    first: Mark
    last: Mark


class Marks:
    """The marks of one time of watching. Events are used again: making one is slow, and a device has not many."""

    def __init__(self, host: Any) -> None:
        self._host = host
        self._free: dict[int, list[int]] = {}  # device -> events
        self._bases: dict[int, list[tuple[int, int]]] = {}  # device -> (event, the host's time) of the bases
        # device -> when the bases that have passed were reached
        self._offsets: dict[int, list[float]] = {}
        self._pending: deque[_Timed] = deque()
        self._rows: list[tuple[int, int, str, float, float, int, int, int]] = []  # of work whose marks were read
        self._anchors: dict[int, list[list[tuple[Mark, int, int]]]] = {}
        self._lock = threading.RLock()

    # --- marking
    def mark(self, stream: Stream) -> Mark | None:
        """Marks the end of a stream; None where the device refuses, which others will report."""
        index = stream.device_index
        with self._lock:
            if index not in self._bases and not self.anchor(index):
                return None
            event = self._record(stream)
            if not event:
                return None
            bases, now = self._bases[index], self._host.now()
            if now - bases[-1][1] > _BASE_PERIOD:
                base = self._record(stream)
                if base:
                    bases.append((base, now))
                    return Mark(event, index, len(bases) - 2)
            return Mark(event, index, len(bases) - 1)

    def _record(self, stream: Stream) -> int:
        index = stream.device_index
        bind(index)
        free = self._free.get(index)
        event = free.pop() if free else streams.new_event(abi.EVENT_TIME_LINE)
        return 0 if runtime().aclrtRecordEvent(event, stream.handle) else event

    def add(
        self, launch_id: int, kind: int, name: str, stream: Stream, nbytes: int, first: Mark | None, last: Mark | None
    ) -> None:
        """Says that the work of a launch lies between two marks."""
        if first is None or last is None:
            return
        with self._lock:
            self._pending.append(_Timed(launch_id, kind, name, stream.stream_id, nbytes, first, last))
            if len(self._pending) > _MOST_PENDING:
                self._settle()

    def anchor(self, index: int) -> bool:
        """Brackets a few recordings on a device; False where it refuses."""
        bind(index)
        stream = streams.default_stream(index)
        if index not in self._bases:
            base = self._record(stream)
            if not base:
                return False
            self._bases[index] = [(base, self._host.now())]
            stream.synchronize()
        group = []
        for _ in range(_ANCHORS):
            before = self._host.now()
            event = self._record(stream)
            stream.synchronize()
            if event:
                group.append((Mark(event, index, len(self._bases[index]) - 1), before, self._host.now()))
        self._anchors.setdefault(index, []).append(group)
        return bool(group)

    @property
    def devices(self) -> list[int]:
        return [*self._bases]

    # --- reading
    def time(self, mark: Mark) -> float:
        """When a mark was reached, in nanoseconds since the device's first base; the mark must have passed."""
        offsets, bases = self._offsets.setdefault(mark.device, [0.0]), self._bases[mark.device]
        bind(mark.device)
        while len(offsets) <= mark.base:
            at = len(offsets)
            offsets.append(offsets[-1] + _between(bases[at - 1][0], bases[at][0]))
        return offsets[mark.base] + _between(bases[mark.base][0], mark.event)

    def _settle(self) -> None:
        """Reads the marks that have passed, in the order in which they were made, and makes their events free."""
        while self._pending:
            work = self._pending[0]
            index = work.first.device
            if not all(streams.event_done(e, index) for e in (work.last.event, self._bases[index][work.last.base][0])):
                return
            self._read(self._pending.popleft())

    def _read(self, work: _Timed) -> None:
        start = self.time(work.first)
        self._rows.append(
            (
                work.launch_id,
                work.kind,
                work.name,
                start,
                start + _between(work.first.event, work.last.event),
                work.first.device,
                work.stream,
                work.nbytes,
            )
        )
        self._free.setdefault(work.first.device, []).extend((work.first.event, work.last.event))

    def alignments(self) -> dict[int, Alignment]:
        """Of each device's clock, counted from its first base, with the host's."""
        found = {}
        for index, groups in self._anchors.items():
            pairs = [
                [Pair(before, at := self.time(mark), at, after) for mark, before, after in group] for group in groups
            ]
            found[index] = Alignment(pairs)
        return found

    def collect(self, first: int, last: int) -> tuple[Work, float]:
        """What was timed for launches with ids from `first` up to `last`, and how far its times may be off. Devices
        must have been waited for.
        """
        with self._lock:
            while self._pending:
                self._read(self._pending.popleft())
            alignments = self.alignments()
            names: dict[str, int] = {}
            rows: list[tuple[int, ...]] = []
            for launch_id, kind, name, start, end, device, stream, nbytes in self._rows:
                if first <= launch_id < last:
                    times = alignments[device].host(np.array([start, end]))
                    rows.append(
                        (
                            kind,
                            names.setdefault(name, len(names)),
                            times[0],
                            times.max(),
                            device,
                            stream,
                            launch_id,
                            nbytes,
                        )
                    )
            bound = max((a.bound for a in alignments.values()), default=0.0)
            return Work([*names], *np.array(rows, np.int64).reshape(-1, 8).T), bound

    def close(self) -> None:
        anchors = [
            (mark.device, mark.event) for groups in self._anchors.values() for group in groups for mark, _, _ in group
        ]
        bases = [(index, event) for index, found in self._bases.items() for event, _ in found]
        idle = [(index, event) for index, found in self._free.items() for event in found]
        waiting = [(mark.device, mark.event) for work in self._pending for mark in (work.first, work.last)]
        for index, event in (*anchors, *bases, *idle, *waiting):
            bind(index)
            streams.drop_event(event)


def _between(first: int, last: int) -> float:
    """Nanoseconds from one event to another, negative where the second one was reached before the first."""
    rt = runtime()
    milliseconds = ctypes.c_float()
    code = rt.aclrtEventElapsedTime(ctypes.byref(milliseconds), first, last)
    if code == abi.TIMES_REVERSED:
        rt.recent_error()
        rt.check(rt.aclrtEventElapsedTime(ctypes.byref(milliseconds), last, first), "timing events")
        return -milliseconds.value * 1e6
    rt.check(code, "timing events")
    return milliseconds.value * 1e6


class EventTimes:
    """The source of device times where the libraries tell none of kernels: every launch lies between two marks."""

    def __init__(self, host: Any, reason: str) -> None:
        self.marks = Marks(host)
        self._reason = reason
        self._open = threading.local()

    def watch_natively(self) -> bool:
        return False

    def begin(self, launch_id: int, name: str, stream: Stream) -> None:
        self._open.launch = launch_id, name, self.marks.mark(stream)

    def end(self, stream: Stream) -> None:
        launch_id, name, first = self._open.launch
        self.marks.add(launch_id, KERNEL, name, stream, 0, first, self.marks.mark(stream))

    def probe(self) -> None:
        """There is nothing to look at between the ends of a window."""

    def anchor(self) -> None:
        for index in self.marks.devices or [streams.current_index()]:
            self.marks.anchor(index)

    def collect(self, first: int, last: int, began: int, ended: int) -> tuple[Work, dict[str, Any]]:
        """What the devices did for launches with ids from `first` up to `last`, and what is known about its times."""
        rt = runtime()
        for index in self.marks.devices:
            bind(index)
            rt.check(rt.aclrtSynchronizeDevice(), "waiting for the device")
        work, bound = self.marks.collect(first, last)
        return work, {"source": "events", "reason": self._reason, "copies": "events", "clock_error_ns": round(bound)}

    def close(self) -> None:
        self.marks.close()

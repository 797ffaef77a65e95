"""The last seconds of a recording, in pieces: which are kept, and one store made of them."""

from __future__ import annotations

import json
from collections import deque
from typing import Any, NamedTuple

import numpy as np

from ..record.continuous import merged, recorded_rows
from ..record.kinds import Kind
from ..record.window import Recording
from ..store.build import build_store
from ..store.event_store import EventStore, in_order
from ..store.join import concat

_OPTIMIZER_PREFIX = "Optimizer.step#"
STEP_PREFIX = "ProfilerStep#"


class Segment(NamedTuple):
    """A piece of a recording. Pieces of one session that follow each other without a gap have the same `run`."""

    recording: Recording
    run: int
    events: int

    @property
    def start_ns(self) -> int:
        return self.recording.metadata.start_ns

    @property
    def stop_ns(self) -> int:
        return self.recording.metadata.stop_ns


class SegmentRing:
    """Segments of the last `span_ns` nanoseconds, of at most `max_events` events together; older ones are given up."""

    def __init__(self, span_ns: int, max_events: int) -> None:
        self.span_ns, self.max_events = span_ns, max_events
        self._kept: deque[Segment] = deque()
        self.events = 0

    def add(self, recording: Recording, run: int) -> Segment:
        """Keeps a recording that has just ended."""
        segment = Segment(recording, run, recorded_rows(recording))
        self._kept.append(segment)
        self.events += segment.events
        self._forget(segment.stop_ns)
        return segment

    def _forget(self, now_ns: int) -> None:
        while len(self._kept) > 1 and (self.events > self.max_events or self._kept[0].stop_ns < now_ns - self.span_ns):
            self.events -= self._kept.popleft().events

    def segments(self) -> list[Segment]:
        """Those that are kept, oldest first."""
        return list(self._kept)


def store_of(segments: list[Segment], since_ns: int, ends: list[tuple[int, int]]) -> EventStore:
    """What the segments recorded after `since_ns`, as one store. `ends` are the times at which steps ended, with their
    indices: two of them that lie in one run bound a step."""
    if not segments:
        return EventStore()
    runs: dict[int, list[Recording]] = {}
    for segment in segments:
        runs.setdefault(segment.run, []).append(segment.recording)
    stores = [_with_steps(build_store(merged(pieces)), ends) for pieces in runs.values()]
    joined = concat([store.with_metadata(dropped_events=0) for store in stores])
    return _since(joined, since_ns)


def _since(store: EventStore, since_ns: int) -> EventStore:
    """Leaves out what ended before; what had begun before then begins there."""
    begin = max(store.metadata.start_ns, since_ns)
    if len(store) and int(store.start_ns[0]) < begin:
        kept = store.select(store.end_ns > begin)
        store = _ordered(kept, {**kept.columns, "start_ns": np.maximum(kept.start_ns, begin)}, 0)
    return store.with_metadata(start_ns=begin)


def _ordered(
    store: EventStore, columns: dict[str, np.ndarray], added: int, strings: list[str] | None = None
) -> EventStore:
    """The store with these columns, whose first `added` rows are new, in order; its tables follow."""
    tables = {name: getattr(store, name) for name in ("memory", "scratch", "references", "owned")}
    rows = [np.where(table.row >= 0, table.row + added, -1) for table in tables.values()]
    columns, *rows = in_order(columns, *rows)
    moved = {
        name: type(table)({**table.columns, "row": row})
        for (name, table), row in zip(tables.items(), rows, strict=True)
    }
    return store.replaced(columns, strings=strings, **moved)


def _with_steps(store: EventStore, ends: list[tuple[int, int]]) -> EventStore:
    """Adds an event for each step that lies wholly in the store. Where an optimizer told of the end, the step ends with
    its scope."""
    begin, stop = store.metadata.start_ns, store.metadata.stop_ns
    inside = [(time, number) for time, number in ends if begin <= time <= stop]
    if len(inside) < 2 or not len(store):
        return store
    times, numbers = np.array(inside, np.int64).T
    thread, bounds = _bounds(store, times)
    follow = np.flatnonzero((np.diff(numbers) == 1) & (np.diff(bounds) > 0))
    if not len(follow):
        return store
    return _inserted(store, thread, bounds[follow], bounds[follow + 1], numbers[follow + 1])


def _bounds(store: EventStore, times: np.ndarray) -> tuple[int, np.ndarray]:
    """The thread of the steps, and where each ends: with the optimizer's scope around that moment."""
    names = [i for i, text in enumerate(store.strings) if text.startswith(_OPTIMIZER_PREFIX)]
    scopes = np.flatnonzero(np.isin(store.name, names) & (store.kind == Kind.SCOPE))
    if not len(scopes):
        outermost = store.thread[store.parent < 0]
        return int(np.bincount(outermost).argmax()) if len(outermost) else 0, times
    index = np.searchsorted(store.start_ns[scopes], times, side="right") - 1
    around = (index >= 0) & (store.end_ns[scopes[index]] >= times)
    return int(store.thread[scopes[0]]), np.where(around, store.end_ns[scopes[index]], times)


def _inserted(store: EventStore, thread: int, start: np.ndarray, end: np.ndarray, numbers: np.ndarray) -> EventStore:
    """The store with steps around the outermost events of a thread that lie in them."""
    count = len(start)
    at = np.searchsorted(start, store.start_ns, side="right") - 1  # the step that each event begins in
    within = (at >= 0) & (store.start_ns < end[at])
    own = within & (store.thread == thread) & (store.parent < 0) & (store.end_ns <= end[at])
    strings = list(store.strings)
    fresh = {
        "start_ns": start,
        "end_ns": end,
        "name": np.arange(len(strings), len(strings) + count),
        "kind": np.full(count, int(Kind.STEP)),
        "thread": np.full(count, thread),
        "step": numbers,
    }
    strings += [f"{STEP_PREFIX}{number}" for number in numbers.tolist()]
    columns: dict[str, np.ndarray] = {}
    for field in store.FIELDS:
        old = store.columns[field.name]
        new = fresh.get(field.name, np.full(count, field.missing or 0)).astype(old.dtype)
        if field.unit == "row":
            old = np.where(old >= 0, old + count, -1).astype(old.dtype)
        if field.name == "parent":
            old = np.where(own, at, old).astype(old.dtype)
        if field.name == "step":
            old = np.where(within, numbers[at], old).astype(old.dtype)
        columns[field.name] = np.append(new, old)
    return _ordered(store, columns, count, strings)


def noted(store: EventStore, facts: dict[str, Any]) -> EventStore:
    """The store with what the flight recorder knows, under the key "flight" of its metadata."""
    return store.with_metadata(user={**store.metadata.user, "flight": json.dumps(facts)})

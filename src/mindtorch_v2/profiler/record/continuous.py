"""A session that never has to end to be read: what it recorded so far is taken out in pieces."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..._dispatch.modes import call_locked
from . import session as sessions
from .native_recorder import NativeRecorder
from .recorder import recorder
from .window import Recorded, Recording, Span

_MOST_ROWS, _MOST_LABELS, _MOST_THREADS = 1 << 28, 1 << 16, 256


class ContinuousSession(sessions.Session):
    """A session in the background: programs that ask whether a profile runs are not told of it. `split` takes out what
    was recorded since the last time, and nothing is lost or cut in between: `merged` makes one recording of such pieces
    again."""

    is_background = True

    def split(self) -> Recording:
        """What was recorded since the start or the last split; recording goes on. Takes a time proportional to the
        number of threads."""
        return call_locked(sessions._lock, self._split)  # type: ignore[no-any-return]

    def _split(self) -> Recording:
        self.stop_ns = recorder.now()
        self._close_spans()
        if self.options.profile_memory:
            self._live_blocks.append((self.stop_ns, True, self._look()))
        made = Recording(self._metadata("", None, None, None), self._window())
        self._begin_again()
        return made

    def _begin_again(self) -> None:
        """The next piece begins where the last one ended, in every thread."""
        following = {}
        for thread, (buffer, spans) in self._spans.items():
            if recorder.buffers.get(thread) is buffer:
                carried = sessions._open_frames(buffer) if self.options.with_stack else ()
                following[thread] = (buffer, [Span(spans[-1].stop, carried)])
        self._spans, self._collecting = following, True
        self._stray_at, self._dropped_at = recorder.stray_count, recorder.dropped
        self._owned_at = len(recorder.owned.rows)
        self._live_blocks = [(time, False, held) for time, at_end, held in self._live_blocks if at_end]
        self.start_ns, self.stop_ns = self.stop_ns, 0

    def row_count(self) -> int:
        """How many rows were recorded since the start or the last split."""
        found = 0
        for buffer in list(recorder.buffers.values()):
            begun = self._spans.get(buffer.info.id)
            found += rows_of(buffer) - (begun[1][-1].start.recorded if begun is not None else 0)
        return found


def rows_of(buffer: Any) -> int:
    """How many rows a thread has recorded since the recorder was reset."""
    if isinstance(recorder, NativeRecorder):
        return int(buffer.next_row)
    return (len(buffer.rows) + buffer.released[0]) // 5


def can_split() -> bool:
    """Whether rows that end after a split keep their end: so it is where threads write into memory that the pieces
    share."""
    return isinstance(recorder, NativeRecorder)


def is_crowded() -> bool:
    """Whether what the recorder keeps for the life of its sessions (names, threads, row ids) has grown so much that
    they should end."""
    buffers = list(recorder.buffers.values())
    return (
        len(buffers) > _MOST_THREADS
        or max(len(recorder.labels), len(recorder.inputs)) > _MOST_LABELS
        or any(rows_of(b) > _MOST_ROWS or len(b.lanes) > _MOST_THREADS for b in buffers)
    )


def recorded_rows(recording: Recording) -> int:
    """How many rows a recording has."""
    threads = recording.window.threads if recording.window is not None else []
    return sum(s.stop.recorded - s.start.recorded for thread in threads for s in thread.spans if s.stop is not None)


def merged(pieces: list[Recording]) -> Recording:
    """One recording of consecutive pieces of a session. Threads that recorded nothing are left out."""
    windows = [piece.window for piece in pieces if piece.window is not None]
    first, last = windows[0], windows[-1]
    threads: dict[int, list[Recorded]] = {}
    for window in windows:
        for thread in window.threads:
            threads.setdefault(thread.info.id, []).append(thread)
    joined = [_merged_thread(parts) for parts in threads.values()]
    window = replace(
        last,
        start_ns=first.start_ns,
        threads=[thread for thread in joined if thread.spans[0].stop.recorded > thread.spans[0].start.recorded],
        stray=lambda: _concatenated([w.stray() for w in windows]),
        owned=[owned for w in windows for owned in w.owned],
        refused=sum(w.refused for w in windows),
        steps=first.steps,
        held=[*(h for h in first.held if not h[1]), *(h for h in last.held if h[1])],
    )
    return Recording(replace(pieces[-1].metadata, start_ns=first.start_ns), window)


def _merged_thread(parts: list[Recorded]) -> Recorded:
    first, last = parts[0], parts[-1]
    span = Span(first.spans[0].start, first.spans[0].carried, last.spans[-1].stop)

    def columns() -> dict[str, np.ndarray]:
        found: list[dict[str, np.ndarray]] = []
        for part in parts:  # a later piece also holds the rows of Python calls that began in an earlier one
            made = part.columns()
            end = found[-1]["row"][-1] if found and len(found[-1]["row"]) else -1
            kept = made["row"] > end
            found.append(made if kept.all() else {n: c[kept] for n, c in made.items()})
        return _concatenated(found)

    return replace(
        last,
        spans=[span],
        columns=columns,
        memory=lambda: _concatenated([part.memory() for part in parts]),
        references=lambda: np.concatenate([part.references() for part in parts]),
    )


def _concatenated(tables: list[dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    if len(tables) == 1:
        return tables[0]
    return {name: np.concatenate([table[name] for table in tables]) for name in tables[0]}

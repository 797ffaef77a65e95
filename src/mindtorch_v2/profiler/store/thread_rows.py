"""The rows of one thread of a recording as columns, with parents."""

from __future__ import annotations

import numpy as np

from ..record.columns import constant, is_constant
from ..record.interning import Labels
from ..record.kinds import PYTHON_KINDS, Flag, Kind
from ..record.window import NO_END, Recorded, Window, positions, spread
from .event_store import kept_ancestors

_BLOCK = 1 << 14
_IS_PYTHON = np.isin(np.arange(len(Kind)), [int(kind) for kind in PYTHON_KINDS])


class ThreadRows:
    """The rows of one thread as columns, filtered, with parents as positions in them."""

    def __init__(self, window: Window, thread: Recorded) -> None:
        self.window, self.thread, self.spans = window, thread, thread.spans
        self.columns = thread.columns()
        self.columns["parent"] = positions(self.columns["row"], self.columns["parent"])
        self.columns["kind"] = _label_kinds(window.labels, self.columns["label"])
        self.columns["end_thread"] = constant(0, len(self.columns["kind"]), np.int32)
        if thread.detached:
            rows, threads = np.array([*thread.detached.items()]).T
            self.columns["end_thread"] = spread(self.columns["row"], rows, threads, 0)
        self.lane = self._lanes()
        self._set_times()
        self.available = self.records = 0  # rows and memory records of the window that are still there
        self.keep = self._rows_to_keep(self.columns["kind"])

    def _lanes(self) -> np.ndarray:
        """Per row: the lane of the task that it ran in, 0 for the thread itself."""
        if not self.thread.switches:
            return constant(0, len(self.columns["row"]), np.int64)
        rows, lanes = np.array([(-1, 0), *self.thread.switches]).T
        return lanes[np.searchsorted(rows, self.columns["row"], "right") - 1]

    def _set_times(self) -> None:
        window, starts, ends = self.window, self.columns["start_ns"], self.columns["end_ns"]
        self.columns["flags"] = constant(0, len(starts), np.uint8)
        if len(starts) and (
            starts.min() < window.start_ns or ends.min() < window.start_ns or ends.max() > window.stop_ns
        ):
            is_open = (ends == NO_END) | (ends > window.stop_ns)
            self.columns["start_ns"] = np.maximum(starts, window.start_ns)
            self.columns["end_ns"] = np.maximum(np.where(is_open, window.stop_ns, ends), self.columns["start_ns"])
            self.columns["flags"] = np.where(is_open, np.uint8(Flag.UNFINISHED), np.uint8(0))
        # A frame that ran before the window and after it is not unfinished work: it merely surrounds it.
        carried = [r for s in self.spans for r in s.carried]
        if carried:
            self.columns["flags"] = np.array(self.columns["flags"])
            self.columns["flags"][np.isin(self.columns["row"], carried)] = 0

    def _rows_to_keep(self, kinds: np.ndarray) -> np.ndarray:
        rows, options = self.columns["row"], self.window.options
        keep = np.zeros(len(rows), bool)
        for span in self.spans:
            assert span.stop is not None
            first, last = np.searchsorted(rows, (span.start.row, span.stop.row))
            keep[first:last] = True
            self.available += int(last - first)
            if span.carried:
                keep |= np.isin(rows, span.carried)
        unwanted = [kind for kind in Kind if kind not in PYTHON_KINDS] if self.thread.calls_only else []
        if not options.with_stack:
            unwanted += [Kind.PYTHON, Kind.BUILTIN]
            unwanted += [] if options.with_modules else [Kind.MODULE]
        if not (options.with_stack and options.record_python_gc_info):
            unwanted.append(Kind.GC)
        # begun while the window was being closed
        if len(rows) and self.columns["start_ns"].max() > self.window.stop_ns:
            keep &= self.columns["start_ns"] <= self.window.stop_ns
        there = np.zeros(len(Kind), bool)
        there[kinds[:1] if is_constant(kinds) else kinds] = True
        left_out = np.zeros(len(Kind), bool)
        left_out[[int(k) for k in unwanted]] = True
        if (there & left_out).any():
            keep &= ~left_out[kinds]
        return (
            keep & ((kinds != Kind.STEP) | (self.columns["sequence_nr"] == self.window.owner))
            if there[Kind.STEP]
            else keep
        )

    def lost(self) -> int:
        """How many of the window's rows and memory records have been given up since."""
        spans = [(s.start, s.stop) for s in self.spans if s.stop is not None]
        recorded = sum(stop.recorded - start.recorded for start, stop in spans)
        remembered = sum(stop.remembered - start.remembered for start, stop in spans)
        return recorded - self.available + remembered - self.records

    def nest(self) -> None:
        """Parents among the kept rows. A row that outlives the one it was opened in leaves the nesting (a step stays:
        what it outlives leaves; a Python call ends with it, and so does a scope that nobody closed), so that what
        remains lies inside its parent. What outlives a Python call cuts it, as in `end_call_at` of rows.c: what it
        began in may only now have turned out to be that call. A task may outlive the scope that it was created in:
        then what encloses that one is meant.
        """
        columns, kinds = self.columns, self.columns["kind"]
        self.nearest: np.ndarray | None = None  # for each row the nearest kept one; None where all are kept
        if self.keep.all() and not self.thread.detached and not _any_outlives(columns["end_ns"], columns["parent"]):
            self.parent = columns["parent"]
            return
        start, end = columns["start_ns"], np.append(columns["end_ns"], np.iinfo(np.int64).max)
        loose = columns["end_thread"] != 0
        above, lane = np.append(columns["parent"], -1), np.append(self.lane, -1)
        parent = columns["parent"]
        never_closed = (columns["flags"] & np.uint8(Flag.UNFINISHED) != 0) & (kinds != Kind.STEP)
        yielding = _IS_PYTHON[kinds] | never_closed
        while True:
            nearest = np.append(kept_ancestors(columns["parent"], self.keep & ~loose), -1)
            parent = nearest[parent]
            outlives = self.keep & ~loose & (end[:-1] > end[parent])
            if not outlives.any():
                break
            # Where it began when the other had ended, they merely follow.
            after = outlives & ((start >= end[parent]) | (lane[:-1] != lane[parent]))
            parent = np.where(after, above[parent], parent)
            partly = np.flatnonzero(outlives & ~after)
            cuts = _IS_PYTHON[kinds[parent[partly]]] & ~_IS_PYTHON[kinds[partly]]
            cutting, partly = partly[cuts], partly[~cuts]
            np.minimum.at(end, parent[cutting], start[cutting])
            parent[cutting] = above[parent[cutting]]
            yields = partly[yielding[partly]]
            end[yields] = end[parent[yields]]
            partly = partly[~yielding[partly]]
            leaving = np.unique(np.where(kinds[partly] == Kind.STEP, parent[partly], partly))
            # what began in those is looked at again without them
            loose[leaving[~np.isin(parent[leaving], leaving)]] = True
        columns["end_ns"] = end[:-1]
        columns["flags"] = columns["flags"] | np.where(loose, int(Flag.ASYNC), 0)
        self.parent, self.nearest = np.where(loose, -1, parent), nearest

    def memory(self) -> dict[str, np.ndarray]:
        """The window's memory records, with `row` as a position in the columns."""
        made = self.thread.memory()
        self.records = len(made["row"])
        if self.thread.calls_only:
            made = {name: column[:0] for name, column in made.items()}
        row = positions(self.columns["row"], made["row"])
        if self.nearest is not None:
            row = self.nearest[row]
        ends, parent = np.append(self.columns["end_ns"], 0), np.append(self.parent, -1)
        # While a scope stays open that outlived what it was opened in, that is over: what surrounds it is meant.
        while (over := (row >= 0) & (ends[row] < made["time_ns"])).any():
            row = np.where(over, parent[row], row)
        return {**made, "row": row}


def _any_outlives(end: np.ndarray, parent: np.ndarray) -> bool:
    """Whether any row ends after its parent. A block at a time, which stays in the processor's cache."""
    if is_constant(parent) and parent[0] < 0:
        return False
    blocks = (slice(first, first + _BLOCK) for first in range(0, len(end), _BLOCK))
    return any(bool(((end[b] > end[parent[b]]) & (parent[b] >= 0)).any()) for b in blocks)


def _label_kinds(labels: Labels, column: np.ndarray) -> np.ndarray:
    if not len(column):
        return np.zeros(0, np.uint8)
    if is_constant(column):
        return constant(labels.label(int(column[0])).kind, len(column), np.uint8)
    low = int(column.min())
    kinds = np.zeros(int(column.max()) - low + 1, np.uint8)
    kinds[column - low] = 1  # which labels there are
    for index in np.flatnonzero(kinds):
        kinds[index] = labels.label(int(index) + low).kind
    return kinds[column - low]

"""Which track of a trace an event is drawn on: one per thread, and more for what does not nest on its thread."""
from __future__ import annotations

import heapq
from typing import NamedTuple

import numpy as np

from .._fields import Flag
from ..analysis.tree import EventTree

_EXTRA_TIDS = 1 << 40  # far above any thread id of an operating system, far below 2**53


class Track(NamedTuple):
    """A track's number and its entries in the order of (start, -end)."""

    tid: int
    entries: np.ndarray


class Tracks:
    """Slices on one track must lie inside or beside each other. Events of a thread do, except those that were closed
    out of order or by another thread: these get tracks of their own, as few as keep them apart."""

    def __init__(self, tree: EventTree) -> None:
        store = tree.store
        self._tree = tree
        self._tid_of_thread = np.array([thread.os_id for thread in store.threads] or [0])
        self._tid_of_row = self._tid_of_thread[store.thread]
        self.names = {thread.os_id: f"thread {thread.os_id} ({_label(thread.name, store.metadata.process_name)})"
                      for thread in store.threads}
        asynchronous = np.flatnonzero((store.flags & Flag.ASYNC) != 0)
        if len(asynchronous):
            self._tid_of_row = self._tid_of_row.copy()
            self._spread(asynchronous)

    def _spread(self, rows: np.ndarray) -> None:
        """Give each row the first extra track that is free when it starts."""
        store = self._tree.store
        busy: list[tuple[int, int]] = []
        free: list[int] = []
        for row in rows.tolist():
            while busy and busy[0][0] <= store.start_ns[row]:
                heapq.heappush(free, heapq.heappop(busy)[1])
            lane = heapq.heappop(free) if free else len(busy)
            heapq.heappush(busy, (int(store.end_ns[row]), lane))
            self._tid_of_row[row] = _EXTRA_TIDS + lane
            self.names[_EXTRA_TIDS + lane] = f"asynchronous {lane + 1}"

    def tid_of_entry(self, entry: int) -> int:
        return int(self._tid_of_row[self._tree.row[entry]])

    def tids_of_rows(self, rows: np.ndarray) -> list[int]:
        return self._tid_of_row[rows].tolist()

    def of_events(self) -> list[Track]:
        """The tracks that have operators or annotations, in the order of their first ones."""
        entries = np.flatnonzero(self._tree.row >= 0)
        tids = self._tid_of_row[self._tree.row[entries]]
        distinct, first = np.unique(tids, return_index=True)
        return [Track(int(tid), entries[tids == tid]) for tid in distinct[np.argsort(first)]]


def _label(thread_name: str, process_name: str) -> str:
    """A thread's own name, if someone gave it one."""
    return thread_name if thread_name and thread_name != "MainThread" else process_name

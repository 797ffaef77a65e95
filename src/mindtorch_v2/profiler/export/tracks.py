"""Which track of a trace an event is drawn on: one per thread or stream, and more for what does not nest on its thread."""
from __future__ import annotations

import heapq
from typing import NamedTuple

import numpy as np

from .._fields import DEVICE_KINDS, Flag
from ..analysis.tree import EventTree

_EXTRA_TIDS = 1 << 40  # far above any thread id of an operating system, far below 2**53
_ON_DEVICE = np.isin(np.arange(256), [int(kind) for kind in DEVICE_KINDS])


class Track(NamedTuple):
    """A track's numbers (`pid` is None on the CPU: the process) and its entries in the order of (start, -end)."""

    pid: int | None
    tid: int
    entries: np.ndarray


class Tracks:
    """Slices on one track must lie inside or beside each other. Events of a thread do, except those that were closed
    out of order or by another thread: these get tracks of their own, as few as keep them apart."""

    def __init__(self, tree: EventTree) -> None:
        store = tree.store
        self._tree = tree
        self._tid_of_row = np.array([thread.os_id for thread in store.threads] or [0])[store.thread]
        self.names = {thread.os_id: f"thread {thread.os_id} ({_label(thread.name, store.metadata.process_name)})"
                      for thread in store.threads if thread.device < 0}
        self.streams = [thread for thread in store.threads if thread.device >= 0]
        asynchronous = np.flatnonzero(((store.flags & Flag.ASYNC) != 0) & ~_ON_DEVICE[store.kind])
        if len(asynchronous):
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

    def tids_of_rows(self, rows: np.ndarray) -> np.ndarray:
        return self._tid_of_row[rows]

    def _entries(self, on_device: bool) -> np.ndarray:
        """The entries that are rows of the store and ran on a device, or did not."""
        row = self._tree.row
        listed = np.flatnonzero(row >= 0)
        return listed[_ON_DEVICE[self._tree.store.kind[row[listed]]] == on_device]

    def of_events(self) -> list[Track]:
        """The tracks that have operators or annotations, in the order of their first ones."""
        entries = self._entries(on_device=False)
        tids = self._tid_of_row[self._tree.row[entries]]
        if len(tids) and (tids == tids[0]).all():
            return [Track(None, int(tids[0]), entries)]
        distinct, first = np.unique(tids, return_index=True)
        return [Track(None, int(tid), entries[tids == tid]) for tid in distinct[np.argsort(first)]]

    def of_devices(self) -> list[Track]:
        """The streams, each with what ran on it."""
        store = self._tree.store
        entries = self._entries(on_device=True)
        thread = store.thread[self._tree.row[entries]]
        found = [(store.threads[i], entries[thread == i]) for i in np.unique(thread).tolist()]
        return [Track(max(stream.device, 0), stream.os_id, its_entries) for stream, its_entries in found]


def _label(thread_name: str, process_name: str) -> str:
    """A thread's own name, if someone gave it one."""
    return thread_name if thread_name and thread_name != "MainThread" else process_name

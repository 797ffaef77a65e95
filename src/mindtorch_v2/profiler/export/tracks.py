"""Which track of a trace an event is drawn on: one per thread or stream, and more for what does not nest on its
thread.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator

import numpy as np

from ..analysis.entries import MEMORY_KIND
from ..analysis.tree import EventTree
from ..record.descriptions import ThreadInfo
from ..record.kinds import DEVICE_KINDS, Flag

FIRST_EXTRA_TID = 0x70000000  # above the thread ids of operating systems; viewers keep no more than 32 bits
_ON_DEVICE = np.isin(np.arange(256), [int(kind) for kind in DEVICE_KINDS])


class Tracks:
    """Slices on one track must lie inside or beside each other. Events of a thread do, except those that were closed
    out of order or by another thread: these get tracks of their own, as few as keep them apart. So does every task,
    since tasks take turns. The index of a stream and that of its
    device are the track of what ran on it."""

    def __init__(self, tree: EventTree) -> None:
        store = tree.store
        self._tree = tree
        self._devices = np.array([max(thread.device, 0) for thread in store.threads] or [0])
        self._pids = np.array(
            [thread.process or store.metadata.pid for thread in store.threads] or [store.metadata.pid]
        )
        self.names: dict[tuple[int, int], str] = {}  # (process, track) -> name
        for thread in store.threads:
            if thread.device < 0 and not thread.task:
                name = _label(thread.name, self.process_name(thread.process))
                self.names[thread.process or store.metadata.pid, thread.os_id] = f"thread {thread.os_id} ({name})"
        self._next_tid, self._used_tids = FIRST_EXTRA_TID, {tid for _, tid in self.names}
        self._tids = np.array(
            [self._add_task(thread) if thread.task else thread.os_id for thread in store.threads] or [0]
        )
        self.streams = [thread for thread in store.threads if thread.device >= 0]
        apart = np.flatnonzero(store.flags & np.uint8(Flag.ASYNC))
        self._apart = apart[~_ON_DEVICE[store.kind[apart]]]
        self._lanes = self._spread(self._apart)

    def _spread(self, rows: np.ndarray) -> np.ndarray:
        """Give each row the first extra track that is free when it starts."""
        store = self._tree.store
        lanes = np.zeros(len(rows), np.int64)
        busy: list[tuple[int, int]] = []
        free: list[int] = []
        tids: list[int] = []
        for i, row in enumerate(rows.tolist()):
            while busy and busy[0][0] <= store.start_ns[row]:
                heapq.heappush(free, heapq.heappop(busy)[1])
            lane = heapq.heappop(free) if free else len(busy)
            heapq.heappush(busy, (int(store.end_ns[row]), lane))
            if lane == len(tids):
                tids.append(self._extra_tid())
                self.names[store.metadata.pid, tids[lane]] = f"asynchronous {lane + 1}"
            lanes[i] = tids[lane]
        return lanes

    def _add_task(self, task: ThreadInfo) -> int:
        """A track for a task."""
        tid = self._extra_tid()
        self.names[task.process or self._tree.store.metadata.pid, tid] = f"task {task.name} (thread {task.os_id})"
        return tid

    def _extra_tid(self) -> int:
        """The next track id that no thread has."""
        while self._next_tid in self._used_tids:
            self._next_tid += 1
        self._next_tid += 1
        return self._next_tid - 1

    def tids(self, rows: np.ndarray) -> np.ndarray:
        """The track of each row."""
        tids = self._tids[self._tree.store.thread[rows]]
        if len(self._apart):
            index = np.minimum(np.searchsorted(self._apart, rows), len(self._apart) - 1)
            tids = np.where(self._apart[index] == rows, self._lanes[index], tids)
        return tids

    def process_name(self, process: int) -> str:
        """The name of a process; 0 stands for the store's own."""
        metadata = self._tree.store.metadata
        return metadata.other_processes.get(str(process), "python") if process else metadata.process_name

    def pids(self, rows: np.ndarray) -> np.ndarray:
        """The process of each row that ran on the CPU. What has an extra track is on one of the store's own process."""
        pids = self._pids[self._tree.store.thread[rows]]
        if len(self._apart) and (self._pids != self._pids[0]).any():
            pids = np.where(np.isin(rows, self._apart), self._tree.store.metadata.pid, pids)
        return pids

    def pids_of_threads(self, threads: np.ndarray) -> np.ndarray:
        return self._pids[threads]

    def devices(self, rows: np.ndarray) -> np.ndarray:
        """The device of each row that ran on one."""
        return self._devices[self._tree.store.thread[rows]]

    def parts(self, on_device: bool, size: int) -> Iterator[np.ndarray]:
        """The entries that are rows of the store and ran on a device, or did not: in the order of (start, -end),
        from `size` at a time. Nothing is made that grows with their count.
        """
        tree, kinds = self._tree, self._tree.kind
        if on_device and not tree.has_device_entries:
            return
        for first in range(0, len(tree), size):
            kind = kinds[first : first + size]
            wanted = (_ON_DEVICE[kind] == on_device) & (kind != MEMORY_KIND)
            if wanted.any():
                yield first + np.flatnonzero(wanted)


def _label(thread_name: str, process_name: str) -> str:
    """A thread's own name, if someone gave it one."""
    return thread_name if thread_name and thread_name != "MainThread" else process_name

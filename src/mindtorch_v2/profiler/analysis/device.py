"""Was the device busy? Busy and idle time, overlap of copies with kernels, launch delays, and who waited for whom."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..record.kinds import WORK_KINDS, Kind
from ..store.event_store import EventStore
from .tree import EventTree

_SUPPLIED_ENOUGH = 0.5  # the device is the slower one if it had work to do for at least this part of the time
_BUSY_ENOUGH = 0.4  # of the time in which a device works: below it, it is not the device's speed that counts


@dataclass(frozen=True)
class DeviceUse:
    """What one device did in a window; times in nanoseconds.

    busy_ns      at least one stream worked
    idle_ns      nothing did, between the first and the last piece of work
    kernel_ns    at least one kernel ran; copy_ns: at least one copy
    overlap_ns   a copy and a kernel ran at the same time
    parallel_ns  more than one stream worked at the same time
    delay_ns     from the beginning of a launch to that of its work: median over all work
    starved_ns   of idle_ns: nothing that had been launched was left to do, the device waited for the host
    """

    device: int
    work: int
    busy_ns: int
    idle_ns: int
    kernel_ns: int
    copy_ns: int
    overlap_ns: int
    parallel_ns: int
    delay_ns: int
    starved_ns: int

    @property
    def supplied_share(self) -> float:
        """The part of the time, from the first to the last piece of work, in which the device had launched work to
        do.
        """
        whole = self.busy_ns + self.idle_ns
        return 1 - self.starved_ns / whole if whole else 0.0

    @property
    def bound(self) -> str:
        """ "device" if that had work to do most of the time and was the slower of the two; "host" if it mostly
        waited for the host; "unknown" if it had work, but that began late: behind a queue, a compilation or another
        stream.
        """
        if self.supplied_share < _SUPPLIED_ENOUGH:
            return "host"
        return "device" if self.busy_share >= _BUSY_ENOUGH else "unknown"

    @property
    def busy_share(self) -> float:
        """The part of the time, from the first to the last piece of work, in which at least one stream worked."""
        whole = self.busy_ns + self.idle_ns
        return self.busy_ns / whole if whole else 0.0


def device_use(source: EventStore | EventTree, step: int | None = None) -> list[DeviceUse]:
    """One entry per device that did something, in the order of their indices; of one step only, if that is given."""
    store = EventTree.of(source).store
    chosen = np.isin(store.kind, [int(k) for k in WORK_KINDS])
    if step is not None:
        chosen &= store.step == step
    rows = np.flatnonzero(chosen)
    devices = np.array([thread.device for thread in store.threads] or [-1])[store.thread[rows]]
    return [_use_of(store, rows[devices == device], int(device)) for device in np.unique(devices)]


def _use_of(store: EventStore, rows: np.ndarray, device: int) -> DeviceUse:
    start, end = store.start_ns[rows], store.end_ns[rows]
    is_kernel = store.kind[rows] == Kind.KERNEL
    busy, kernels, copies = (union_ns(start[m], end[m]) for m in (np.ones(len(rows), bool), is_kernel, ~is_kernel))
    streams = [union_ns(start[m], end[m]) for s in np.unique(store.thread[rows]) for m in [store.thread[rows] == s]]
    launched = store.launcher[rows] >= 0
    delays = (start - store.start_ns[store.launcher[rows]])[launched]
    return DeviceUse(
        device,
        len(rows),
        busy,
        int(end.max() - start.min()) - busy,
        kernels,
        copies,
        kernels + copies - busy,
        _parallel_ns(start, end, store.thread[rows], sum(streams) - busy),
        int(np.median(delays)) if len(delays) else 0,
        _starved_ns(store, rows, start, end),
    )


def union_ns(start: np.ndarray, end: np.ndarray) -> int:
    """The length of the union of intervals."""
    if not len(start):
        return 0
    order = np.argsort(start, kind="stable")
    start, end = start[order], end[order]
    reach = np.maximum.accumulate(end)
    begins = np.append(True, start[1:] > reach[:-1])
    groups = np.append(np.flatnonzero(begins)[1:] - 1, len(start) - 1)
    return int((reach[groups] - start[begins]).sum())


def _parallel_ns(start: np.ndarray, end: np.ndarray, thread: np.ndarray, surplus: int) -> int:
    """How long more than one stream worked; with two streams that is what their busy times exceed the device's by."""
    if len(np.unique(thread)) <= 2:
        return surplus
    times = np.concatenate([start, end])
    change = np.concatenate([np.ones(len(start), np.int64), -np.ones(len(end), np.int64)])
    order = np.lexsort((change, times))
    running = np.cumsum(change[order])[:-1]
    return int(np.diff(times[order])[running > 1].sum())


def _starved_ns(store: EventStore, rows: np.ndarray, start: np.ndarray, end: np.ndarray) -> int:
    """How long nothing ran and nothing that had been launched was waiting.

    What nobody is known to have launched came as it began.
    """
    launcher = store.launcher[rows]
    came = np.where(launcher >= 0, np.minimum(store.end_ns[launcher], start), start)
    first = start.min()
    return int(end.max() - first) - union_ns(np.maximum(came, first), end)

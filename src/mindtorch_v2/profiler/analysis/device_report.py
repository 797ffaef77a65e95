"""What ran on devices, in tables: kernels, streams, why a device was idle, and how long launches took to arrive."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..record.kinds import WORK_KINDS, Kind
from ..store.event_store import EventStore
from .device import DeviceUse, device_use, union_ns
from .steps import window_of
from .tree import EventTree

IDLE_REASONS = ("waited for the host", "launched, not yet begun")
_COLLECTIVES = (
    "nccl",
    "hccl",
    "hcom_",
    "rccl",
    "allreduce",
    "all_reduce",
    "allgather",
    "all_gather",
    "reducescatter",
    "reduce_scatter",
    "oneccl",
)


class Kernel(NamedTuple):
    """All work of one name on one device; times in nanoseconds."""

    name: str
    kind: str
    calls: int
    total_ns: int
    p50_ns: int
    max_ns: int
    slowest_row: int
    launched_by: str


class Stream(NamedTuple):
    """One stream: its name, pieces of work, and how long it worked."""

    name: str
    work: int
    busy_ns: int


@dataclass(frozen=True)
class DeviceReport:
    """One device over a window; times in nanoseconds. `idle` gives the reasons of idle time, which sum to it;
    `before_ns` and `after_ns` are the parts of the window before its first and after its last piece of work.
    """

    use: DeviceUse
    kernels: list[Kernel]
    streams: list[Stream]
    idle: dict[str, int]
    before_ns: int
    after_ns: int
    communication_ns: int
    communication_hidden_ns: int
    copy_hidden_ns: int
    delays_ns: list[int]  # 5th, 25th, 50th, 75th, 95th percentile and longest time from a launch to its work
    synchronisations: list[tuple[str, int, int]]  # name of the host's call, how often, nanoseconds


def device_reports(source: EventStore | EventTree) -> list[DeviceReport]:
    """One report per device that did something."""
    tree = EventTree.of(source)
    store = tree.store
    rows = np.flatnonzero(np.isin(store.kind, [int(k) for k in WORK_KINDS]))
    devices = np.array([thread.device for thread in store.threads] or [-1])[store.thread[rows]]
    return [_report(tree, use, rows[devices == use.device]) for use in device_use(tree)]


def _report(tree: EventTree, use: DeviceUse, rows: np.ndarray) -> DeviceReport:
    store = tree.store
    start, end = store.start_ns[rows], store.end_ns[rows]
    first, last = window_of(store)
    collective = np.array([any(word in text.lower() for word in _COLLECTIVES) for text in store.strings] or [False])[
        store.name[rows]
    ]
    is_kernel = (store.kind[rows] == Kind.KERNEL) & ~collective
    kernels = union_ns(start[is_kernel], end[is_kernel])
    communication = union_ns(start[collective], end[collective])
    both = union_ns(start[is_kernel | collective], end[is_kernel | collective])
    launched = store.launcher[rows] >= 0
    delays = (start - store.start_ns[store.launcher[rows]])[launched]
    quantiles = (
        [int(v) for v in np.quantile(delays, (0.05, 0.25, 0.5, 0.75, 0.95, 1.0), method="inverted_cdf")]
        if len(delays)
        else []
    )
    return DeviceReport(
        use,
        _kernels(tree, rows),
        _streams(store, rows),
        dict(zip(IDLE_REASONS, (use.starved_ns, use.idle_ns - use.starved_ns))),
        int(start.min()) - first,
        last - int(end.max()),
        communication,
        kernels + communication - both,
        use.overlap_ns,
        quantiles,
        _synchronisations(store),
    )


def _kernels(tree: EventTree, rows: np.ndarray) -> list[Kernel]:
    store = tree.store
    length = store.end_ns[rows] - store.start_ns[rows]
    owner = np.append(tree.row, -1)[tree.owner[tree.entry_of_row[rows]]]
    found = []
    order = np.lexsort((length, store.name[rows]))
    names, begins = np.unique(store.name[rows][order], return_index=True)
    for name, members in zip(names.tolist(), np.split(order, begins[1:])):
        slowest = int(rows[members[-1]])
        by = int(owner[members[-1]])
        found.append(
            Kernel(
                store.strings[name],
                Kind(int(store.kind[slowest])).name.lower(),
                len(members),
                int(length[members].sum()),
                int(length[members[(len(members) - 1) // 2]]),
                int(length[members[-1]]),
                slowest,
                store.name_of(by) if by >= 0 else "",
            )
        )
    return sorted(found, key=lambda k: (-k.total_ns, k.name))


def _streams(store: EventStore, rows: np.ndarray) -> list[Stream]:
    found = []
    for thread in np.unique(store.thread[rows]).tolist():
        mine = rows[store.thread[rows] == thread]
        found.append(Stream(store.threads[thread].name, len(mine), union_ns(store.start_ns[mine], store.end_ns[mine])))
    return found


def _synchronisations(store: EventStore) -> list[tuple[str, int, int]]:
    """The host's calls that wait for a device."""
    waits = [i for i, text in enumerate(store.strings) if "ynchronize" in text]
    rows = np.flatnonzero(np.isin(store.name, waits) & np.isin(store.kind, (Kind.RUNTIME, Kind.DRIVER)))
    names, where, counts = np.unique(store.name[rows], return_inverse=True, return_counts=True)
    total = np.bincount(where, weights=(store.end_ns - store.start_ns)[rows], minlength=len(names))
    found = [(store.strings[n], int(c), int(t)) for n, c, t in zip(names.tolist(), counts.tolist(), total.tolist())]
    return sorted(found, key=lambda item: -item[2])

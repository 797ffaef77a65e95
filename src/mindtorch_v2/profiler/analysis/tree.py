"""What every view of a store starts from: its entries with their parents, the time each spent itself, device time
and memory.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from ..record.columns import is_constant
from ..record.kinds import LAUNCHING_KINDS, WORK_KINDS, Kind
from ..store.event_store import EventStore
from .entries import MEMORY_KIND, Entries
from .flops import flops_of_rows
from .tasks import running_times

_IS_LAUNCHING = np.isin(np.arange(256), [int(kind) for kind in LAUNCHING_KINDS])
_IS_WORK = np.isin(np.arange(256), [int(kind) for kind in WORK_KINDS])
_HAS_DEVICE_TIME = _IS_WORK | (np.arange(256) == Kind.DEVICE_SCOPE)


class EventTree(Entries):
    """Entries with all that follows from who encloses whom and who launched whom. Arrays are over entries."""

    @classmethod
    def of(cls, source: EventStore | EventTree) -> EventTree:
        return source if isinstance(source, EventTree) else cls(source)

    @cached_property
    def nests(self) -> np.ndarray:
        """Entries that take part in nesting: those of the CPU that end on the thread and in the order they began."""
        return ~self.is_async & (self.device_type == 0)

    @cached_property
    def parent(self) -> np.ndarray:
        """The entry that encloses each entry, or -1."""
        found = self.store.parent
        if not self._is_all_rows:
            found = self.entry_of_row[self.column(np.append(self.entry_row, -1)[found], -1)]
        if self.nests.all():
            return found
        return np.where(self.nests & np.append(self.nests, False)[found], found, -1)

    @cached_property
    def self_ns(self) -> np.ndarray:
        """Elapsed time less that of the children."""
        if self._running_ns is not None:
            return self._running_ns[0]
        parent = self.parent
        flat = is_constant(parent) and parent[0] < 0  # nothing has children
        own = self.total_ns if flat else self.total_ns - self.sum_to_parents(self.total_ns)
        return own if self.nests.all() else np.where(self.nests, own, 0)

    @cached_property
    def total_ns(self) -> np.ndarray:
        """Elapsed time on the CPU, without that of other tasks meanwhile and of what was loaded; zero for what ran
        elsewhere.
        """
        elapsed = self.end_ns - self.start_ns if self._running_ns is None else self._running_ns[1]
        if self._loading_ns is not None and self._running_ns is None:
            elapsed = elapsed - self._loading_ns[1]
        return elapsed if not self.device_type.any() else np.where(self.device_type == 0, elapsed, 0)

    @cached_property
    def _running_ns(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Where several tasks ran on a thread: the time that entries ran themselves, and that with everything below
        them. None where no task interrupted another, so that what elapsed is the same.
        """
        if not self.has_tasks:
            return None
        threads = np.array([thread.id for thread in self.store.threads])
        thread = np.where(self.nests & (self.kind != MEMORY_KIND), threads[self.column(self.store.thread, 0)], -1)
        own = running_times(self.start_ns, self.end_ns, self.parent, thread)
        if self._loading_ns is not None:
            own = own - self._loading_ns[0]
        return own, np.where(self.nests, self.sum_to_ancestors(own), self.end_ns - self.start_ns)

    @cached_property
    def _loading_ns(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Per entry: the time of what was loaded right below it, and anywhere below it."""
        if self._loads is None:
            return None
        parent = np.append(self.store.parent, -1)
        rows = np.flatnonzero(self._loads & ~np.append(self._loads, False)[self.store.parent])
        entry = self.entry_of_row[np.append(self.entry_row, -1)[parent[rows]]]
        rows, entry = rows[entry >= 0], entry[entry >= 0]
        own = np.bincount(
            entry, weights=self.store.end_ns[rows] - self.store.start_ns[rows], minlength=len(self)
        ).astype(np.int64)
        own = np.where(self.nests, own, 0)
        return own, self.sum_to_ancestors(own)

    def sum_to_parents(self, values: np.ndarray) -> np.ndarray:
        """For each entry, the sum of `values` over its children. Sums stay exact below 2**53."""
        # Roots are counted in slot 0, which is dropped: cheaper than leaving them out.
        return np.bincount(self.parent + 1, weights=values, minlength=len(self) + 1)[1:].astype(np.int64)

    def sum_to_ancestors(self, values: np.ndarray) -> np.ndarray:
        """For each entry, the sum of `values` over itself and everything below it."""
        total = np.asarray(values, np.int64).copy()
        for level in reversed(self.levels):
            np.add.at(total, self.parent[level], total[level])
        return total

    def outermost_of(self, group: np.ndarray) -> np.ndarray:
        """The mask of entries that no entry of the same group encloses."""
        outermost = np.ones(len(self), bool)
        inside = np.flatnonzero(self.parent >= 0)
        at = self.parent[inside]
        while len(inside):
            outermost[inside[group[at] == group[inside]]] = False
            at = self.parent[at]
            still = (at >= 0) & outermost[inside]
            inside, at = inside[still], at[still]
        return outermost

    @cached_property
    def depth(self) -> np.ndarray:
        """How many entries enclose each entry."""
        depth = np.zeros(len(self), np.int32)
        inside = np.flatnonzero(self.parent >= 0)
        at = self.parent[inside]
        while len(inside):
            depth[inside] += 1
            at = self.parent[at]
            still = at >= 0
            inside, at = inside[still], at[still]
        return depth

    @cached_property
    def levels(self) -> list[np.ndarray]:
        """The entries that have a parent, by depth: first the children of roots."""
        order = np.argsort(self.depth, kind="stable")
        bounds = np.searchsorted(self.depth[order], np.arange(1, int(self.depth.max(initial=0)) + 2))
        return [order[bounds[i] : bounds[i + 1]] for i in range(len(bounds) - 1)]

    @cached_property
    def _children(self) -> tuple[np.ndarray, np.ndarray]:
        """Entries ordered by parent, and where each parent's begin: entry i's are order[begin[i]:begin[i + 1]]."""
        order = np.argsort(self.parent, kind="stable")
        return order, np.searchsorted(self.parent[order], np.arange(len(self) + 1))

    def children(self, entry: int) -> list[int]:
        order, begin = self._children
        return order[begin[entry] : begin[entry + 1]].tolist()

    # ---- devices -------------------------------------------------------------------------------------------------

    @cached_property
    def launcher(self) -> np.ndarray:
        """The entry that launched each entry, or -1."""
        rows = np.append(self.entry_row, -1)
        return self.entry_of_row[rows[self.column(self.store.launcher, -1)]]

    @cached_property
    def owner(self) -> np.ndarray:
        """The operator or annotation that accounts for each launched entry: the innermost around the launching call, or
        that call itself where there is none; -1 for what was not launched."""
        if not self.has_device_entries:
            return np.full(len(self), -1, np.int32)
        calls_runtime = np.append(_IS_LAUNCHING[self.kind], False)
        parent = np.append(self.parent, -1)
        owner = self.launcher
        while (climbs := calls_runtime[owner] & (parent[owner] >= 0)).any():
            owner = np.where(climbs, parent[owner], owner)
        return owner

    @cached_property
    def _device_ns(self) -> tuple[np.ndarray, np.ndarray]:
        """Nanoseconds of device time per entry: its own, and with everything below it. Of what ran on a device it is
        what elapsed, without waiting; of what ran on the CPU it is the work that it launched.
        """
        elapsed = np.where(_HAS_DEVICE_TIME[self.kind] & (self.device_type != 0), self.end_ns - self.start_ns, 0)
        launched = np.flatnonzero((self.owner >= 0) & _IS_WORK[self.kind])
        own = np.bincount(self.owner[launched], weights=elapsed[launched], minlength=len(self)).astype(np.int64)
        own[~self.nests] = 0
        return own + elapsed, self.sum_to_ancestors(own) + elapsed

    @property
    def self_device_ns(self) -> np.ndarray:
        return self._device_ns[0]

    @property
    def device_ns(self) -> np.ndarray:
        return self._device_ns[1]

    def launched_by(self, entry: int) -> list[int]:
        """The work on devices that an entry accounts for itself, in the order of time."""
        order, sorted_owner = self._launched_work
        first, last = np.searchsorted(sorted_owner, [entry, entry + 1])
        return order[first:last].tolist()

    @cached_property
    def _launched_work(self) -> tuple[np.ndarray, np.ndarray]:
        """Launched work ordered by owner, and the owners."""
        work = np.flatnonzero((self.owner >= 0) & _IS_WORK[self.kind])
        order = work[np.argsort(self.owner[work], kind="stable")]
        return order, self.owner[order]

    # ---- memory and FLOPs ----------------------------------------------------------------------------------------

    def self_bytes(self, on_cpu: bool) -> np.ndarray:
        """Bytes gained less bytes given back by each entry itself, on the CPU or on other devices."""
        memory = self.store.memory
        chosen = (memory.device_type == 0) == on_cpu
        entry = self.entry_of_row[self.memory_row[chosen]]
        inside = entry >= 0
        sums = np.bincount(entry[inside], weights=memory.nbytes[chosen][inside], minlength=len(self)).astype(np.int64)
        if self._is_loose is not None:
            own = self._is_loose & ((memory.device_type[self.record] == 0) == on_cpu)
            sums[own] += memory.nbytes[self.record[own]]
        return sums

    @cached_property
    def self_cpu_bytes(self) -> np.ndarray:
        return self.self_bytes(on_cpu=True)

    @cached_property
    def self_device_bytes(self) -> np.ndarray:
        return self.self_bytes(on_cpu=False)

    @cached_property
    def cpu_bytes(self) -> np.ndarray:
        """What `self_cpu_bytes` is for the entry and everything below it."""
        return self.sum_to_ancestors(self.self_cpu_bytes) if len(self.store.memory) else self.self_cpu_bytes

    @cached_property
    def device_bytes(self) -> np.ndarray:
        return self.sum_to_ancestors(self.self_device_bytes) if len(self.store.memory) else self.self_device_bytes

    @cached_property
    def flops(self) -> np.ndarray:
        """Floating point operations by PyTorch's formulas; zero unless they were asked for."""
        if not self.store.metadata.options.with_flops:
            return np.zeros(len(self), np.int64)
        return self.column(flops_of_rows(self.store), 0)

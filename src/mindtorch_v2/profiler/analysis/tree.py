"""What every view of a store starts from: the events that are shown, their parents, and the time each spent itself."""
from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from ..record.columns import is_constant
from ..record.kinds import ANNOTATION_KINDS, LAUNCHING_KINDS, PYTHON_KINDS, SINGLE_KINDS, WORK_KINDS, Flag, Kind
from ..store.event_store import EventStore, kept_ancestors
from .collapse import UNLISTED_NAMES, looked_up, repeats_its_parent
from .flops import flops_of_rows
from .tasks import running_times

MEMORY_NAME = "[memory]"
MEMORY_KIND = 255  # not a kind of row: an entry made from a memory record that no event accounts for
STEP_PREFIX = "ProfilerStep#"
STEP_NAME = "ProfilerStep*"

_IS_PYTHON = np.isin(np.arange(256), [int(kind) for kind in PYTHON_KINDS])
_IS_ANNOTATION = np.isin(np.arange(256), [int(kind) for kind in ANNOTATION_KINDS])
_IS_LAUNCHING = np.isin(np.arange(256), [int(kind) for kind in LAUNCHING_KINDS])
_IS_SINGLE = np.isin(np.arange(256), [int(kind) for kind in SINGLE_KINDS])
_IS_WORK = np.isin(np.arange(256), [int(kind) for kind in WORK_KINDS])
_HAS_DEVICE_TIME = _IS_WORK | (np.arange(256) == Kind.DEVICE_SCOPE)
_SCOPE_OF_KIND = np.zeros(256, np.uint8)
_SCOPE_OF_KIND[[Kind.SCOPE, Kind.STEP]] = 7
_SCOPE_OF_KIND[Kind.BACKWARD] = 1


class EventTree:
    """The events of a store as a user sees them, in the order of (start, -end), with all that follows from them.

    An entry is an operator call, a node of the engine, an annotation, or a memory record outside all of them
    (`[memory]`). Python calls are not entries: they are in traces and in the stacks of entries. Entries are numbered
    from 0; every attribute is an array or list over entries, made when first asked for. Nothing here refers back to
    the tree, so trees are freed as soon as they are dropped.
    """

    def __init__(self, store: EventStore, collapsed: bool = True) -> None:
        self.store = store
        self._collapsed = collapsed      # False: all rows but Python's are entries

    @classmethod
    def of(cls, source: EventStore | EventTree) -> EventTree:
        return source if isinstance(source, EventTree) else cls(source)

    def __getstate__(self) -> dict[str, Any]:
        return {"store": self.store, "_collapsed": self._collapsed}

    def __len__(self) -> int:
        return len(self.store) if self._is_all_rows else len(self.row)

    @cached_property
    def _is_all_rows(self) -> bool:
        """Is every row an entry, and every entry a row? Mostly so, and then columns are those of the store."""
        return self._hidden is None and not (self.memory_row < 0).any()

    # ---- which rows are shown -------------------------------------------------------------------------------

    @cached_property
    def _names(self) -> tuple[list[str], np.ndarray]:
        """Names as shown, and for each string of the store the number of its shown name; `[memory]` is the last."""
        numbers: dict[str, int] = {}
        shown = [STEP_NAME if text.startswith(STEP_PREFIX) else text for text in self.store.strings]
        lookup = [numbers.setdefault(text, len(numbers)) for text in [*shown, MEMORY_NAME]]
        return list(numbers), np.array(lookup, np.int32)

    @cached_property
    def _row_name(self) -> np.ndarray:
        """Per row: the number of its shown name."""
        shown = self._names[1]
        unchanged = np.array_equal(shown[:-1], np.arange(len(shown) - 1))      # mostly so
        return self.store.name if unchanged else shown[self.store.name]

    @cached_property
    def is_python(self) -> np.ndarray:
        """Per row: is it a Python call?"""
        return looked_up(_IS_PYTHON, self.store.kind)

    @cached_property
    def taken_in(self) -> np.ndarray:
        """Per row: is it merged into its parent, or never listed?"""
        store = self.store
        if not self._collapsed:
            return np.zeros(len(store), bool)
        unlisted = np.array([text in UNLISTED_NAMES for text in store.strings] or [False])
        left_out = self.is_python | unlisted[store.name] if unlisted.any() else self.is_python
        parent = store.parent
        if left_out.any():
            parent = np.append(kept_ancestors(parent, ~left_out), -1)[parent]
            parent[left_out] = -1
        repeats = repeats_its_parent(self._row_name, parent, looked_up(_IS_ANNOTATION, store.kind))
        if repeats.any():
            again = np.flatnonzero(repeats)
            repeats[again] = ~_IS_SINGLE[store.kind[again]]
            if store.metadata.is_foreign:
                repeats[again] &= store.end_ns[again] > store.start_ns[again]
        return repeats | (left_out & ~self.is_python) if unlisted.any() else repeats

    @cached_property
    def _hidden(self) -> np.ndarray | None:
        """The mask of rows that are no entries, or None when all are: the common case, which then costs nothing."""
        hidden = self.is_python | self.taken_in
        if self._loads is not None:
            hidden = hidden | self._loads
        return hidden if hidden.any() else None

    @cached_property
    def _loads(self) -> np.ndarray | None:
        """The mask of rows that are loading, or part of it; None when there are none: the common case."""
        loads = self.store.kind == Kind.LOADING
        if not loads.any():
            return None
        parent = self.store.parent
        while (inside := ~loads & np.append(loads, False)[parent]).any():
            loads = loads | inside
        return loads

    @property
    def loading_rows(self) -> np.ndarray:
        """The rows of what was loaded when it was first used: in traces, but no entries."""
        return np.flatnonzero(self.store.kind == Kind.LOADING)

    @cached_property
    def _loading_ns(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Per entry: the time of what was loaded right below it, and anywhere below it."""
        if self._loads is None:
            return None
        parent = np.append(self.store.parent, -1)
        rows = np.flatnonzero(self._loads & ~np.append(self._loads, False)[self.store.parent])
        entry = self.entry_of_row[np.append(self.shown_row, -1)[parent[rows]]]
        rows, entry = rows[entry >= 0], entry[entry >= 0]
        own = np.bincount(entry, weights=self.store.end_ns[rows] - self.store.start_ns[rows], minlength=len(self)).astype(np.int64)
        own = np.where(self.nests, own, 0)
        return own, self.sum_to_ancestors(own)

    @cached_property
    def shown_row(self) -> np.ndarray:
        """Per row: the row of the entry that accounts for it (itself, or the nearest shown ancestor), or -1."""
        return np.arange(len(self.store)) if self._hidden is None else kept_ancestors(self.store.parent, ~self._hidden)

    @cached_property
    def memory_row(self) -> np.ndarray:
        """Per memory record: the shown row that accounts for it, or -1."""
        row = self.store.memory.row
        return row if self._hidden is None or not len(row) else np.append(self.shown_row, -1)[row]

    @cached_property
    def _entries(self) -> tuple[np.ndarray, np.ndarray]:
        """(row, memory record) per entry; one of the two is -1."""
        shown = np.arange(len(self.store)) if self._hidden is None else np.flatnonzero(~self._hidden)
        loose = np.flatnonzero(self.memory_row < 0)
        if not len(loose):
            return shown, np.full(len(shown), -1)
        row = np.concatenate([shown, np.full(len(loose), -1)])
        record = np.concatenate([np.full(len(shown), -1), loose])
        start = np.concatenate([self.store.start_ns[shown], self.store.memory.time_ns[loose]])
        end = np.concatenate([self.store.end_ns[shown], self.store.memory.time_ns[loose]])
        order = np.lexsort((-end, start))
        return row[order], record[order]

    @property
    def row(self) -> np.ndarray:
        return self._entries[0]

    @property
    def record(self) -> np.ndarray:
        return self._entries[1]

    def rows_of(self, entries: np.ndarray) -> np.ndarray:
        """The rows of entries that are not memory records'."""
        return entries if self._is_all_rows else self.row[entries]

    @cached_property
    def _is_loose(self) -> np.ndarray | None:
        """The mask of memory entries, or None when there are none: the common case, which then costs nothing."""
        return None if not (self.memory_row < 0).any() else self.row < 0

    def column(self, values: np.ndarray, missing: int) -> np.ndarray:
        """A column of the store over entries; `missing` stands for it in memory entries."""
        if self._is_all_rows:
            return values
        taken = values[self.row] if len(values) else np.full(len(self.row), missing)
        return taken if self._is_loose is None else np.where(self._is_loose, missing, taken)

    @cached_property
    def entry_of_row(self) -> np.ndarray:
        """Per row of the store: its entry if it is shown, or -1; the extra last slot maps -1 to -1."""
        found = np.full(len(self.store) + 1, -1, np.int32)
        listed = self.row >= 0
        found[self.row[listed]] = np.flatnonzero(listed)
        return found

    # ---- arrays over entries --------------------------------------------------------------------------------

    @cached_property
    def start_ns(self) -> np.ndarray:
        return self._with_record_times(self.store.start_ns)

    @cached_property
    def end_ns(self) -> np.ndarray:
        return self._with_record_times(self.store.end_ns)

    def _with_record_times(self, values: np.ndarray) -> np.ndarray:
        times = self.column(values, 0)
        return times if self._is_loose is None else np.where(self._is_loose, self.store.memory.time_ns[self.record], times)

    @cached_property
    def name_id(self) -> np.ndarray:
        """Numbers of shown names, for `name_of_id`."""
        return self.column(self._row_name, int(self._names[1][-1]))

    @property
    def name_of_id(self) -> list[str]:
        return self._names[0]

    @cached_property
    def kind(self) -> np.ndarray:
        return self.column(self.store.kind, MEMORY_KIND)

    @cached_property
    def is_annotation(self) -> np.ndarray:
        return looked_up(_IS_ANNOTATION, self.kind)

    def scope_of(self, entries: np.ndarray | slice) -> np.ndarray:
        """PyTorch's number for where an event comes from: 0 a function, 1 a backward function, 7 a user's scope."""
        return _SCOPE_OF_KIND[self.kind[entries]]

    @cached_property
    def device_type(self) -> np.ndarray:
        values = self.column(self.store.device_type, 0)
        return values if self._is_loose is None else np.where(self._is_loose, self.store.memory.device_type[self.record], values)

    @cached_property
    def host_number(self) -> np.ndarray:
        """Per entry: how many of those before it ran on the CPU, memory records left out."""
        return np.cumsum((self.row >= 0) & (self.device_type == 0)) - 1

    @cached_property
    def is_async(self) -> np.ndarray:
        return (self.column(self.store.flags, 0) & np.uint8(Flag.ASYNC)) != 0

    @cached_property
    def nests(self) -> np.ndarray:
        """Entries that take part in nesting: those of the CPU that end on the thread and in the order they began."""
        return ~self.is_async & (self.device_type == 0)

    @cached_property
    def parent(self) -> np.ndarray:
        """The entry that encloses each entry, or -1."""
        found = self.store.parent
        if not self._is_all_rows:
            found = self.entry_of_row[self.column(np.append(self.shown_row, -1)[found], -1)]
        if self.nests.all():
            return found
        return np.where(self.nests & np.append(self.nests, False)[found], found, -1)

    @property
    def has_loading(self) -> bool:
        """Whether something was loaded meanwhile, which counts to no entry."""
        return self._loads is not None

    @property
    def has_tasks(self) -> bool:
        """Whether several tasks took turns on a thread."""
        return any(thread.task for thread in self.store.threads)

    @cached_property
    def _running_ns(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Where several tasks ran on a thread: the time that entries ran themselves, and that with everything below them. None where
        no task interrupted another, so that what elapsed is the same."""
        if not self.has_tasks:
            return None
        threads = np.array([thread.number for thread in self.store.threads])
        thread = np.where(self.nests & (self.kind != MEMORY_KIND), threads[self.column(self.store.thread, 0)], -1)
        own = running_times(self.start_ns, self.end_ns, self.parent, thread)
        if self._loading_ns is not None:
            own = own - self._loading_ns[0]
        return own, np.where(self.nests, self.sum_to_ancestors(own), self.end_ns - self.start_ns)

    @cached_property
    def total_ns(self) -> np.ndarray:
        """Elapsed time on the CPU, without that of other tasks meanwhile and of what was loaded; zero for what ran elsewhere."""
        elapsed = self.end_ns - self.start_ns if self._running_ns is None else self._running_ns[1]
        if self._loading_ns is not None and self._running_ns is None:
            elapsed = elapsed - self._loading_ns[1]
        return elapsed if not self.device_type.any() else np.where(self.device_type == 0, elapsed, 0)

    # ---- devices --------------------------------------------------------------------------------------------

    @cached_property
    def has_device_entries(self) -> bool:
        return bool(self.device_type.any())

    @cached_property
    def launcher(self) -> np.ndarray:
        """The entry that launched each entry, or -1."""
        shown = np.append(self.shown_row, -1)
        return self.entry_of_row[shown[self.column(self.store.launcher, -1)]]

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
        """Nanoseconds of device time per entry: its own, and with everything below it. Of what ran on a device it is what
        elapsed, without waiting; of what ran on the CPU it is the work that it launched."""
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
        order, sorted_owner = self._launched
        first, last = np.searchsorted(sorted_owner, [entry, entry + 1])
        return order[first:last].tolist()

    @cached_property
    def _launched(self) -> tuple[np.ndarray, np.ndarray]:
        """Launched work ordered by owner, and the owners."""
        work = np.flatnonzero((self.owner >= 0) & _IS_WORK[self.kind])
        order = work[np.argsort(self.owner[work], kind="stable")]
        return order, self.owner[order]

    @cached_property
    def self_ns(self) -> np.ndarray:
        """Elapsed time less that of the children."""
        if self._running_ns is not None:
            return self._running_ns[0]
        parent = self.parent
        flat = is_constant(parent) and parent[0] < 0      # nothing has children
        own = self.total_ns if flat else self.total_ns - self.sum_to_parents(self.total_ns)
        return own if self.nests.all() else np.where(self.nests, own, 0)

    def sum_to_parents(self, values: np.ndarray) -> np.ndarray:
        """For each entry, the sum of `values` over its children. Sums stay exact below 2**53."""
        # Roots are counted in slot 0, which is dropped: cheaper than leaving them out.
        return np.bincount(self.parent + 1, weights=values, minlength=len(self) + 1)[1:].astype(np.int64)

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

    def sum_to_ancestors(self, values: np.ndarray) -> np.ndarray:
        """For each entry, the sum of `values` over itself and everything below it."""
        total = np.asarray(values, np.int64).copy()
        for level in reversed(self.levels):
            np.add.at(total, self.parent[level], total[level])
        return total

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
        return [order[bounds[i]:bounds[i + 1]] for i in range(len(bounds) - 1)]

    @cached_property
    def _children(self) -> tuple[np.ndarray, np.ndarray]:
        """Entries ordered by parent, and where each parent's begin: entry i's are order[begin[i]:begin[i + 1]]."""
        order = np.argsort(self.parent, kind="stable")
        return order, np.searchsorted(self.parent[order], np.arange(len(self) + 1))

    def children(self, entry: int) -> list[int]:
        order, begin = self._children
        return order[begin[entry]:begin[entry + 1]].tolist()

    # ---- memory and FLOPs -----------------------------------------------------------------------------------

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

"""Entries: the rows of a store that users see as events."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from ..record.kinds import ANNOTATION_KINDS, PYTHON_KINDS, SINGLE_KINDS, Flag, Kind
from ..store.event_store import EventStore, kept_ancestors
from .collapse import UNLISTED_NAMES, looked_up, repeats_its_parent

MEMORY_NAME = "[memory]"
MEMORY_KIND = 255  # not a kind of row: an entry made from a memory record that no event accounts for
STEP_PREFIX = "ProfilerStep#"
STEP_NAME = "ProfilerStep*"

_IS_PYTHON = np.isin(np.arange(256), [int(kind) for kind in PYTHON_KINDS])
_IS_ANNOTATION = np.isin(np.arange(256), [int(kind) for kind in ANNOTATION_KINDS])
_IS_SINGLE = np.isin(np.arange(256), [int(kind) for kind in SINGLE_KINDS])
_SCOPE_OF_KIND = np.zeros(256, np.uint8)
_SCOPE_OF_KIND[[Kind.SCOPE, Kind.STEP]] = 7
_SCOPE_OF_KIND[Kind.BACKWARD] = 1


class Entries:
    """The events of a store as a user sees them, in the order of (start, -end).

    An entry is an operator call, a node of the engine, an annotation, or a memory record outside all of them
    (`[memory]`). Python calls are not entries: they are in traces and in the stacks of entries. Entries are counted
    from 0; every attribute is an array or list over entries, made when first asked for. Nothing here refers back to
    the object, so it is freed as soon as it is dropped.
    """

    def __init__(self, store: EventStore, collapsed: bool = True) -> None:
        self.store = store
        self._is_collapsed = collapsed  # False: all rows but Python's are entries

    def __getstate__(self) -> dict[str, Any]:
        return {"store": self.store, "_is_collapsed": self._is_collapsed}

    def __len__(self) -> int:
        return len(self.store) if self._is_all_rows else len(self.row)

    @cached_property
    def _is_all_rows(self) -> bool:
        """Is every row an entry, and every entry a row? Mostly so, and then columns are those of the store."""
        return self._hidden is None and not (self.memory_row < 0).any()

    @cached_property
    def _names(self) -> tuple[list[str], np.ndarray]:
        """Names of entries, and for each string of the store the id of the name it becomes; `[memory]` is the last."""
        ids: dict[str, int] = {}
        names = [STEP_NAME if text.startswith(STEP_PREFIX) else text for text in self.store.strings]
        lookup = [ids.setdefault(text, len(ids)) for text in [*names, MEMORY_NAME]]
        return list(ids), np.array(lookup, np.int32)

    @cached_property
    def _row_name(self) -> np.ndarray:
        """Per row: the id of its name."""
        name_id = self._names[1]
        unchanged = np.array_equal(name_id[:-1], np.arange(len(name_id) - 1))  # mostly so
        return self.store.name if unchanged else name_id[self.store.name]

    @cached_property
    def is_python(self) -> np.ndarray:
        """Per row: is it a Python call?"""
        return looked_up(_IS_PYTHON, self.store.kind)

    @cached_property
    def taken_in(self) -> np.ndarray:
        """Per row: is it merged into its parent, or never listed?"""
        store = self.store
        if not self._is_collapsed:
            return np.zeros(len(store), bool)
        unlisted = np.array([text in UNLISTED_NAMES for text in store.strings] or [False])
        left_out = self.is_python | unlisted[store.name] if unlisted.any() else self.is_python
        parent = store.parent
        # what is loaded in between makes nobody a sibling: the first call is listed as all others are
        passed_over = left_out if self._loads is None else left_out | self._loads
        if passed_over.any():
            parent = np.append(kept_ancestors(parent, ~passed_over), -1)[parent]
            parent[passed_over] = -1
        repeats = repeats_its_parent(self._row_name, parent, looked_up(_IS_ANNOTATION, store.kind))
        if repeats.any():
            again = np.flatnonzero(repeats)
            repeats[again] = ~_IS_SINGLE[store.kind[again]]
            if store.metadata.is_foreign:
                repeats[again] &= store.end_ns[again] > store.start_ns[again]
        return repeats | (left_out & ~self.is_python) if unlisted.any() else repeats

    @cached_property
    def _hidden(self) -> np.ndarray | None:
        """The mask of rows that are not entries, or None when all are: the common case, which then costs nothing."""
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
    def entry_row(self) -> np.ndarray:
        """Per row: the row of the entry that accounts for it (its own, or the nearest ancestor's), or -1."""
        return np.arange(len(self.store)) if self._hidden is None else kept_ancestors(self.store.parent, ~self._hidden)

    @cached_property
    def memory_row(self) -> np.ndarray:
        """Per memory record: the row of the entry that accounts for it, or -1."""
        row = self.store.memory.row
        return row if self._hidden is None or not len(row) else np.append(self.entry_row, -1)[row]

    @cached_property
    def _entries(self) -> tuple[np.ndarray, np.ndarray]:
        """(row, memory record) per entry; one of the two is -1."""
        rows = np.arange(len(self.store)) if self._hidden is None else np.flatnonzero(~self._hidden)
        loose = np.flatnonzero(self.memory_row < 0)
        if not len(loose):
            return rows, np.full(len(rows), -1)
        row = np.concatenate([rows, np.full(len(loose), -1)])
        record = np.concatenate([np.full(len(rows), -1), loose])
        start = np.concatenate([self.store.start_ns[rows], self.store.memory.time_ns[loose]])
        end = np.concatenate([self.store.end_ns[rows], self.store.memory.time_ns[loose]])
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
        """Per row of the store: its entry if it has one, or -1; the extra last slot maps -1 to -1."""
        found = np.full(len(self.store) + 1, -1, np.int32)
        listed = self.row >= 0
        found[self.row[listed]] = np.flatnonzero(listed)
        return found

    @cached_property
    def start_ns(self) -> np.ndarray:
        return self._with_record_times(self.store.start_ns)

    @cached_property
    def end_ns(self) -> np.ndarray:
        return self._with_record_times(self.store.end_ns)

    def _with_record_times(self, values: np.ndarray) -> np.ndarray:
        times = self.column(values, 0)
        return (
            times if self._is_loose is None else np.where(self._is_loose, self.store.memory.time_ns[self.record], times)
        )

    @cached_property
    def name_id(self) -> np.ndarray:
        """Ids of the entries' names, for `name_of_id`."""
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
        """PyTorch's code of where an event comes from: 0 a function, 1 a backward function, 7 a user's scope."""
        return _SCOPE_OF_KIND[self.kind[entries]]

    @cached_property
    def device_type(self) -> np.ndarray:
        values = self.column(self.store.device_type, 0)
        return (
            values
            if self._is_loose is None
            else np.where(self._is_loose, self.store.memory.device_type[self.record], values)
        )

    @cached_property
    def host_index(self) -> np.ndarray:
        """Per entry: how many of those before it ran on the CPU, memory records left out."""
        return np.cumsum((self.row >= 0) & (self.device_type == 0)) - 1

    @cached_property
    def is_async(self) -> np.ndarray:
        return (self.column(self.store.flags, 0) & np.uint8(Flag.ASYNC)) != 0

    @property
    def has_loading(self) -> bool:
        """Whether something was loaded meanwhile, which counts to no entry."""
        return self._loads is not None

    @property
    def has_tasks(self) -> bool:
        """Whether several tasks took turns on a thread."""
        return any(thread.task for thread in self.store.threads)

    @cached_property
    def has_device_entries(self) -> bool:
        return bool(self.device_type.any())

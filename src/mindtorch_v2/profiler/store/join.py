"""Several stores in one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..record.descriptions import InputDescription, Metadata, ModuleInfo, ThreadInfo
from .event_store import (
    ROW_COLUMNS,
    EventStore,
    HeldTable,
    MemoryTable,
    OwnedTable,
    ReferenceTable,
    StackTable,
    in_order,
)
from .fields import EVENT_FIELDS, HELD_FIELDS, MEMORY_FIELDS, OWNED_FIELDS, REFERENCE_FIELDS, STACK_FIELDS, Field


def concat(stores: Sequence[EventStore]) -> EventStore:
    """All events of several windows in one store, in the order of time, under the last window's metadata from the
    first one's start. Threads are matched by the system's id."""
    stores = [s for s in stores if s is not None]
    if not stores:
        return EventStore()
    if len(stores) == 1:
        return stores[0]
    return _Joiner(stores).joined()


class _Joiner:
    """Joins side tables first, then rows, whose indices are shifted into the joined tables."""

    def __init__(self, stores: Sequence[EventStore]) -> None:
        self.stores = stores
        self.strings: dict[str, int] = {}
        self.inputs: dict[InputDescription, int] = {}
        self.threads: dict[ThreadInfo, int] = {}
        self.modules: list[ModuleInfo] = []
        self.stacks: list[dict[str, np.ndarray]] = []
        self.nodes = 0
        self.events: list[dict[str, np.ndarray]] = []
        self.memory: list[dict[str, np.ndarray]] = []
        self.scratch: list[dict[str, np.ndarray]] = []
        self.held: list[Mapping[str, np.ndarray]] = []
        self.references: list[dict[str, np.ndarray]] = []
        self.owned: list[dict[str, np.ndarray]] = []
        self.rows = 0

    def joined(self) -> EventStore:
        for store in self.stores:
            self._add(store)
        tables = [
            _one(parts, fields)
            for parts, fields in (
                (self.memory, MEMORY_FIELDS),
                (self.scratch, MEMORY_FIELDS),
                (self.references, REFERENCE_FIELDS),
                (self.owned, OWNED_FIELDS),
            )
        ]
        events, *rows = in_order(_one(self.events, EVENT_FIELDS), *(table["row"] for table in tables))
        memory, scratch, references, owned = ({**table, "row": row} for table, row in zip(tables, rows))
        metadata = replace(
            self.stores[-1].metadata,
            start_ns=min(s.metadata.start_ns for s in self.stores),
            stop_ns=max(s.metadata.stop_ns for s in self.stores),
            dropped_events=sum(s.metadata.dropped_events for s in self.stores),
            speed=_readings([s.metadata for s in self.stores]),
        )
        return EventStore(
            events,
            strings=list(self.strings),
            inputs=list(self.inputs),
            threads=list(self.threads),
            modules=self.modules,
            stacks=StackTable(_one(self.stacks, STACK_FIELDS)),
            memory=MemoryTable(_sort_by(memory, "time_ns")),
            scratch=MemoryTable(_sort_by(scratch, "time_ns")),
            held=HeldTable(_one(self.held, HELD_FIELDS)),
            references=ReferenceTable(_sort_by(references, "row")),
            owned=OwnedTable(_sort_by(owned, "time_ns")),
            metadata=metadata,
        )

    def _add(self, store: EventStore) -> None:
        strings = self._ids(self.strings, store.strings)
        threads = self._ids(self.threads, store.threads)
        module_base = len(self.modules)
        self.modules += [m._replace(parent=m.parent + module_base if m.parent >= 0 else -1) for m in store.modules]
        self.stacks.append(
            {"parent": _shift_index(store.stacks.parent, self.nodes), "frame": strings[store.stacks.frame]}
        )
        events = dict(store.columns)
        events["name"], events["overload"], events["category"] = (
            strings[store.name],
            strings[store.overload],
            strings[store.category],
        )
        events["thread"] = threads[store.thread]
        inputs = self._ids(self.inputs, store.inputs)
        events["inputs"] = inputs[store.columns["inputs"]]
        events["stack"] = _shift_index(store.stack, self.nodes)
        events["module"] = _shift_index(store.module, module_base)
        for name in ROW_COLUMNS:
            events[name] = _shift_index(events[name], self.rows)
        self.events.append(events)
        for parts, table in ((self.memory, store.memory), (self.scratch, store.scratch)):
            parts.append({**table.columns, "thread": threads[table.thread], "row": _shift_index(table.row, self.rows)})
        self.held.append(store.held.columns)
        given, owned = store.references, store.owned
        self.references.append({**given.columns, "row": _shift_index(given.row, self.rows)})
        indices = {"class_name": strings[owned.class_name], "name": strings[owned.name], "inputs": inputs[owned.inputs]}
        self.owned.append({**owned.columns, **indices, "row": _shift_index(owned.row, self.rows)})
        self.nodes += len(store.stacks)
        self.rows += len(store)

    @staticmethod
    def _ids(known: dict[Any, int], values: Sequence[Any]) -> np.ndarray:
        """Where each value stands in the joined table; the extra last slot lets -1 stay -1."""
        return np.array([*(known.setdefault(v, len(known)) for v in values), -1], np.int32)


def _readings(windows: Sequence[Metadata]) -> tuple[tuple[int, int, int], ...]:
    """The readings of the machine's speed in all windows that can be compared with those of the last one."""
    name = windows[-1].yardstick
    return tuple(sorted(reading for window in windows if window.yardstick == name for reading in window.speed))


def _one(parts: Sequence[Mapping[str, np.ndarray]], fields: tuple[Field, ...]) -> dict[str, np.ndarray]:
    return {f.name: np.concatenate([part[f.name] for part in parts]) for f in fields}


def _sort_by(columns: Mapping[str, np.ndarray], by: str) -> dict[str, np.ndarray]:
    order = np.argsort(columns[by], kind="stable")
    return {n: c[order] for n, c in columns.items()}


def _shift_index(index: np.ndarray, base: int) -> np.ndarray:
    return np.where(index >= 0, index + base, -1).astype(np.int32)

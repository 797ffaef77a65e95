"""The result of a profile: an immutable table of events with what its columns refer to.

Everything that a person looks at is a function of a store. Rows are ordered by (start, -end); a parent always
stands before its children.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..record.columns import constant, is_constant
from ..record.descriptions import InputDescription, Metadata, ModuleInfo, ThreadInfo
from ..record.kinds import Category
from .fields import EVENT_FIELDS, HELD_FIELDS, MEMORY_FIELDS, OWNED_FIELDS, REFERENCE_FIELDS, STACK_FIELDS, Field
from .input_texts import InputTexts
from .lifetimes import block_lifetimes

ROW_COLUMNS = tuple(f.name for f in EVENT_FIELDS if f.unit == "row")


def _frozen(columns: Mapping[str, Any], fields: tuple[Field, ...]) -> dict[str, np.ndarray]:
    """The columns of a catalogue as read-only arrays of the declared types; absent ones hold their missing value. What
    is read-only already (another store's column, a mapped file) is shared, and a constant takes no memory."""
    length = len(next(iter(columns.values()))) if columns else 0
    made = {}
    for f in fields:
        given = columns.get(f.name)
        if given is None:
            array = constant(f.missing or 0, length, f.dtype)
        elif isinstance(given, np.ndarray) and given.dtype == f.dtype and not given.flags.writeable:
            array = given
        elif isinstance(given, np.ndarray) and is_constant(given):
            array = constant(given[0], length, f.dtype)
        else:
            array = np.array(given, f.dtype)
        if array.shape != (length,):
            raise ValueError(f"column {f.name} has shape {array.shape}, expected ({length},)")
        array.flags.writeable = False
        made[f.name] = array
    return made


class Table:
    """Equally long read-only columns, reached as attributes."""

    __slots__ = ("columns",)
    FIELDS: tuple[Field, ...] = ()

    def __init__(self, columns: Mapping[str, Any] | None = None) -> None:
        self.columns = _frozen(columns or {}, self.FIELDS)

    def __len__(self) -> int:
        return len(self.columns[self.FIELDS[0].name])

    def __getattr__(self, name: str) -> np.ndarray:
        if name == "columns":
            raise AttributeError(name)  # not yet set while unpickling
        try:
            return self.columns[name]
        except KeyError:
            raise AttributeError(f"{type(self).__name__} has no column {name!r}") from None

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and all(np.array_equal(a, other.columns[n]) for n, a in self.columns.items())

    __hash__ = None  # type: ignore[assignment]


class MemoryTable(Table):
    """Allocations and frees in the order of time."""

    __slots__ = ()
    FIELDS = MEMORY_FIELDS


class HeldTable(Table):
    """The blocks that tensors held when a recording began and when it ended."""

    __slots__ = ()
    FIELDS = HELD_FIELDS


class ReferenceTable(Table):
    """The tensors that events were given, in the order of rows and arguments."""

    __slots__ = ()
    FIELDS = REFERENCE_FIELDS


class OwnedTable(Table):
    """The tensors of modules and optimizers, looked at when a module was first called or an optimizer first stepped."""

    __slots__ = ()
    FIELDS = OWNED_FIELDS


class StackTable(Table):
    """Call stacks as a tree: a node is a frame and its caller's node, so common callers are stored once."""

    __slots__ = ()
    FIELDS = STACK_FIELDS


class EventStore(Table):
    """The events of one window (or of several, joined): numpy columns named in `_fields.EVENT_FIELDS`.

    strings, inputs, threads, modules   what the columns of indices refer to
    stacks                              the tree of call stacks
    memory                              the table of allocations; its `row` refers to this store's rows
    scratch                             as `memory`, of what kernels allocated for themselves: no tensor ever held it
    held                                the blocks of the tensors that lived when it began and when it ended
    references                          which tensors events were given
    owned                               the tensors of modules and optimizers
    metadata                            the window as a whole
    """

    _TABLES = ("stacks", "memory", "scratch", "held", "references", "owned")
    __slots__ = ("strings", "inputs", "threads", "modules", *_TABLES, "metadata")
    FIELDS = EVENT_FIELDS

    def __init__(
        self,
        columns: Mapping[str, Any] | None = None,
        *,
        strings: Sequence[str] = (),
        inputs: Sequence[InputDescription] = (),
        threads: Sequence[ThreadInfo] = (),
        modules: Sequence[ModuleInfo] = (),
        stacks: StackTable | None = None,
        memory: MemoryTable | None = None,
        scratch: MemoryTable | None = None,
        held: HeldTable | None = None,
        references: ReferenceTable | None = None,
        owned: OwnedTable | None = None,
        metadata: Metadata | None = None,
    ) -> None:
        super().__init__(columns)
        self.strings = tuple(strings)
        self.inputs: Sequence[InputDescription] = inputs if isinstance(inputs, InputTexts) else tuple(inputs)
        self.threads = tuple(threads)
        self.modules = tuple(modules)
        self.stacks = stacks if stacks is not None else StackTable()
        self.memory = memory if memory is not None else MemoryTable()
        self.scratch = scratch if scratch is not None else MemoryTable()
        self.held = held if held is not None else HeldTable()
        self.references = references if references is not None else ReferenceTable()
        self.owned = owned if owned is not None else OwnedTable()
        self.metadata = metadata if metadata is not None else Metadata()

    def name_of(self, row: int) -> str:
        return self.strings[self.name[row]]

    def overload_of(self, row: int) -> str:
        """The overload's name; "" where there is none."""
        index = int(self.overload[row])
        return self.strings[index] if index >= 0 else ""

    def inputs_of(self, row: int) -> InputDescription | None:
        index = int(self.columns["inputs"][row])
        return self.inputs[index] if index >= 0 else None

    def frames(self, node: int) -> list[str]:
        """The frames of a stack node, innermost first."""
        parents, names, found = self.stacks.parent, self.stacks.frame, []
        while node >= 0:
            found.append(self.strings[names[node]])
            node = int(parents[node])
        return found

    def stack_of(self, row: int) -> list[str]:
        """The frames that led to an event, innermost first; empty where stacks were not recorded."""
        return self.frames(int(self.stack[row]))

    def with_metadata(self, **changes: Any) -> EventStore:
        """The same events with other facts about the window."""
        return self.replaced(self.columns, metadata=replace(self.metadata, **changes))

    def with_memory(self, memory: MemoryTable) -> EventStore:
        """The same events with other memory records."""
        return self.replaced(self.columns, memory=memory)

    def replaced(
        self,
        columns: Mapping[str, Any],
        *,
        metadata: Metadata | None = None,
        strings: Sequence[str] | None = None,
        threads: Sequence[ThreadInfo] | None = None,
        **tables: Table,
    ) -> EventStore:
        """The same with other columns, and other tables where they are given by name."""
        return EventStore(
            columns,
            strings=self.strings if strings is None else strings,
            inputs=self.inputs,
            threads=self.threads if threads is None else threads,
            modules=self.modules,
            metadata=self.metadata if metadata is None else metadata,
            **{name: tables.get(name, getattr(self, name)) for name in self._TABLES},
        )

    def select(self, keep: np.ndarray) -> EventStore:
        """The rows where the mask `keep` is true. A row whose parent is left out moves to its nearest kept ancestor;
        memory records stay, and move likewise."""
        keep = np.asarray(keep, bool)
        nearest = kept_ancestors(self.parent, keep)
        new_row = np.cumsum(keep, dtype=np.int32) - 1
        # -1 finds the extra last -1
        lookup = np.append(np.where(nearest >= 0, new_row[nearest], -1), -1).astype(np.int32)
        columns = {n: c[keep] for n, c in self.columns.items()}
        for name in ROW_COLUMNS:
            columns[name] = lookup[columns[name]]
        memory, scratch = (MemoryTable({**t.columns, "row": lookup[t.row]}) for t in (self.memory, self.scratch))
        known = keep[self.references.row]
        given = {n: c[known] for n, c in self.references.columns.items()}
        references = ReferenceTable({**given, "row": new_row[given["row"]]})
        owned = OwnedTable({**self.owned.columns, "row": lookup[self.owned.row]})
        return self.replaced(columns, memory=memory, scratch=scratch, references=references, owned=owned)

    def slice(self, start_ns: int, stop_ns: int) -> EventStore:
        """The events that began in [start_ns, stop_ns), cut off at its end, the memory records in it, and the blocks
        that lived when it begins.
        """
        kept = self.select((self.start_ns >= start_ns) & (self.start_ns < stop_ns))
        columns = {**kept.columns, "end_ns": np.minimum(kept.end_ns, stop_ns)}
        memory, scratch = (_within(table, start_ns, stop_ns) for table in (kept.memory, kept.scratch))
        return kept.replaced(
            columns,
            memory=memory,
            scratch=scratch,
            held=self._held_at(start_ns, stop_ns),
            metadata=replace(self.metadata, start_ns=start_ns, stop_ns=stop_ns),
        )

    def _held_at(self, start_ns: int, stop_ns: int) -> HeldTable:
        """What is known of the blocks of [start_ns, stop_ns): those that lived when it begins, and what was seen
        then and later.
        """
        if not len(self.held) or start_ns <= self.held.time_ns[0]:
            return self.held
        known = block_lifetimes(self.memory, self.held)
        there = (known.born_ns < start_ns) & (known.died_ns > start_ns) & (known.block > 0)
        block_ids, first = np.unique(self.held.block, return_index=True)
        position = np.minimum(np.searchsorted(block_ids, known.block[there]), len(block_ids) - 1)
        category = np.where(
            block_ids[position] == known.block[there], self.held.category[first[position]], Category.UNKNOWN
        )
        fields = ("block", "address", "nbytes", "device_type", "device_index")
        begin = {n: np.append(0, getattr(known, n)[there]) for n in fields}
        begin |= {
            "time_ns": np.full(len(begin["block"]), start_ns),
            "at_end": np.zeros(len(begin["block"])),
            "category": np.append(Category.UNKNOWN, category),
        }
        later = (self.held.time_ns >= start_ns) & ((self.held.time_ns < stop_ns) | (self.held.at_end == 1))
        return HeldTable({f.name: np.append(begin[f.name], self.held.columns[f.name][later]) for f in HELD_FIELDS})


def _within(table: MemoryTable, start_ns: int, stop_ns: int) -> MemoryTable:
    inside = (table.time_ns >= start_ns) & (table.time_ns < stop_ns)
    return MemoryTable({n: c[inside] for n, c in table.columns.items()})


def kept_ancestors(parent: np.ndarray, keep: np.ndarray) -> np.ndarray:
    """For each row, itself if kept, else its nearest kept ancestor, else -1. Parents stand before children, so
    pointer jumping settles a tree of any depth in a logarithmic number of passes."""
    length = len(parent)
    jump = np.append(np.where(keep, np.arange(length), parent), -1)  # the extra last slot is where -1 leads
    while True:
        further = jump[jump]
        if np.array_equal(further, jump):
            return jump[:-1]
        jump = further


def in_order(columns: Mapping[str, np.ndarray], *references: np.ndarray) -> Any:
    """Event columns sorted by (start, -end), and the columns of row indices, and any further such arrays, changed
    accordingly. Rows that begin and end together keep their order, so a parent that is given before its child stays
    before it.
    """
    start, end = columns["start_ns"], columns["end_ns"]
    same = start[1:] == start[:-1]
    if (start[1:] >= start[:-1]).all() and not (same & (end[1:] > end[:-1])).any():
        return (dict(columns), *references)
    order = np.lexsort((-end, start))
    position = np.empty(len(order) + 1, np.int32)
    position[order] = np.arange(len(order), dtype=np.int32)
    position[-1] = -1
    sorted_columns = {n: c[order] for n, c in columns.items()}
    for name in ROW_COLUMNS:
        if name in sorted_columns:
            sorted_columns[name] = position[sorted_columns[name]]
    return (sorted_columns, *(position[r] for r in references))

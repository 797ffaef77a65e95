"""From the recorder's lists to a store: done once, when a window ends, column by column."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ._fields import Flag, Kind
from ._recorder import DETAIL_FIELDS, END_FIELDS, MEMORY_FIELDS, ROW_FIELDS, Recorder, ThreadBuffer
from ._store import EventStore, MemoryTable, Metadata, ModuleInfo, Options, StackTable, ThreadInfo, in_order, kept_ancestors

NO_END = np.iinfo(np.int64).min


@dataclass
class Span:
    """What one thread recorded between two moments. Positions are those in the buffer's lists."""

    first_row: int
    rows_at: int
    details_at: int
    ends_at: int
    memory_at: int
    carried: tuple[int, ...] = ()        # Python frames that ran already; they count from the window's start
    last_row: int | None = None
    memory_to: int | None = None


@dataclass
class Window:
    """Everything that is needed to cut a session's events out of the recorder."""

    owner: int                           # number that marks this session's own steps
    start_ns: int
    stop_ns: int
    options: Options
    spans: list[tuple[ThreadBuffer, list[Span]]]
    stray_at: int
    steps: list[tuple[int, int]] = field(default_factory=list)   # (time, step number), ascending


def _matrix(flat: Sequence[int], width: int) -> np.ndarray:
    return np.fromiter(flat, np.int64, len(flat)).reshape(-1, width)


def _distinct(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The distinct values, ascending, and where each value stands among them. The values are indices of tables, so
    marking a table of their range is much cheaper than sorting them."""
    if not len(values):
        return values, values
    low = int(values.min())
    marked = np.zeros(int(values.max()) - low + 1, bool)
    marked[values - low] = True
    place = np.cumsum(marked) - 1
    return np.flatnonzero(marked) + low, place[values - low]


def _decoded(rows: np.ndarray) -> np.ndarray:
    """Row numbers as they stand on the stack of open rows: those with a handle are stored as -2 - number."""
    return np.where(rows < -1, -2 - rows, rows)


class _Thread:
    """The rows of one thread as columns, filtered, with parents as positions in them."""

    def __init__(self, recorder: Recorder, window: Window, buffer: ThreadBuffer, spans: list[Span]) -> None:
        self.window, self.buffer, self.spans = window, buffer, spans
        table = _matrix(buffer.rows[self._first_position(spans):], len(ROW_FIELDS))
        if np.any(table[1:, 0] < table[:-1, 0]):      # a finaliser recorded something between two steps of a row
            table = table[np.argsort(table[:, 0], kind="stable")]
        self.columns = {name: table[:, i] for i, name in enumerate(ROW_FIELDS)}
        self.columns["parent"] = self._positions(_decoded(self.columns["parent"]))
        kinds = _label_kinds(recorder, self.columns["label"])
        self.columns["kind"] = kinds
        self._set_details()
        self._set_times()
        self.keep = self._wanted(kinds)
        self._nest()

    @staticmethod
    def _first_position(spans: list[Span]) -> int:
        return 0 if any(s.carried for s in spans) else spans[0].rows_at

    def _positions(self, rows: np.ndarray) -> np.ndarray:
        """Where rows of these numbers stand in the columns; -1 for those that do not."""
        numbers = self.columns["row"]
        if not len(numbers):
            return np.full(len(rows), -1, np.int64)
        found = np.minimum(np.searchsorted(numbers, rows), len(numbers) - 1)
        return np.where((rows >= 0) & (numbers[found] == rows), found, -1)

    def _set_details(self) -> None:
        first = 0 if any(s.carried for s in self.spans) else self.spans[0].details_at
        table = _matrix(self.buffer.details[first:], len(DETAIL_FIELDS))
        place = self._positions(table[:, 0])
        for i, name in enumerate(DETAIL_FIELDS[1:], 1):
            column = np.full(len(self.columns["row"]), 0 if name == "forward_thread" else -1, np.int64)
            column[place[place >= 0]] = table[place >= 0, i]
            self.columns[name] = column

    def _set_times(self) -> None:
        window = self.window
        ends = np.full(len(self.columns["row"]), NO_END, np.int64)
        done = _matrix(self.buffer.ends[self.spans[0].ends_at:], len(END_FIELDS))
        place = self._positions(done[:, 0])
        ends[place[place >= 0]] = done[place >= 0, 1]
        is_open = (ends == NO_END) | (ends > window.stop_ns)
        self.columns["start_ns"] = np.maximum(self.columns["start_ns"], window.start_ns)
        self.columns["end_ns"] = np.maximum(np.where(is_open, window.stop_ns, ends), self.columns["start_ns"])
        self.columns["flags"] = np.where(is_open, int(Flag.UNFINISHED), 0)
        # A frame that ran before the window and after it is not unfinished work: it merely surrounds it.
        self.columns["flags"][np.isin(self.columns["row"], [r for s in self.spans for r in s.carried])] = 0

    def _wanted(self, kinds: np.ndarray) -> np.ndarray:
        rows, options = self.columns["row"], self.window.options
        keep = np.zeros(len(rows), bool)
        for span in self.spans:
            inside = rows >= span.first_row
            keep |= inside if span.last_row is None else inside & (rows < span.last_row)
            if span.carried:
                keep |= np.isin(rows, span.carried)
        unwanted = []
        if not options.with_stack:
            unwanted += [Kind.PYTHON, Kind.BUILTIN]
            unwanted += [] if options.with_modules else [Kind.MODULE]
        if not (options.with_stack and options.record_python_gc_info):
            unwanted.append(Kind.GC)
        keep &= ~np.isin(kinds, [int(k) for k in unwanted])
        return keep & ((kinds != Kind.STEP) | (self.columns["sequence_nr"] == self.window.owner))

    def _nest(self) -> None:
        """Parents among the kept rows. A row that outlives the one it was opened in leaves the nesting (a step stays:
        what it outlives leaves), so that what remains lies inside its parent."""
        columns, kinds = self.columns, self.columns["kind"]
        start, end = columns["start_ns"], np.append(columns["end_ns"], np.iinfo(np.int64).max)
        loose = np.isin(columns["row"], list(self.buffer.detached))
        above = np.append(columns["parent"], -1)
        parent = columns["parent"]
        while True:
            nearest = np.append(kept_ancestors(columns["parent"], self.keep & ~loose), -1)
            parent = nearest[parent]
            outlives = self.keep & ~loose & (end[:-1] > end[parent])
            if not outlives.any():
                break
            after = outlives & (start >= end[parent])      # it began when the other had ended: they merely follow
            parent = np.where(after, above[parent], parent)
            partly = np.flatnonzero(outlives & ~after)
            loose[np.where(kinds[partly] == Kind.STEP, parent[partly], partly)] = True
        columns["flags"] = columns["flags"] | np.where(loose, int(Flag.ASYNC), 0)
        self.parent, self.nearest = np.where(loose, -1, parent), nearest

    def memory(self) -> np.ndarray:
        """The window's memory records, with `row` as a position in the columns."""
        width = len(MEMORY_FIELDS)
        parts = [_matrix(self.buffer.memory[s.memory_at:s.memory_to], width) for s in self.spans]
        table = np.concatenate(parts)
        row = self.nearest[self._positions(_decoded(table[:, 4]))]
        ends, parent = np.append(self.columns["end_ns"], 0), np.append(self.parent, -1)
        # While a scope stays open that outlived what it was opened in, that is over: what surrounds it is meant.
        while ((over := (row >= 0) & (ends[row] < table[:, 0])).any()):
            row = np.where(over, parent[row], row)
        table[:, 4] = row
        return table


def _label_kinds(recorder: Recorder, labels: np.ndarray) -> np.ndarray:
    used, place = _distinct(labels)
    kinds = np.array([int(recorder.labels.label(int(n)).kind) for n in used], np.uint8)
    return kinds[place]


class _Strings:
    """The string table of the store that is being made."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def __call__(self, text: str) -> int:
        return self.numbers.setdefault(text, len(self.numbers))


def build_store(recorder: Recorder, window: Window, metadata: Metadata) -> EventStore:
    """The events of a window. The recorder is only read."""
    threads = [_Thread(recorder, window, buffer, spans) for buffer, spans in window.spans]
    columns, memory = _joined(threads)
    memory = _with_strays(recorder, window, memory)
    strings = _Strings()
    _name(recorder, columns, strings)
    columns["inputs"], inputs = _compacted(columns["inputs"], recorder.inputs.__getitem__, window.options.describes_inputs,
                                           columns["kind"])
    columns["stack"], stacks = _stack_table(recorder, columns["stack"], strings, window.options)
    columns["module"], modules = _module_table(recorder, columns["module"], window.options)
    columns["step"] = _steps(columns["start_ns"], window.steps)
    columns["sequence_nr"] = np.where(columns["kind"] == Kind.STEP, -1, columns["sequence_nr"])
    columns, memory["row"] = in_order(columns, memory["row"])
    return EventStore(columns, strings=list(strings.numbers), inputs=inputs, modules=modules, stacks=stacks,
                      threads=[t.buffer.info for t in threads] or [ThreadInfo(1, 0, "MainThread")],
                      memory=_memory_table(memory), metadata=metadata)


def _joined(threads: list[_Thread]) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """The kept rows and the memory records of all threads, with row numbers of the joined table."""
    names = ("start_ns", "end_ns", "label", "kind", "sequence_nr", "forward_thread", "inputs", "stack", "module", "flags")
    empty = np.zeros(0, np.int64)
    columns: dict[str, list[np.ndarray]] = {n: [empty] for n in (*names, "parent", "thread")}
    memory: dict[str, list[np.ndarray]] = {n: [empty] for n in (*MEMORY_FIELDS, "thread")}
    base = 0
    for number, thread in enumerate(threads):
        keep = thread.keep
        place = np.append(np.where(keep, np.cumsum(keep) - 1 + base, -1), -1)
        for n in names:
            columns[n].append(thread.columns[n][keep])
        columns["parent"].append(place[thread.parent][keep])
        columns["thread"].append(np.full(int(keep.sum()), number))
        base += int(keep.sum())
        table = thread.memory()
        for i, n in enumerate(MEMORY_FIELDS):
            memory[n].append(place[table[:, i]] if n == "row" else table[:, i])
        memory["thread"].append(np.full(len(table), number))
    return {n: np.concatenate(c) for n, c in columns.items()}, {n: np.concatenate(c) for n, c in memory.items()}


def _with_strays(recorder: Recorder, window: Window, memory: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Adds frees by threads that are not recorded, of blocks that recorded ones allocated; in the order of time."""
    if not window.options.profile_memory:
        return {n: c[:0] for n, c in memory.items()}
    table = _matrix(recorder.stray_memory[window.stray_at:], len(MEMORY_FIELDS))
    table = table[np.isin(table[:, 1], memory["address"]) & (table[:, 0] <= window.stop_ns)]
    added = {n: np.append(memory[n], table[:, i]) for i, n in enumerate(MEMORY_FIELDS)}
    added["thread"] = np.append(memory["thread"], np.zeros(len(table), np.int64))
    order = np.argsort(added["time_ns"], kind="stable")
    return {n: c[order].astype(np.int64) for n, c in added.items()}


def _memory_table(memory: dict[str, np.ndarray]) -> MemoryTable:
    device_type, index = memory["device"] >> 16, memory["device"] & 0xFFFF
    total = np.zeros(len(device_type), np.int64)
    for device in np.unique(memory["device"]):
        mine = memory["device"] == device
        nbytes = memory["nbytes"][mine]
        first = nbytes[np.unique(memory["address"][mine], return_index=True)[1]]
        total[mine] = np.cumsum(nbytes) - first[first < 0].sum()   # what is freed first was there at the start
    return MemoryTable({"time_ns": memory["time_ns"], "address": memory["address"], "nbytes": memory["nbytes"],
                        "total": total, "device_type": device_type, "row": memory["row"], "thread": memory["thread"],
                        "device_index": np.where(device_type == 0, -1, index)})


def _name(recorder: Recorder, columns: dict[str, np.ndarray], strings: _Strings) -> None:
    """Replaces `label` by `name` and `overload`."""
    used, place = _distinct(columns.pop("label"))
    labels = [recorder.labels.label(int(n)) for n in used]
    names = np.array([strings(x.name) for x in labels], np.int32)
    overloads = np.array([-1 if x.overload is None else strings(x.overload) for x in labels], np.int32)
    columns["name"], columns["overload"] = names[place], overloads[place]


def _compacted(index: np.ndarray, get: Callable[[int], Any], described: bool, kinds: np.ndarray) -> tuple[np.ndarray, list[Any]]:
    """Input descriptions that this window refers to. What a user gave to a scope is kept in any case."""
    index = index if described else np.where(kinds == Kind.SCOPE, index, -1)
    used, place = _distinct(index)
    missing = int(len(used) > 0 and used[0] < 0)
    return place - missing, [get(int(n)) for n in used[missing:]]


def _stack_table(recorder: Recorder, index: np.ndarray, strings: _Strings, options: Options) -> tuple[np.ndarray, StackTable]:
    """The window's call stacks as a tree."""
    if not options.with_stack:
        return np.full(len(index), -1), StackTable()
    nodes: dict[tuple[int, int], int] = {}
    used, place = _distinct(index)
    heads = []
    for number in used:
        node = -1
        if number >= 0:
            for frame in reversed(recorder.stacks.frames(int(number))):
                node = nodes.setdefault((node, strings(frame)), len(nodes))
        heads.append(node)
    table = StackTable({"parent": [p for p, _ in nodes], "frame": [f for _, f in nodes]})
    return np.array(heads, np.int64)[place] if heads else index, table


def _module_table(recorder: Recorder, index: np.ndarray, options: Options) -> tuple[np.ndarray, list[ModuleInfo]]:
    if not options.with_modules:
        return np.full(len(index), -1), []
    infos = recorder.modules.infos
    used = {int(n) for n in np.unique(index) if n >= 0}
    for number in sorted(used, reverse=True):       # a caller's number is smaller than its callees'
        while infos[number].parent >= 0 and infos[number].parent not in used:
            number = infos[number].parent
            used.add(number)
    kept = sorted(used)
    place = {old: new for new, old in enumerate(kept)} | {-1: -1}
    renumbered = np.full(len(infos) + 1, -1)
    renumbered[kept] = np.arange(len(kept))
    return renumbered[index], [infos[n]._replace(parent=place[infos[n].parent]) for n in kept]


def _steps(start: np.ndarray, steps: list[tuple[int, int]]) -> np.ndarray:
    """The step in which each event began."""
    if not steps:
        return np.zeros(len(start), np.int32)
    times, numbers = np.array(steps, np.int64).T
    return numbers[np.maximum(np.searchsorted(times, start, side="right") - 1, 0)]

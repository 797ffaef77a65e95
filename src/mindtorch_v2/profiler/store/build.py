"""From a recording to a store: rows become columns when someone asks for them."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ..record.columns import constant, is_constant
from ..record.descriptions import ModuleInfo, Options, ThreadInfo
from ..record.interning import Labels, ModuleTable
from ..record.kinds import PYTHON_KINDS, WORKING_KINDS, Flag, Kind
from ..record.python_recorder import MEMORY_FIELDS, TENSORS
from ..record.window import NO_END, Recorded, Recording, Window, positions, spread
from .device_rows import add_device_rows
from .event_store import EventStore, HeldTable, MemoryTable, StackTable, in_order, kept_ancestors
from .lifetimes import lives

_BLOCK = 1 << 14
_IS_PYTHON = np.isin(np.arange(len(Kind)), [int(kind) for kind in PYTHON_KINDS])


def _distinct(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The distinct values, ascending, and where each value stands among them. The values are indices of tables, so
    marking a table of their range is much cheaper than sorting them."""
    if not len(values):
        return values, values
    if is_constant(values):
        return values[:1], constant(0, len(values), np.int64)
    low = int(values.min())
    marked = np.zeros(int(values.max()) - low + 1, bool)
    marked[values - low] = True
    place = np.cumsum(marked) - 1
    return np.flatnonzero(marked) + low, place[values - low]


class _Thread:
    """The rows of one thread as columns, filtered, with parents as positions in them."""

    def __init__(self, window: Window, thread: Recorded) -> None:
        self.window, self.thread, self.spans = window, thread, thread.spans
        self.columns = thread.columns()
        self.columns["parent"] = positions(self.columns["row"], self.columns["parent"])
        self.columns["kind"] = _label_kinds(window.labels, self.columns["label"])
        self.columns["end_thread"] = constant(0, len(self.columns["kind"]), np.int32)
        if thread.detached:
            rows, threads = np.array([*thread.detached.items()]).T
            self.columns["end_thread"] = spread(self.columns["row"], rows, threads, 0)
        self.lane = self._lanes()
        self._set_times()
        self.available = self.records = 0      # rows and memory records of the window that are still there
        self.keep = self._wanted(self.columns["kind"])

    def _lanes(self) -> np.ndarray:
        """Per row: the lane of the task that it ran in, 0 for the thread itself."""
        if not self.thread.switches:
            return constant(0, len(self.columns["row"]), np.int64)
        rows, lanes = np.array([(-1, 0), *self.thread.switches]).T
        return lanes[np.searchsorted(rows, self.columns["row"], "right") - 1]

    def _set_times(self) -> None:
        window, starts, ends = self.window, self.columns["start_ns"], self.columns["end_ns"]
        self.columns["flags"] = constant(0, len(starts), np.uint8)
        if len(starts) and (starts.min() < window.start_ns or ends.min() < window.start_ns or ends.max() > window.stop_ns):
            is_open = (ends == NO_END) | (ends > window.stop_ns)
            self.columns["start_ns"] = np.maximum(starts, window.start_ns)
            self.columns["end_ns"] = np.maximum(np.where(is_open, window.stop_ns, ends), self.columns["start_ns"])
            self.columns["flags"] = np.where(is_open, np.uint8(Flag.UNFINISHED), np.uint8(0))
        # A frame that ran before the window and after it is not unfinished work: it merely surrounds it.
        carried = [r for s in self.spans for r in s.carried]
        if carried:
            self.columns["flags"] = np.array(self.columns["flags"])
            self.columns["flags"][np.isin(self.columns["row"], carried)] = 0

    def _wanted(self, kinds: np.ndarray) -> np.ndarray:
        rows, options = self.columns["row"], self.window.options
        keep = np.zeros(len(rows), bool)
        for span in self.spans:
            assert span.stop is not None
            first, last = np.searchsorted(rows, (span.start.row, span.stop.row))
            keep[first:last] = True
            self.available += int(last - first)
            if span.carried:
                keep |= np.isin(rows, span.carried)
        unwanted = [kind for kind in Kind if kind not in PYTHON_KINDS] if self.thread.calls_only else []
        if not options.with_stack:
            unwanted += [Kind.PYTHON, Kind.BUILTIN]
            unwanted += [] if options.with_modules else [Kind.MODULE]
        if not (options.with_stack and options.record_python_gc_info):
            unwanted.append(Kind.GC)
        if len(rows) and self.columns["start_ns"].max() > self.window.stop_ns:      # begun while the window was being closed
            keep &= self.columns["start_ns"] <= self.window.stop_ns
        there = np.zeros(len(Kind), bool)
        there[kinds[:1] if is_constant(kinds) else kinds] = True
        left_out = np.zeros(len(Kind), bool)
        left_out[[int(k) for k in unwanted]] = True
        if (there & left_out).any():
            keep &= ~left_out[kinds]
        return keep & ((kinds != Kind.STEP) | (self.columns["sequence_nr"] == self.window.owner)) if there[Kind.STEP] else keep

    def lost(self) -> int:
        """How many of the window's rows and memory records have been given up since."""
        spans = [(s.start, s.stop) for s in self.spans if s.stop is not None]
        recorded = sum(stop.recorded - start.recorded for start, stop in spans)
        remembered = sum(stop.remembered - start.remembered for start, stop in spans)
        return recorded - self.available + remembered - self.records

    def nest(self) -> None:
        """Parents among the kept rows. A row that outlives the one it was opened in leaves the nesting (a step stays:
        what it outlives leaves; a Python call ends with it), so that what remains lies inside its parent. A task may outlive the
        scope that it was created in: then what encloses that one is meant."""
        columns, kinds = self.columns, self.columns["kind"]
        self.nearest: np.ndarray | None = None      # for each row the nearest kept one; None where all are kept
        if self.keep.all() and not self.thread.detached and not _any_outlives(columns["end_ns"], columns["parent"]):
            self.parent = columns["parent"]
            return
        start, end = columns["start_ns"], np.append(columns["end_ns"], np.iinfo(np.int64).max)
        loose = columns["end_thread"] != 0
        above, lane = np.append(columns["parent"], -1), np.append(self.lane, -1)
        parent = columns["parent"]
        while True:
            nearest = np.append(kept_ancestors(columns["parent"], self.keep & ~loose), -1)
            parent = nearest[parent]
            outlives = self.keep & ~loose & (end[:-1] > end[parent])
            if not outlives.any():
                break
            # Where it began when the other had ended, they merely follow.
            after = outlives & ((start >= end[parent]) | (lane[:-1] != lane[parent]))
            parent = np.where(after, above[parent], parent)
            partly = np.flatnonzero(outlives & ~after)
            calls = partly[_IS_PYTHON[kinds[partly]]]
            end[calls] = end[parent[calls]]
            partly = partly[~_IS_PYTHON[kinds[partly]]]
            leaving = np.unique(np.where(kinds[partly] == Kind.STEP, parent[partly], partly))
            loose[leaving[~np.isin(parent[leaving], leaving)]] = True      # what began in those is looked at again without them
        columns["end_ns"] = end[:-1]
        columns["flags"] = columns["flags"] | np.where(loose, int(Flag.ASYNC), 0)
        self.parent, self.nearest = np.where(loose, -1, parent), nearest

    def memory(self) -> dict[str, np.ndarray]:
        """The window's memory records, with `row` as a position in the columns."""
        made = self.thread.memory()
        self.records = len(made["row"])
        if self.thread.calls_only:
            made = {name: column[:0] for name, column in made.items()}
        row = positions(self.columns["row"], made["row"])
        if self.nearest is not None:
            row = self.nearest[row]
        ends, parent = np.append(self.columns["end_ns"], 0), np.append(self.parent, -1)
        # While a scope stays open that outlived what it was opened in, that is over: what surrounds it is meant.
        while ((over := (row >= 0) & (ends[row] < made["time_ns"])).any()):
            row = np.where(over, parent[row], row)
        return {**made, "row": row}


def _any_outlives(end: np.ndarray, parent: np.ndarray) -> bool:
    """Whether any row ends after its parent. A block at a time, which stays in the processor's cache."""
    if is_constant(parent) and parent[0] < 0:
        return False
    blocks = (slice(first, first + _BLOCK) for first in range(0, len(end), _BLOCK))
    return any(bool(((end[b] > end[parent[b]]) & (parent[b] >= 0)).any()) for b in blocks)


def _label_kinds(labels: Labels, column: np.ndarray) -> np.ndarray:
    if not len(column):
        return np.zeros(0, np.uint8)
    if is_constant(column):
        return constant(labels.label(int(column[0])).kind, len(column), np.uint8)
    low = int(column.min())
    kinds = np.zeros(int(column.max()) - low + 1, np.uint8)
    kinds[column - low] = 1                      # which labels there are
    for place in np.flatnonzero(kinds):
        kinds[place] = labels.label(int(place) + low).kind
    return kinds[column - low]


class _Strings:
    """The string table of the store that is being made."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def __call__(self, text: str) -> int:
        return self.numbers.setdefault(text, len(self.numbers))


def build_store(recording: Recording) -> EventStore:
    """The events of a window that has ended."""
    metadata, window = recording
    if window is None:
        return EventStore(metadata=metadata)
    threads = [_Thread(window, thread) for thread in window.threads]
    threads = [thread for thread in threads if not thread.thread.calls_only or thread.keep.any()]
    infos = [t.thread.info for t in threads] or [ThreadInfo(1, 0, "MainThread")]
    excess = _keep_within(threads, window.options)
    for thread in threads:
        thread.nest()
    columns, memory = _joined(threads, infos)
    held = _held_table(window)
    memory, scratch = _sorted_by_holder(_with_strays(window, memory), held)
    memory, lost_memory = _bounded_memory(memory, window.options)
    scratch, _ = _bounded_memory(scratch, window.options)
    dropped = window.refused + sum(thread.lost() for thread in threads) + excess + lost_memory
    strings = _Strings()
    _name(window.labels, columns, strings)
    columns["inputs"], inputs = _compacted(columns["inputs"], window.inputs.__getitem__, window.options.describes_inputs,
                                           columns["kind"])
    columns["stack"], stacks = _stack_table(window.stacks, columns["stack"], strings, window.options)
    columns["module"], modules = _module_table(window.modules, columns["module"], window.options)
    columns["step"] = _steps(columns["start_ns"], window.steps)
    steps = columns["kind"] == Kind.STEP
    if steps.any():
        columns["sequence_nr"] = np.where(steps, -1, columns["sequence_nr"])
    if (columns["kind"] == Kind.RUNTIME).any() or (window.device is not None and len(window.device.work.number)):
        columns, infos = add_device_rows(columns, strings, infos, window.device, metadata.use_device or "npu",
                                         partial(_steps, steps=window.steps))
    columns, memory["row"], scratch["row"] = in_order(columns, memory["row"], scratch["row"])
    for column in columns.values():
        column.flags.writeable = False           # the store takes over what has the right type
    return EventStore(columns, strings=list(strings.numbers), inputs=inputs, modules=modules, stacks=stacks,
                      threads=infos,
                      memory=_memory_table(memory), scratch=_within_operators(_memory_table(scratch), columns), held=held,
                      metadata=replace(metadata, dropped_events=dropped))


def _keep_within(threads: list[_Thread], options: Options) -> int:
    """Leaves out what goes beyond the window's bound; how many rows that is."""
    total = sum(int(thread.keep.sum()) for thread in threads)
    excess = total - options.max_events if options.max_events else 0
    if excess <= 0:
        return 0
    starts = np.concatenate([thread.columns["start_ns"][thread.keep] for thread in threads])
    order = np.argsort(starts, kind="stable")
    out = np.zeros(total, bool)
    out[order[:excess] if options.keep == "newest" else order[total - excess:]] = True
    at = 0
    for thread in threads:
        count = int(thread.keep.sum())
        thread.keep[np.flatnonzero(thread.keep)[out[at:at + count]]] = False
        at += count
    return excess


def _joined(threads: list[_Thread], infos: list[ThreadInfo]) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """The kept rows and the memory records of all threads, with row numbers of the joined table. Tasks are added to `infos`."""
    names = ("start_ns", "end_ns", "label", "kind", "sequence_nr", "forward_thread", "inputs", "stack", "module", "flags", "end_thread")
    columns: dict[str, list[np.ndarray]] = {n: [] for n in (*names, "parent", "thread")}
    memory: dict[str, list[np.ndarray]] = {n: [] for n in (*MEMORY_FIELDS, "thread")}
    base = 0
    for number, thread in enumerate(threads):
        keep, count = thread.keep, int(thread.keep.sum())
        table = thread.memory()
        row, parent = table["row"], thread.parent
        if count < len(keep) or base:
            place = np.append(np.where(keep, np.cumsum(keep) - 1 + base, -1), -1)
            row, parent = place[row], place[parent]
        for n in names:
            columns[n].append(thread.columns[n][keep] if count < len(keep) else thread.columns[n])
        columns["parent"].append(parent[keep] if count < len(keep) else parent)
        columns["thread"].append(_with_tasks(thread, number, infos) if thread.thread.tasks else constant(number, count, np.int32))
        base += count
        for n in MEMORY_FIELDS:
            memory[n].append(row if n == "row" else table[n])
        memory["thread"].append(np.full(len(row), number, np.int32))
    return {n: _one(c) for n, c in columns.items()}, {n: _one(c) for n, c in memory.items()}


def _with_tasks(thread: _Thread, number: int, infos: list[ThreadInfo]) -> np.ndarray:
    """Per kept row: the place of its thread, or of its task, which is added."""
    lanes, which = np.unique(thread.lane[thread.keep], return_inverse=True)
    places = []
    for lane in lanes.tolist():
        places.append(number if lane == 0 else len(infos))
        if lane != 0:
            infos.append(thread.thread.info._replace(name=thread.thread.tasks[lane], task=lane))
    return np.array(places, np.int64)[which] if places else np.zeros(0, np.int64)


def _one(parts: list[np.ndarray]) -> np.ndarray:
    return parts[0] if len(parts) == 1 else np.concatenate(parts) if parts else np.zeros(0, np.int64)


def _with_strays(window: Window, memory: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Adds frees by threads that are not recorded, of blocks that recorded ones allocated; in the order of time."""
    if not window.options.profile_memory:
        return {n: c[:0] for n, c in memory.items()}
    table = window.stray()
    known = np.concatenate([memory["block"], *([h.block for h in found] for _, at_end, found in window.held if not at_end)])
    wanted = np.where(table["block"] > 0, np.isin(table["block"], known), np.isin(table["address"], memory["address"]))
    wanted &= table["time_ns"] <= window.stop_ns
    added = {n: np.append(memory[n], table[n][wanted]) for n in MEMORY_FIELDS}
    added["thread"] = np.append(memory["thread"], np.zeros(int(wanted.sum()), np.int64))
    order = np.argsort(added["time_ns"], kind="stable")
    order = order[:np.searchsorted(added["time_ns"][order], window.stop_ns, side="right")]    # not what happened during the stop
    return {n: c[order].astype(np.int64) for n, c in added.items()}


def _sorted_by_holder(memory: dict[str, np.ndarray], held: HeldTable) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """The records of memory that tensors took, and of kernels' own that ended."""
    of_tensors = (memory["device"] & TENSORS) > 0
    memory = {**memory, "device": memory["device"] & ~TENSORS}
    born, block = memory["nbytes"] > 0, memory["block"]
    own = np.unique(block[born & ~of_tensors & (block > 0) & ~np.isin(block, held.block)])
    kernels = np.isin(block, own) if len(own) else np.zeros(len(block), bool)
    gone = np.isin(block, block[~born & kernels]) if len(own) else kernels
    tensors = ~kernels & (memory["nbytes"] != 0)
    return {n: c[tensors] for n, c in memory.items()}, {n: c[kernels & gone] for n, c in memory.items()}


def _within_operators(scratch: MemoryTable, columns: dict[str, np.ndarray]) -> MemoryTable:
    """Leaves out what outlives the operator that allocated it, for no tensor: constants of a module that is loaded, tables that
    kernels keep, the state of random generators. That is neither a tensor's memory nor scratch."""
    parent, end = np.append(columns["parent"], -1), np.append(columns["end_ns"], 0)
    works = np.append(np.isin(columns["kind"], WORKING_KINDS), False)
    known = lives(scratch, HeldTable())
    until, at = np.zeros(len(known.record), np.int64), scratch.row[known.record]
    while (at >= 0).any():
        until = np.where(works[at], np.maximum(until, end[at]), until)
        at = parent[at]
    kept = (known.end >= 0) & (known.died_ns <= until)
    places = np.sort(np.concatenate([known.record[kept], known.end[kept]]))
    return MemoryTable({n: c[places] for n, c in scratch.columns.items()})


def _bounded_memory(memory: dict[str, np.ndarray], options: Options) -> tuple[dict[str, np.ndarray], int]:
    """The memory records (in the order of time) that the window's bound leaves, and how many it does not."""
    excess = max(0, len(memory["row"]) - options.max_events) if options.max_events else 0
    if not excess:
        return memory, 0
    part = slice(excess, None) if options.keep == "newest" else slice(None, options.max_events)
    return {n: c[part] for n, c in memory.items()}, excess


def _held_table(window: Window) -> HeldTable:
    """What tensors held when the window began, was resumed, and ended."""
    rows = [(time, at_end, *block) for time, at_end, found in window.held for block in found]
    if not rows:
        return HeldTable()
    time, at_end, block, address, nbytes, device, category = np.array(rows, np.int64).T
    device_type, index = device >> 16, device & 0xFFFF
    return HeldTable({"time_ns": time, "at_end": at_end, "block": block, "address": address, "nbytes": nbytes,
                      "device_type": device_type, "device_index": np.where(device_type == 0, -1, index), "category": category})


def _memory_table(memory: dict[str, np.ndarray]) -> MemoryTable:
    device_type, index = memory["device"] >> 16, memory["device"] & 0xFFFF
    columns = {n: memory[n] for n in ("time_ns", "address", "nbytes", "row", "thread", "block")}
    columns |= {"device_type": device_type, "device_index": np.where(device_type == 0, -1, index)}
    total = np.zeros(len(device_type), np.int64)
    known = lives(MemoryTable(columns), HeldTable())
    there_before = memory["nbytes"] < 0              # what is freed without having begun
    there_before[known.end[known.end >= 0]] = False
    for device in np.unique(memory["device"]) if len(total) else ():
        mine = memory["device"] == device
        total[mine] = np.cumsum(memory["nbytes"][mine]) - memory["nbytes"][mine & there_before].sum()
    return MemoryTable({**columns, "total": total})


def _name(known: Labels, columns: dict[str, np.ndarray], strings: _Strings) -> None:
    """Replaces `label` by `name` and `overload`."""
    used, place = _distinct(columns.pop("label"))
    labels = [known.label(int(n)) for n in used]
    names = np.array([strings(x.name) for x in labels], np.int32)
    # Indices of a few labels are gathered much faster than the labels themselves are looked up.
    overloads = np.array([-1 if x.overload is None else strings(x.overload) for x in labels], np.int32)
    if len(labels) == 1:
        columns["name"], columns["overload"] = constant(names[0], len(place), np.int32), constant(overloads[0], len(place), np.int32)
    else:
        columns["name"], columns["overload"] = names[place], overloads[place]


def _compacted(index: np.ndarray, get: Callable[[int], Any], described: bool, kinds: np.ndarray) -> tuple[np.ndarray, list[Any]]:
    """Input descriptions that this window refers to. What a user gave to a scope is kept in any case."""
    if not len(index) or index.max() < 0:
        return index, []
    index = index if described else np.where(kinds == Kind.SCOPE, index, -1)
    used, place = _distinct(index)
    missing = int(len(used) > 0 and used[0] < 0)
    return place - missing, [get(int(n)) for n in used[missing:]]


def _stack_table(known: Any, index: np.ndarray, strings: _Strings, options: Options) -> tuple[np.ndarray, StackTable]:
    """The window's call stacks as a tree."""
    if not options.with_stack:
        return constant(-1, len(index), np.int32), StackTable()
    nodes: dict[tuple[int, int], int] = {}
    used, place = _distinct(index)
    heads = []
    for number in used:
        node = -1
        if number >= 0:
            for frame in reversed(known.frames(int(number))):
                node = nodes.setdefault((node, strings(frame)), len(nodes))
        heads.append(node)
    table = StackTable({"parent": [p for p, _ in nodes], "frame": [f for _, f in nodes]})
    return np.array(heads, np.int64)[place] if heads else index, table


def _module_table(known: ModuleTable, index: np.ndarray, options: Options) -> tuple[np.ndarray, list[ModuleInfo]]:
    if not options.with_modules:
        return constant(-1, len(index), np.int32), []
    infos = known.infos
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
    if len(steps) < 2:
        return constant(steps[0][1] if steps else 0, len(start), np.int32)
    times, numbers = np.array(steps, np.int64).T
    return numbers[np.maximum(np.searchsorted(times, start, side="right") - 1, 0)]

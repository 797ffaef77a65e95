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
from ..record.kinds import Kind
from ..record.row_format import MEMORY_FIELDS
from ..record.window import Recording, Window
from .device_rows import add_device_rows
from .distinct import distinct
from .event_store import EventStore, OwnedTable, ReferenceTable, StackTable, in_order
from .lifetimes import block_lifetimes
from .memory_records import bounded_memory, held_table, memory_table, sorted_by_holder, with_strays, within_operators
from .references import owned_columns, reference_columns, tensor_rows
from .thread_rows import ThreadRows


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
    index = np.cumsum(marked) - 1
    return np.flatnonzero(marked) + low, index[values - low]


class _Strings:
    """The string table of the store that is being made."""

    def __init__(self) -> None:
        self.ids: dict[str, int] = {}

    def __call__(self, text: str) -> int:
        return self.ids.setdefault(text, len(self.ids))


def build_store(recording: Recording) -> EventStore:
    """The events of a window that has ended."""
    metadata, window = recording
    if window is None:
        return EventStore(metadata=metadata)
    threads = [ThreadRows(window, thread) for thread in window.threads]
    threads = [thread for thread in threads if not thread.thread.calls_only or thread.keep.any()]
    infos = [t.thread.info for t in threads] or [ThreadInfo(1, 0, "MainThread")]
    excess = _keep_within(threads, window.options)
    for thread in threads:
        thread.nest()
    columns, memory = _join_threads(threads, infos)
    held, (references, given_rows), owned_rows = held_table(window), *tensor_rows(threads, window)
    memory, scratch = sorted_by_holder(with_strays(window, memory), held)
    memory, lost_memory = bounded_memory(memory, window.options)
    scratch, _ = bounded_memory(scratch, window.options)
    dropped = window.refused + sum(thread.lost() for thread in threads) + excess + lost_memory
    strings = _Strings()
    owned_inputs = np.array([owned.inputs for owned in window.owned], np.int64)[: len(owned_rows)]
    tables = _fill_side_tables(window, columns, strings, owned_inputs)
    columns, infos = _with_devices(window, columns, strings, infos)
    columns, memory["row"], scratch["row"], given_rows, owned_rows = in_order(
        columns, memory["row"], scratch["row"], given_rows, owned_rows
    )
    memories = memory_table(memory)
    known = block_lifetimes(memories, held)
    given = reference_columns(references, given_rows, columns["start_ns"][given_rows], known)
    owned = owned_columns(window.owned[: len(owned_rows)], owned_rows, tables.pop("owned_inputs"), strings, known)
    for column in columns.values():
        column.flags.writeable = False  # the store takes over what has the right type
    return EventStore(
        columns,
        strings=list(strings.ids),
        threads=infos,
        memory=memories,
        scratch=within_operators(memory_table(scratch), columns),
        held=held,
        references=ReferenceTable(given),
        owned=OwnedTable(owned),
        metadata=replace(metadata, dropped_events=dropped),
        **tables,
    )


def _fill_side_tables(
    window: Window, columns: dict[str, np.ndarray], strings: _Strings, owned_inputs: np.ndarray
) -> dict[str, Any]:
    """Turns the columns into indices of the store's side tables, which are returned by name, and adds the steps."""
    _name(window.labels, columns, strings)
    columns["inputs"], owned_inputs, inputs = _compact_inputs(
        columns["inputs"], owned_inputs, window.inputs.__getitem__, window.options.describes_inputs, columns["kind"]
    )
    columns["stack"], stacks = _stack_table(window.stacks, columns["stack"], strings, window.options)
    columns["module"], modules = _module_table(window.modules, columns["module"], window.options)
    columns["step"] = _steps(columns["start_ns"], window.steps)
    steps = columns["kind"] == Kind.STEP
    if steps.any():
        columns["sequence_nr"] = np.where(steps, -1, columns["sequence_nr"])
    return {"inputs": inputs, "stacks": stacks, "modules": modules, "owned_inputs": owned_inputs}


def _with_devices(
    window: Window, columns: dict[str, np.ndarray], strings: _Strings, infos: list[ThreadInfo]
) -> tuple[dict[str, np.ndarray], list[ThreadInfo]]:
    """Adds what ran on devices."""
    if not (columns["kind"] == Kind.RUNTIME).any() and (window.device is None or not window.device.has_work):
        return columns, infos
    parts = () if window.device is None else window.device.parts
    return add_device_rows(columns, strings, infos, parts, partial(_steps, steps=window.steps))


def _keep_within(threads: list[ThreadRows], options: Options) -> int:
    """Leaves out what goes beyond the window's bound; how many rows that is."""
    total = sum(int(thread.keep.sum()) for thread in threads)
    excess = total - options.max_events if options.max_events else 0
    if excess <= 0:
        return 0
    starts = np.concatenate([thread.columns["start_ns"][thread.keep] for thread in threads])
    order = np.argsort(starts, kind="stable")
    out = np.zeros(total, bool)
    out[order[:excess] if options.keep == "newest" else order[total - excess :]] = True
    at = 0
    for thread in threads:
        count = int(thread.keep.sum())
        thread.keep[np.flatnonzero(thread.keep)[out[at : at + count]]] = False
        at += count
    return excess


def _join_threads(
    threads: list[ThreadRows], infos: list[ThreadInfo]
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """The kept rows and the memory records of all threads, with row indices of the joined table.

    Tasks are added to `infos`.
    """
    names = (
        "start_ns",
        "end_ns",
        "label",
        "kind",
        "sequence_nr",
        "forward_thread",
        "inputs",
        "stack",
        "module",
        "flags",
        "end_thread",
    )
    columns: dict[str, list[np.ndarray]] = {n: [] for n in (*names, "parent", "thread")}
    memory: dict[str, list[np.ndarray]] = {n: [] for n in (*MEMORY_FIELDS, "thread")}
    base = 0
    for index, thread in enumerate(threads):
        keep, count = thread.keep, int(thread.keep.sum())
        table = thread.memory()
        row, parent = table["row"], thread.parent
        if count < len(keep) or base:
            position = np.append(np.where(keep, np.cumsum(keep) - 1 + base, -1), -1)
            row, parent = position[row], position[parent]
        for n in names:
            columns[n].append(thread.columns[n][keep] if count < len(keep) else thread.columns[n])
        columns["parent"].append(parent[keep] if count < len(keep) else parent)
        columns["thread"].append(
            _with_tasks(thread, index, infos) if thread.thread.tasks else constant(index, count, np.int32)
        )
        base += count
        for n in MEMORY_FIELDS:
            memory[n].append(row if n == "row" else table[n])
        memory["thread"].append(np.full(len(row), index, np.int32))
    return {n: _one(c) for n, c in columns.items()}, {n: _one(c) for n, c in memory.items()}


def _with_tasks(thread: ThreadRows, index: int, infos: list[ThreadInfo]) -> np.ndarray:
    """Per kept row: the index of its thread, or of its task, which is added."""
    lanes, which = np.unique(thread.lane[thread.keep], return_inverse=True)
    threads_of_lanes = []
    for lane in lanes.tolist():
        threads_of_lanes.append(index if lane == 0 else len(infos))
        if lane != 0:
            infos.append(thread.thread.info._replace(name=thread.thread.tasks[lane], task=lane))
    return np.array(threads_of_lanes, np.int64)[which] if threads_of_lanes else np.zeros(0, np.int64)


def _one(parts: list[np.ndarray]) -> np.ndarray:
    return parts[0] if len(parts) == 1 else np.concatenate(parts) if parts else np.zeros(0, np.int64)


def _name(known: Labels, columns: dict[str, np.ndarray], strings: _Strings) -> None:
    """Replaces `label` by `name` and `overload`."""
    used, position = _distinct(columns.pop("label"))
    labels = [known.label(int(n)) for n in used]
    names = np.array([strings(x.name) for x in labels], np.int32)
    # Indices of a few labels are gathered much faster than the labels themselves are looked up.
    overloads = np.array([-1 if x.overload is None else strings(x.overload) for x in labels], np.int32)
    if len(labels) == 1:
        columns["name"], columns["overload"] = (
            constant(names[0], len(position), np.int32),
            constant(overloads[0], len(position), np.int32),
        )
    else:
        columns["name"], columns["overload"] = names[position], overloads[position]


def _compact_inputs(
    index: np.ndarray, further: np.ndarray, get: Callable[[int], Any], described: bool, kinds: np.ndarray
) -> tuple[np.ndarray, np.ndarray, list[Any]]:
    """Input descriptions that this window's events (`index`) and owned tensors (`further`) refer to. What a user gave
    to a scope is kept in any case."""
    if len(index) and index.max() >= 0 and not described:
        index = np.where(kinds == Kind.SCOPE, index, -1)
    whole = np.concatenate([index, further]) if len(further) else index
    if not len(whole) or whole.max() < 0:
        return index, further, []
    used, position = _distinct(whole)
    missing = int(len(used) > 0 and used[0] < 0)
    position = position - missing
    return position[: len(index)], position[len(index) :], [get(int(n)) for n in used[missing:]]


def _stack_table(known: Any, index: np.ndarray, strings: _Strings, options: Options) -> tuple[np.ndarray, StackTable]:
    """The window's call stacks as a tree."""
    if not options.with_stack:
        return constant(-1, len(index), np.int32), StackTable()
    nodes: dict[tuple[int, int], int] = {}
    used, position = _distinct(index)
    heads = []
    for stack in used:
        node = -1
        if stack >= 0:
            for frame in reversed(known.frames(int(stack))):
                node = nodes.setdefault((node, strings(frame)), len(nodes))
        heads.append(node)
    table = StackTable({"parent": [p for p, _ in nodes], "frame": [f for _, f in nodes]})
    return np.array(heads, np.int64)[position] if heads else index, table


def _module_table(known: ModuleTable, index: np.ndarray, options: Options) -> tuple[np.ndarray, list[ModuleInfo]]:
    if not options.with_modules:
        return constant(-1, len(index), np.int32), []
    infos = known.infos
    used = {int(n) for n in distinct(index) if n >= 0}
    for module in sorted(used, reverse=True):  # a caller's id is smaller than its callees'
        while infos[module].parent >= 0 and infos[module].parent not in used:
            module = infos[module].parent
            used.add(module)
    kept = sorted(used)
    position = {old: new for new, old in enumerate(kept)} | {-1: -1}
    new_index = np.full(len(infos) + 1, -1)
    new_index[kept] = np.arange(len(kept))
    return new_index[index], [infos[n]._replace(parent=position[infos[n].parent]) for n in kept]


def _steps(start: np.ndarray, steps: list[tuple[int, int]]) -> np.ndarray:
    """The step in which each event began."""
    if len(steps) < 2:
        return constant(steps[0][1] if steps else 0, len(start), np.int32)
    times, step_ids = np.array(steps, np.int64).T
    return step_ids[np.maximum(np.searchsorted(times, start, side="right") - 1, 0)]

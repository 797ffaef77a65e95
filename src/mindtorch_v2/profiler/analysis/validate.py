"""Does a profile hold together? Checks of everything that its columns promise."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from ..record.kinds import Flag
from ..store.event_store import EventStore
from .collapse import BLOCK
from .grouping import group_entries, sum_groups
from .tree import EventTree


class Finding(NamedTuple):
    """Something that does not hold: which check found it, what it is, and the first rows concerned."""

    check: str
    message: str
    rows: tuple[int, ...] = ()


def validate(source: EventStore | EventTree) -> list[Finding]:
    """All that is wrong with a store; an empty list for a sound one.

    Later checks build on earlier ones: where the tree of rows itself is broken, only that is reported.
    """
    tree = EventTree.of(source)
    for checks in (_STRUCTURE, _CONSEQUENCES):
        found = [finding for check in checks for finding in check(tree)]
        if found:
            return found
    return []


def _where(check: str, message: str, wrong: np.ndarray) -> Iterator[Finding]:
    rows = np.flatnonzero(wrong)
    if len(rows):
        yield Finding(check, f"{message} ({len(rows)} of {len(wrong)})", tuple(rows[:10].tolist()))


def _stands_before(parent: np.ndarray) -> np.ndarray:
    """Per row: does its parent have a smaller index? Block by block, so that no column of indices is made."""
    made = np.empty(len(parent), bool)
    for first in range(0, len(parent), BLOCK):
        part = parent[first : first + BLOCK]
        made[first : first + BLOCK] = part < np.arange(first, first + len(part))
    return made


# ---- the store itself
# -------------------------------------------------------------------------------------------------


def _indices(tree: EventTree) -> Iterator[Finding]:
    store = tree.store
    for name, column, size in (
        ("name", store.name, len(store.strings)),
        ("thread", store.thread, len(store.threads)),
        ("inputs", store.columns["inputs"], len(store.inputs)),
        ("stack", store.stack, len(store.stacks)),
        ("module", store.module, len(store.modules)),
        ("overload", store.overload, len(store.strings)),
    ):
        lowest = 0 if name in ("name", "thread") else -1
        if len(column) and not lowest <= int(column.min()) <= int(column.max()) < size:
            yield from _where("indices", f"{name} refers to nothing", (column < lowest) | (column >= size))
    yield from _where(
        "indices", "a memory record's row does not exist", (store.memory.row < -1) | (store.memory.row >= len(store))
    )
    yield from _where(
        "indices", "a parent does not stand before its child", ~_stands_before(store.parent) | (store.parent < -1)
    )


def _times(tree: EventTree) -> Iterator[Finding]:
    store = tree.store
    yield from _where("times", "an event ends before it starts", store.end_ns < store.start_ns)
    if len(store):
        start, end = store.start_ns, store.end_ns
        late = (start[1:] < start[:-1]) | ((start[1:] == start[:-1]) & (end[1:] > end[:-1]))
        yield from _where("times", "rows are not in the order of (start, -end)", np.append(False, late))
        meta = store.metadata
        yield from _where(
            "times",
            "an event lies outside the window",
            (start < meta.start_ns) | (end > max(meta.stop_ns, meta.start_ns)),
        )
    yield from _where(
        "times", "memory records are not in the order of time", np.append(False, np.diff(store.memory.time_ns) < 0)
    )


def _nesting(tree: EventTree) -> Iterator[Finding]:
    store = tree.store
    inner = np.flatnonzero((store.parent >= 0) & _stands_before(store.parent))
    parent = store.parent[inner]
    outside = np.zeros(len(store), bool)
    outside[inner] = (store.start_ns[inner] < store.start_ns[parent]) | (store.end_ns[inner] > store.end_ns[parent])
    yield from _where("nesting", "a child is not inside its parent", outside)
    foreign = np.zeros(len(store), bool)
    ids = np.array([thread.id for thread in store.threads] or [0])  # a task's is that of its thread
    thread_id = ids.take(store.thread, mode="clip")
    foreign[inner] = thread_id[inner] != thread_id[parent]
    yield from _where("nesting", "a child ran on another thread than its parent", foreign)


# ---- what follows from it
# ---------------------------------------------------------------------------------------------


def _self_times(tree: EventTree) -> Iterator[Finding]:
    yield from _where("self time", "an entry's children take longer than itself", tree.self_ns < 0)
    roots = tree.nests & (tree.parent < 0)
    own, total = int(tree.self_ns.sum()), int(tree.total_ns.sum(where=roots))
    if own != total:
        yield Finding("self time", f"self times sum to {own} ns, the roots take {total} ns")


def _overlaps(tree: EventTree) -> Iterator[Finding]:
    """Of two events on one thread, one contains the other or they are apart."""
    store = tree.store
    here = (store.flags & np.uint8(Flag.ASYNC) == 0) & (store.device_type == 0)
    family = store.parent  # siblings of one thread have the same value
    if len(store.threads) > 1:
        family = (family + 1).astype(np.int64) * len(store.threads) + store.thread
    if here.all():
        crossing = _crosses(store.start_ns, store.end_ns, family)
    else:
        crossing = np.zeros(len(store), bool)
        crossing[here] = _crosses(store.start_ns[here], store.end_ns[here], family[here])
    yield from _where("overlap", "events of one thread overlap partly", crossing)


def _crosses(start: np.ndarray, end: np.ndarray, parent: np.ndarray) -> np.ndarray:
    """Rows, in the order of (start, -end), that begin before their previous sibling ends."""
    late = np.zeros(len(parent), bool)
    if (parent[1:] == parent[:-1]).all():  # all are siblings, and in order
        late[1:] = start[1:] < end[:-1]
        return late
    order = np.argsort(parent, kind="stable")
    same = parent[order][1:] == parent[order][:-1]
    late[order[1:]] = same & (start[order][1:] < end[order][:-1])
    return late


def _asynchronous(tree: EventTree) -> Iterator[Finding]:
    """An event leaves the nesting only if another thread ended it, or if it overlaps partly with one that stays:
    else what ran inside it is not counted as its own.
    """
    store = tree.store
    lost = np.zeros(len(store), bool)
    apart = (store.flags & np.uint8(Flag.ASYNC) != 0) & (store.device_type == 0)
    stays = ~apart & (store.device_type == 0) & ~tree.is_python
    for thread in np.unique(store.thread[apart & (store.end_thread == 0)]).tolist():
        here = np.flatnonzero(stays & (store.thread == thread))
        by_end = here[np.argsort(store.end_ns[here], kind="stable")]
        starts, ends = store.start_ns[here], store.end_ns[by_end]
        for row in np.flatnonzero(apart & (store.end_thread == 0) & (store.thread == thread)).tolist():
            start, end = store.start_ns[row], store.end_ns[row]
            begun = here[np.searchsorted(starts, start) : np.searchsorted(starts, end)]
            ended = by_end[np.searchsorted(ends, start, "right") : np.searchsorted(ends, end, "right")]
            crosses = (store.end_ns[begun] > end).any() or (store.start_ns[ended] < start).any()
            lost[row] = len(begun) > 0 and not crosses
    yield from _where("asynchronous", "an event is asynchronous although it encloses what ran inside it", lost)


def _averages(tree: EventTree) -> Iterator[Finding]:
    columns, covered = sum_groups(tree, None, *group_entries(tree, None, False, 0, False))
    counted = sum(columns["count"])
    if counted != len(tree):
        yield Finding("counts", f"{len(tree)} events, but the averages count {counted}")
    whole = float(tree.self_ns.sum()) / 1000
    rows = zip(columns["key"], covered.microseconds, columns["self_cpu_time_total"], columns["cpu_time_total"])
    for key, covered_us, self_us, total_us in rows:
        if max(covered_us, self_us) > whole * (1 + 1e-9) + 1e-6:
            yield Finding("share", f"{key} takes {covered_us} us of {whole} us")
        if self_us > total_us + 1e-6:
            yield Finding("share", f"{key} has more self time than time")


def _memory(tree: EventTree) -> Iterator[Finding]:
    store = tree.store
    memory, inside = store.memory, store.memory.row >= 0
    wrong = np.zeros(len(memory), bool)
    row = memory.row[inside]
    wrong[inside] = (memory.time_ns[inside] < store.start_ns[row]) | (memory.time_ns[inside] > store.end_ns[row])
    yield from _where("memory", "a memory record is not inside its event", wrong)
    if int(tree.self_cpu_bytes.sum()) != int(memory.nbytes[memory.device_type == 0].sum()):
        yield Finding("memory", "the events' bytes do not sum to the records'")


def _read_only(tree: EventTree) -> Iterator[Finding]:
    tables = {
        "events": tree.store,
        "memory": tree.store.memory,
        "scratch": tree.store.scratch,
        "held": tree.store.held,
        "stacks": tree.store.stacks,
    }
    for label, table in tables.items():
        writable = [name for name, column in table.columns.items() if column.flags.writeable]
        if writable:
            yield Finding("immutability", f"columns of {label} can be written to: {', '.join(writable)}")


_Check = Callable[[EventTree], Iterator[Finding]]
_STRUCTURE: tuple[_Check, ...] = (_indices, _times, _nesting)
_CONSEQUENCES: tuple[_Check, ...] = (_self_times, _overlaps, _asynchronous, _averages, _memory, _read_only)

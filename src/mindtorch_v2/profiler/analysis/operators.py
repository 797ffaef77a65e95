"""What each operator cost: one row per name with its distribution of times, and who called it, what it called, with
which shapes and from which lines.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..record.enums import DeviceType
from ..record.kinds import WORK_KINDS, WORKING_KINDS
from ..store.event_store import EventStore
from .grouping import group_entries
from .memory_peak import is_users_frame
from .source import KIND_NAMES
from .tree import EventTree
from .values import plain_shapes


@dataclass
class Part:
    """Calls of an operator that have something in common: a caller, a callee, shapes, or a line.

    Times in nanoseconds.
    """

    name: str
    calls: int
    total_ns: int
    index: int = -1  # of a caller or callee: where it stands among the operators


@dataclass
class Operator:
    """All calls of one name on one device. Times in nanoseconds; `total` with what they called, `own` without; of
    device work `own` is its own length, of host rows `device_ns` is the work that they launched, with that of what
    they called.
    """

    name: str
    kind: str
    device: str
    calls: int
    total_ns: int
    own_ns: int
    device_ns: int
    own_device_ns: int
    p50_ns: int
    p95_ns: int
    max_ns: int
    slowest_row: int
    flops: int
    nbytes: int
    own_nbytes: int
    callers: list[Part] = field(default_factory=list)
    callees: list[Part] = field(default_factory=list)
    shapes: list[Part] = field(default_factory=list)
    lines: list[Part] = field(default_factory=list)


def operators(source: EventStore | EventTree, details: int = 0) -> list[Operator]:
    """The operators, most own time first.

    With `details` each has up to that many callers, callees, shapes and lines.
    """
    tree = EventTree.of(source)
    if not len(tree):
        return []
    group, first = group_entries(tree, None, False, 0, False)
    made = _sum_groups(tree, group, first)
    order = sorted(
        range(len(made)), key=lambda i: (-max(made[i].own_ns, made[i].own_device_ns), -made[i].total_ns, made[i].name)
    )
    if details:
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        _add_neighbours(tree, group, made, rank, details)
        _add_shapes(tree, group, made, details)
        _add_lines(tree, group, made, details)
    return [made[i] for i in order]


def _sum_groups(tree: EventTree, group: np.ndarray, first: np.ndarray) -> list[Operator]:
    count = len(first)

    def sums(values: np.ndarray) -> list[int]:
        return np.bincount(group, weights=values, minlength=count).astype(np.int64).tolist()

    nothing = [0] * count
    elapsed = np.where(tree.device_type == 0, tree.total_ns, tree.end_ns - tree.start_ns)
    p50, p95, longest, slowest = _distribution(group, elapsed, count)
    rows = tree.rows_of(slowest)
    uses_device = tree.has_device_entries
    columns = zip(
        first.tolist(),
        np.bincount(group, minlength=count).tolist(),
        sums(tree.total_ns),
        sums(tree.self_ns),
        sums(tree.device_ns) if uses_device else nothing,
        sums(tree.self_device_ns) if uses_device else nothing,
        p50,
        p95,
        longest,
        rows.tolist(),
        sums(tree.flops) if tree.store.metadata.options.with_flops else nothing,
        sums(tree.cpu_bytes + tree.device_bytes) if len(tree.store.memory) else nothing,
        sums(tree.self_cpu_bytes + tree.self_device_bytes) if len(tree.store.memory) else nothing,
    )
    return [
        Operator(
            tree.name_of_id[tree.name_id[entry]],
            KIND_NAMES[int(tree.kind[entry])],
            DeviceType(int(tree.device_type[entry])).name,
            *facts,
        )
        for entry, *facts in columns
    ]


def _distribution(
    group: np.ndarray, elapsed: np.ndarray, count: int
) -> tuple[list[int], list[int], list[int], np.ndarray]:
    """Median, 95th percentile (nearest rank) and longest of each group, and the entry of the longest."""
    order = np.lexsort((elapsed, group))
    sizes = np.bincount(group, minlength=count)
    ends = np.cumsum(sizes)
    begins = ends - sizes

    def at(quantile: float) -> np.ndarray:
        return order[begins + np.maximum(np.ceil(quantile * sizes).astype(np.int64) - 1, 0)]

    return elapsed[at(0.5)].tolist(), elapsed[at(0.95)].tolist(), elapsed[order[ends - 1]].tolist(), order[ends - 1]


def _pairs(first: np.ndarray, second: np.ndarray, values: np.ndarray) -> list[tuple[int, int, int, int]]:
    """(first, second, how often, sum of values) of all distinct pairs, largest sum first."""
    wide = int(second.max(initial=0)) + 1
    codes, where = np.unique(first.astype(np.int64) * wide + second, return_inverse=True)
    counts = np.bincount(where, minlength=len(codes))
    total = np.bincount(where, weights=values, minlength=len(codes)).astype(np.int64)
    order = np.lexsort((codes, -total))
    return [(int(codes[i] // wide), int(codes[i] % wide), int(counts[i]), int(total[i])) for i in order.tolist()]


def _add_neighbours(tree: EventTree, group: np.ndarray, made: list[Operator], rank: np.ndarray, limit: int) -> None:
    inside = np.flatnonzero(tree.parent >= 0)
    values = tree.total_ns[inside]
    launched = np.flatnonzero((tree.owner >= 0) & np.isin(tree.kind, [int(k) for k in WORK_KINDS]))
    first = np.concatenate([group[tree.parent[inside]], group[tree.owner[launched]]])
    second = np.concatenate([group[inside], group[launched]])
    values = np.concatenate([values, (tree.end_ns - tree.start_ns)[launched]])
    for caller, callee, count, total in _pairs(first, second, values):
        if len(made[callee].callers) < limit:
            made[callee].callers.append(Part(made[caller].name, count, total, int(rank[caller])))
        if len(made[caller].callees) < limit:
            made[caller].callees.append(Part(made[callee].name, count, total, int(rank[callee])))


def _add_shapes(tree: EventTree, group: np.ndarray, made: list[Operator], limit: int) -> None:
    store = tree.store
    if not store.inputs:
        return
    known: dict[str, int] = {}
    shapes_id = np.array([known.setdefault(str(plain_shapes(i.shapes)), len(known)) for i in store.inputs] + [-1])
    described = shapes_id[tree.column(store.columns["inputs"], -1)]
    _add_parts(tree, group, described, list(known), [o.shapes for o in made], limit)


def _add_lines(tree: EventTree, group: np.ndarray, made: list[Operator], limit: int) -> None:
    store = tree.store
    if not len(store.stacks):
        return
    lines, line_of_node = users_lines(store)
    _add_parts(tree, group, line_of_node[tree.column(store.stack, -1)], lines, [o.lines for o in made], limit)


def line_times(tree: EventTree) -> list[Part]:
    """The user's lines by the time of the outermost operators and backward functions that they called, longest first.
    What those call is part of them."""
    store = tree.store
    if not len(store.stacks):
        return []
    works = np.isin(tree.kind, [int(k) for k in WORKING_KINDS]) & (tree.device_type == 0)
    inside = (tree.parent >= 0) & works[tree.parent]
    while True:  # as often as events are nested
        further = inside | ((tree.parent >= 0) & inside[tree.parent])
        if (further == inside).all():
            break
        inside = further
    lines, line_of_node = users_lines(store)
    line = line_of_node[tree.column(store.stack, -1)]
    chosen = np.flatnonzero(works & ~inside & (line >= 0))
    found = _pairs(np.zeros(len(chosen), np.int64), line[chosen], tree.total_ns[chosen])
    return [Part(lines[which], count, total) for _, which, count, total in found]


def _add_parts(
    tree: EventTree, group: np.ndarray, part_of: np.ndarray, names: list[str], lists: list[list[Part]], limit: int
) -> None:
    chosen = np.flatnonzero(part_of >= 0)
    for which, part, count, total in _pairs(group[chosen], part_of[chosen], tree.total_ns[chosen]):
        if len(lists[which]) < limit:
            lists[which].append(Part(names[part], count, total))


def users_lines(store: EventStore) -> tuple[list[str], np.ndarray]:
    """The user's lines, and per stack node (the extra last slot is for none) the index of the innermost of them; -1
    where there is none. A stack that lies wholly inside the package has its innermost frame.
    """
    known: dict[str, int] = {}
    found: list[int] = []
    users = [is_users_frame(text) for text in store.strings]
    for parent, frame in zip(store.stacks.parent.tolist(), store.stacks.frame.tolist()):
        if users[frame]:
            found.append(known.setdefault(store.strings[frame], len(known)))
        else:
            found.append(found[parent] if parent >= 0 else -1)
    for node, frame in enumerate(store.stacks.frame.tolist()):
        if found[node] < 0:
            found[node] = known.setdefault(store.strings[frame], len(known))
    return list(known), np.array([*found, -1], np.int64)

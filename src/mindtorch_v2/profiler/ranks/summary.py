"""What the answer needs of one rank: a few kilobytes made from its profile by a pure function, wherever the file is."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ..analysis.modules import ModuleNode, module_report
from ..analysis.operators import operators
from ..analysis.steps import Steps, find_steps, window_of
from ..analysis.tree import EventTree
from ..load.reader import load_trace
from ..load.repair import load_repaired
from ..record.clock import ALIGNMENT_KEY
from ..store import storefile
from ..store.event_store import EventStore
from ..store.files import ProfileFileError
from .collectives import Collectives, communication_rows, find_collectives
from .parts import rank_time

_MOST = 200  # modules and operators that are kept, by time
_RANK_IN_NAME = re.compile(r"(?:^|[^a-z])rank[-_ ]?(\d+)", re.IGNORECASE)


class Ping(NamedTuple):
    """One exchange with the job's clock: at `local_ns` it stood `offset_ns` ahead of the rank's, give or take
    `uncertainty_ns`."""

    local_ns: int
    offset_ns: int
    uncertainty_ns: int


class Cost(NamedTuple):
    """What a module or an operator took on one rank, over all steps. FLOPs are 0 where shapes were not recorded."""

    nanoseconds: int
    calls: int
    flops: int = 0

    def plus(self, nanoseconds: int, calls: int, flops: int) -> Cost:
        return Cost(self.nanoseconds + nanoseconds, self.calls + calls, self.flops + flops)


@dataclass(frozen=True)
class RankSummary:
    """One rank. Times are nanoseconds of its own clock; `unix_offset_ns` leads to Unix time as that machine knows it.

    clock     identifies the clock: ranks with the same text (not "") read the very same one
    parts     nanoseconds by step (rows) and Part (columns)
    modules   by path, inner ones included; empty where modules were not recorded
    operators by name, own time
    """

    path: str
    rank: int
    world_size: int
    host: str
    clock: str
    unix_offset_ns: int
    pings: tuple[Ping, ...]
    start_ns: int
    stop_ns: int
    events: int
    dropped_events: int
    step_number: np.ndarray
    step_start_ns: np.ndarray
    step_end_ns: np.ndarray
    parts: np.ndarray
    collectives: Collectives
    modules: dict[str, Cost]
    operators: dict[str, Cost]
    problems: tuple[str, ...] = field(default=())


def read_store(path: str | os.PathLike[str]) -> tuple[EventStore, list[str]]:
    """The store of a profile or trace, and what had to be repaired to read it."""
    with open(path, "rb") as opened:
        start = opened.read(len(storefile.MAGIC))
    if not start:
        raise ProfileFileError(path, "is empty")
    if storefile.is_store_file(start):
        return storefile.load(path), []
    try:
        return load_trace(path), []
    except ProfileFileError as error:
        repaired = load_repaired(path, error)
        return repaired.store, repaired.repairs


def summarize_file(path: str) -> RankSummary:
    """The summary of the rank that wrote a profile or trace. OSError or ProfileFileError where it cannot be read."""
    store, repairs = read_store(path)
    return summarize(store, path, repairs)


def summarize(store: EventStore, path: str = "", problems: list[str] | None = None) -> RankSummary:
    """The summary of a rank. Its rank is what the profile says (`distributedInfo`), else what the file's name says,
    else -1."""
    told = _metadata(store, "distributedInfo")
    clock = _metadata(store, ALIGNMENT_KEY)
    steps = find_steps(store)
    rows, related = communication_rows(store)
    times = rank_time(store, steps, rows, related)
    tree = EventTree(store)
    shift = store.metadata.epoch_offset_ns
    unix = _whole(clock, "epoch_offset_ns", shift)
    moved = _shift_times(find_collectives(store, rows, times.exposed_ns), shift - unix)
    first, last = window_of(store)
    found = _RANK_IN_NAME.search(os.path.basename(path))
    return RankSummary(
        path,
        _whole(told, "rank", int(found.group(1)) if found else -1),
        _whole(told, "world_size", 0),
        store.metadata.host_name,
        str(clock.get("clock", "")),
        unix,
        _pings(clock),
        first + shift - unix,
        last + shift - unix,
        len(store),
        store.metadata.dropped_events,
        *_step_columns(steps, shift - unix),
        times.nanoseconds,
        moved,
        _modules(tree),
        _operators(tree, related),
        tuple(problems or ()),
    )


def _whole(told: dict[str, Any], key: str, otherwise: int) -> int:
    """A whole number of what a profile says of itself, which may be anything; `otherwise` where it is none."""
    try:
        value = int(told.get(key, otherwise))
    except (TypeError, ValueError, OverflowError):
        return otherwise
    return value if abs(value) < 1 << 62 else otherwise


def _pings(clock: dict[str, Any]) -> tuple[Ping, ...]:
    """The readings of clocks; none where they are not such."""
    try:
        return tuple(Ping(*map(int, ping)) for ping in clock.get("pings", ()))
    except (TypeError, ValueError, OverflowError):
        return ()


def _step_columns(steps: Steps, shift: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return steps.number, steps.start_ns + shift, steps.end_ns + shift


def _shift_times(found: Collectives, shift: int) -> Collectives:
    """The same on the rank's own clock: a trace's times count from another moment."""
    from dataclasses import replace

    return replace(found, start_ns=found.start_ns + shift, end_ns=found.end_ns + shift)


def _metadata(store: EventStore, key: str) -> dict[str, Any]:
    try:
        value = json.loads(store.metadata.user.get(key, "{}"))
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _modules(tree: EventTree) -> dict[str, Cost]:
    if not tree.store.modules:
        return {}
    sums: dict[str, Cost] = {}
    waiting: list[ModuleNode] = list(module_report(tree).roots)
    while waiting:
        node = waiting.pop()
        name = node.label if node.type_name else node.path
        took = node.forward_ns + node.backward_ns
        sums[name] = sums.get(name, Cost(0, 0)).plus(took, node.calls, node.flops)
        waiting += node.children
    return _largest(sums)


def _operators(tree: EventTree, related: np.ndarray) -> dict[str, Cost]:
    """Operators and kernels that compute. Where a device works, its time counts."""
    communicates = {tree.store.strings[i] for i in np.unique(tree.store.name[related]).tolist()}
    sums: dict[str, Cost] = {}
    for found in operators(tree):
        if found.kind == "scope" or found.name in communicates:
            continue
        took = found.own_device_ns or found.own_ns
        sums[found.name] = sums.get(found.name, Cost(0, 0)).plus(took, found.calls, found.flops)
    return _largest(sums)


def _largest(sums: dict[str, Cost]) -> dict[str, Cost]:
    return dict(sorted(sums.items(), key=lambda item: (-item[1].nanoseconds, item[0]))[:_MOST])

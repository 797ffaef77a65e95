"""Short forms of what a profile recorded, for comparison."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

from mindtorch_v2.profiler.store.event_store import EventStore


def store_of(prof: Any) -> EventStore:
    """The store of a finished profile."""
    return prof.profiler.store


def names(store: EventStore) -> list[str]:
    return [store.name_of(row) for row in range(len(store))]


def tree(store: EventStore) -> list[Any]:
    """Nested [name, [children]]."""
    made: list[Any] = [[name, []] for name in names(store)]
    roots = []
    for row, parent in enumerate(store.parent.tolist()):
        (made[parent][1] if parent >= 0 else roots).append(made[row])
    return roots


def assert_sound(store: EventStore) -> None:
    """Rows are ordered, and every row lies inside its parent, on the same thread."""
    for row, parent in enumerate(store.parent.tolist()):
        assert store.start_ns[row] <= store.end_ns[row]
        if row:
            before, here = (store.start_ns[row - 1], -store.end_ns[row - 1]), (store.start_ns[row], -store.end_ns[row])
            assert before <= here
        if parent >= 0:
            assert parent < row
            assert store.start_ns[parent] <= store.start_ns[row] and store.end_ns[row] <= store.end_ns[parent]
            assert store.thread[parent] == store.thread[row]


def assert_tracks_nest(path: Any) -> None:
    """In a trace's file, slices on one track lie strictly inside or beside each other, and tracks have numbers that
    viewers keep.
    """
    with open(path) as file:
        trace = json.load(file, parse_float=Decimal)
    tracks: dict[tuple[Any, Any], list[tuple[Decimal, Decimal, str]]] = {}
    for event in trace["traceEvents"]:
        if isinstance(event["tid"], int):
            assert 0 <= event["tid"] < 1 << 31, event
        if event["ph"] == "X":
            tracks.setdefault((event["pid"], event["tid"]), []).append(
                (event["ts"], event["ts"] + event["dur"], event["name"])
            )
    for slices in tracks.values():
        open_slices: list[tuple[Decimal, Decimal, str]] = []
        for start, end, name in sorted(slices, key=lambda s: (s[0], -s[1])):
            while open_slices and open_slices[-1][1] <= start:
                open_slices.pop()
            assert not open_slices or end <= open_slices[-1][1], (name, open_slices[-1])
            open_slices.append((start, end, name))

"""Short forms of what a profile recorded, for comparison."""
from __future__ import annotations

from typing import Any

from mindtorch_v2.profiler._store import EventStore


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

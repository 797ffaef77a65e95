"""`validate` finds every kind of fault, and none where there is none."""

from __future__ import annotations

import numpy as np
import pytest

from mindtorch_v2.profiler.analysis.validate import Finding, validate
from mindtorch_v2.profiler.record.kinds import Flag, Kind
from mindtorch_v2.profiler.store.event_store import EventStore, MemoryTable

from ..hand_made import E, M, make_store


def sound():
    return make_store(
        [
            E("a", 0, 100),
            E("b", 10, 20),
            E("b", 30, 60),
            E("c", 40, 50),
            E("late", 50, 300, Kind.SCOPE, flags=Flag.ASYNC),
            E("d", 100, 200),
            E("t", 5, 250, thread=1),
        ],
        [M(15, 1, 8), M(150, 1, -8)],
        threads=2,
        profile_memory=True,
    )


def broken(memory=None, **columns):
    store = sound()
    changed = dict(store.columns)
    for name, changes in columns.items():
        changed[name] = changed[name].copy()
        for row, value in changes.items():
            changed[name][row] = value
    records = MemoryTable({**store.memory.columns, **{n: np.array(v) for n, v in (memory or {}).items()}})
    return EventStore(changed, strings=store.strings, threads=store.threads, memory=records, metadata=store.metadata)


def test_a_sound_store_has_no_findings():
    assert validate(sound()) == [] and validate(make_store([])) == []


@pytest.mark.parametrize(
    "store, check",
    [
        (broken(name={0: 99}), "indices"),
        (broken(thread={0: 5}), "indices"),
        (broken(stack={0: 7}), "indices"),
        (broken(parent={0: 3}), "indices"),
        (broken(memory={"row": [0, 99]}), "indices"),
        (broken(end_ns={2: 1}), "times"),
        (broken(start_ns={6: 3}), "times"),
        (broken(end_ns={6: 9_999}), "times"),
        (broken(memory={"time_ns": [150, 15]}), "times"),
        (broken(end_ns={4: 65}), "nesting"),
        (broken(thread={2: 1}), "nesting"),
        (broken(parent={2: -1}), "overlap"),
        (broken(end_ns={2: 35}), "overlap"),
        (broken(memory={"time_ns": [15, 250]}), "memory"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_faults_are_found(store, check):
    found = validate(store)
    assert found and all(isinstance(f, Finding) for f in found)
    assert check in {f.check for f in found}, found

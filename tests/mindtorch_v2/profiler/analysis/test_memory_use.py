"""Memory over time: exact peaks however much is thinned, and what steps leave behind."""

from __future__ import annotations

import numpy as np
import pytest

from mindtorch_v2.profiler.analysis.memory_use import memory_use
from mindtorch_v2.profiler.record.kinds import Kind

from ..hand_made import E, M, make_store


def test_the_peak_is_exact_and_stays_when_points_are_thinned():
    generator = np.random.default_rng(5)
    sizes = generator.integers(1, 1000, 3000).tolist()
    memory, live, peak = [], 0, 0
    for i, size in enumerate(sizes):  # each block lives for ten others
        if i >= 10:
            memory.append(M(10 * i, 1000 + i - 10, -sizes[i - 10]))
            live -= sizes[i - 10]
        memory.append(M(10 * i + 5, 1000 + i, size))
        live += size
        peak = max(peak, live)
    store = make_store([E("aten::a", 0, 40_000)], memory, profile_memory=True)
    (use,) = memory_use(store, most_points=200)
    assert use.peak_bytes == peak
    assert int(use.totals.sum(1).max()) == peak
    assert len(use.times_ns) <= 210 and use.points == len(memory)


def test_what_every_step_leaves_behind_is_named():
    events, memory = [], []
    for step in range(6):
        at = 1000 * step
        events += [
            E(f"ProfilerStep#{step}", at, at + 1000, Kind.STEP),
            E("aten::mul", at + 100, at + 200, stack=("train.py(5): keep",)),
            E("aten::add", at + 300, at + 400),
        ]
        memory += [M(at + 150, 10 + step, 64), M(at + 350, 500, 1000), M(at + 800, 500, -1000)]
    (use,) = memory_use(make_store(events, memory, profile_memory=True, with_stack=True))
    assert use.at_ends == [64 * (step + 1) for step in range(6)]
    assert use.growth_bytes == 64
    (left,) = use.survivors
    assert (left.name, left.line, left.nbytes, left.blocks, left.steps) == (
        "aten::mul",
        "train.py(5): keep",
        4 * 64,
        4,
        4,
    )


def test_no_memory_records_no_memory():
    assert memory_use(make_store([E("aten::a", 0, 1)])) == []


@pytest.mark.parametrize("count", [0, 1, 2])
def test_few_steps_leave_nothing(count):
    events = [E(f"ProfilerStep#{i}", 100 * i, 100 * i + 100, Kind.STEP) for i in range(count)] + [E("aten::a", 0, 300)]
    (use,) = memory_use(make_store(events, [M(5, 1, 8)], profile_memory=True))
    assert use.survivors == [] and use.growth_bytes == 0

"""Steps are found from marks, from optimizers, or are the whole window."""

from __future__ import annotations

from mindtorch_v2.profiler.analysis.steps import find_steps
from mindtorch_v2.profiler.record.kinds import Kind

from ..hand_made import E, make_store


def test_marked_steps():
    store = make_store(
        [E("ProfilerStep#7", 0, 100, Kind.STEP), E("aten::a", 10, 20), E("ProfilerStep#8", 100, 250, Kind.STEP)]
    )
    steps = find_steps(store)
    assert steps.source == "profiler"
    assert steps.number.tolist() == [7, 8]
    assert steps.duration_ns.tolist() == [100, 150]
    assert steps.complete.tolist() == [True, True]


def test_steps_end_where_the_optimizer_that_stepped_most_often_ends():
    store = make_store(
        [
            E("aten::a", 5, 20),
            E("Optimizer.step#SGD.step", 30, 40, Kind.SCOPE),
            E("Optimizer.step#Adam.step", 45, 46, Kind.SCOPE),
            E("aten::a", 50, 60),
            E("Optimizer.step#SGD.step", 70, 90, Kind.SCOPE),
        ]
    )
    steps = find_steps(store)
    assert steps.source == "optimizer"
    assert steps.start_ns.tolist() == [5, 40]
    assert steps.end_ns.tolist() == [40, 90]
    assert steps.complete.tolist() == [False, True]  # nobody knows when the first began


def test_without_marks_the_window_is_the_step():
    store = make_store([E("aten::a", 5, 20), E("aten::b", 30, 45)])
    steps = find_steps(store)
    assert steps.source == "window" and steps.start_ns.tolist() == [5] and steps.end_ns.tolist() == [45]


def test_outliers_need_both_a_large_deviation_and_a_large_share():
    lengths = [100, 101, 99, 100, 150, 100, 102, 98]
    events, at = [], 0
    for i, length in enumerate(lengths):
        events.append(E(f"ProfilerStep#{i}", at, at + length, Kind.STEP))
        at += length
    assert find_steps(make_store(events)).outliers().tolist() == [length == 150 for length in lengths]
    few = make_store(events[:4])
    assert not find_steps(few).outliers().any()


def test_an_empty_store_has_one_empty_step():
    steps = find_steps(make_store([]))
    assert steps.duration_ns.tolist() == [0]

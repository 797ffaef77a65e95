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


def test_what_a_loop_leaves_after_its_last_mark_is_no_step():
    marks = [E(f"ProfilerStep#{i}", 1000 * i, 1000 * i + 1000, Kind.STEP) for i in range(2)]
    work = [E("aten::a", 1000 * i + 10, 1000 * i + 900) for i in range(2)]
    tail, long_tail = (E("ProfilerStep#2", 2000, 2000 + length, Kind.STEP) for length in (49, 50))
    assert find_steps(make_store([*marks, *work, tail])).number.tolist() == [0, 1]
    assert find_steps(make_store([*marks, *work, long_tail])).number.tolist() == [0, 1, 2]
    assert find_steps(make_store([*marks, *work, tail, E("aten::a", 2000, 2001)])).number.tolist() == [0, 1, 2]
    assert find_steps(make_store([tail])).number.tolist() == [2]


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
    assert steps.number.tolist() == [1]  # nobody knows when the first began
    assert steps.start_ns.tolist() == [40]
    assert steps.end_ns.tolist() == [90]


def test_one_call_of_an_optimizer_is_no_step():
    store = make_store([E("aten::a", 5, 20), E("Optimizer.step#SGD.step", 30, 40, Kind.SCOPE), E("aten::a", 50, 60)])
    steps = find_steps(store)
    assert (steps.source, steps.start_ns.tolist(), steps.end_ns.tolist()) == ("window", [5], [60])


def _turns(inside: list[int], nodes: list[int], read_every: int = 0):
    """Calls of optimizers with so many operators inside, and so many backward functions before each."""
    events, at = [], 0
    for i, (count, before) in enumerate(zip(inside, nodes)):
        for _ in range(before):
            events.append(E("AddBackward0", at, at + 1, Kind.NODE))
            at += 1
        if read_every and i % read_every == 0:
            events.append(E("aten::item", at, at + 1))
            at += 1
        events.append(E("Optimizer.step#Adam.step", at, at + count + 1, Kind.SCOPE))
        events += [E("aten::mul_", at + k, at + k + 1) for k in range(count)]
        at += count + 1
    return find_steps(make_store(events))


def test_optimizers_of_one_class_that_take_turns_make_one_step():
    by_operators = _turns([9, 5] + [8, 4] * 9, [3] * 20)
    by_nodes = _turns([4] * 21, [2, 5, 7] * 7)
    assert len(by_operators.number) == 9 and len(by_nodes.number) == 6
    assert set(by_operators.duration_ns.tolist()) == {8 + 4 + 2 + 2 * 3}


def test_a_loss_that_is_read_now_and_then_and_irregular_steps_make_no_turns():
    assert len(_turns([4] * 20, [3] * 20, read_every=2).number) == 19
    assert len(_turns([4] * 8, [3, 5, 2, 8, 1, 9, 4, 7]).number) == 7


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

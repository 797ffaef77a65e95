"""Rules of advice: each says something where it applies, and nothing on a program that does well."""

from __future__ import annotations

import numpy as np
import pytest

from mindtorch_v2.profiler.analysis.advice import MOST_FINDINGS, advice
from mindtorch_v2.profiler.record.kinds import Kind

from ..hand_made import E, M, make_store

STEP = 10_000_000


def _steps(*inside, count: int = 6, length: int = STEP, **options):
    """Equal steps of ten milliseconds that hold the given events, whose times count from the beginning of the step."""
    events = []
    for step in range(count):
        at = step * length
        events.append(E(f"ProfilerStep#{step}", at, at + length, Kind.STEP))
        events += [E(e.name, at + e.start, at + e.end, e.kind, stack=e.stack) for e in inside]
    return make_store(events, **options)


GOOD = [
    E("aten::mm", 0, 5 * STEP // 10),
    E("node", 5 * STEP // 10, 8 * STEP // 10, Kind.NODE),
    E("Optimizer.step#SGD.step", 8 * STEP // 10, 9 * STEP // 10, Kind.SCOPE),
    E("aten::_foreach_add_", 8 * STEP // 10, 9 * STEP // 10),
]


def test_a_good_program_gets_no_advice():
    assert advice(_steps(*GOOD)) == []


def test_slow_input_gains_at_most_the_time_in_the_loader():
    (found,) = advice(_steps(E("enumerate(DataLoader)#X.__next__", 9 * STEP // 10, STEP, Kind.SCOPE), *GOOD))[:1]
    assert found.rule == "slow-input" and found.gain_ns == 6 * STEP // 10 and found.share == pytest.approx(0.1)
    assert len(found.rows) == 6


def test_many_tiny_operators():
    tiny = [E("aten::add", 20_000 * i, 20_000 * i + 8_000) for i in range(300)]
    rules = {a.rule: a for a in advice(_steps(*tiny))}
    assert rules["tiny-operators"].gain_ns == 6 * 300 * 8_000


def test_an_optimizer_that_makes_many_calls():
    calls = [E("aten::add_", 8 * STEP // 10 + 10 * i, 8 * STEP // 10 + 10 * i + 5) for i in range(40)]
    rules = {a.rule: a for a in advice(_steps(*GOOD[:3], *calls))}
    assert rules["unfused-optimizer"].gain_ns == 6 * STEP // 10


def test_gradients_that_nothing_uses():
    rules = {a.rule: a for a in advice(_steps(*GOOD[:2]))}
    assert rules["unused-gradients"].gain_ns == 6 * 3 * STEP // 10


def test_memory_that_grows():
    events, memory = [], []
    for step in range(6):
        at = step * STEP
        events += [E(f"ProfilerStep#{step}", at, at + STEP, Kind.STEP), E("aten::mul", at + 10, at + 9 * STEP // 10)]
        memory.append(M(at + 20, 10 + step, 4096))
    (found,) = [a for a in advice(make_store(events, memory, profile_memory=True)) if a.rule == "growing-memory"]
    assert found.gain_bytes == 4 * 4096 and found.gain_ns == 0


def test_a_slow_first_step():
    events, at = [], 0
    for step, length in enumerate([50, 10, 10, 11, 10, 10]):
        events += [
            E(f"ProfilerStep#{step}", at, at + length * 1_000_000, Kind.STEP),
            E("aten::mm", at, at + length * 1_000_000),
        ]
        at += length * 1_000_000
    (found,) = [a for a in advice(make_store(events)) if a.rule == "slow-first-step"]
    assert found.gain_ns == 40_000_000


def test_single_slow_steps():
    events, at = [], 0
    for step, length in enumerate([10, 10, 10, 40, 10, 10, 10, 11]):
        events += [
            E(f"ProfilerStep#{step}", at, at + length * 1_000_000, Kind.STEP),
            E("aten::mm", at, at + length * 1_000_000),
        ]
        at += length * 1_000_000
    (found,) = [a for a in advice(make_store(events)) if a.rule == "imbalance"]
    assert found.gain_ns == 30_000_000


def test_python_between_operators_and_garbage_collection():
    rules = {
        a.rule: a
        for a in advice(
            _steps(
                E("aten::mm", 0, STEP // 2),
                E("Python GC", 6 * STEP // 10, 7 * STEP // 10, Kind.GC),
                E("aten::sum", STEP - 1, STEP),
            )
        )
    }
    assert {"python", "garbage-collection"} <= rules.keys()
    assert rules["garbage-collection"].gain_ns == 6 * STEP // 10


def test_there_are_at_most_ten_findings_and_none_of_nothing():
    assert MOST_FINDINGS == 10
    assert advice(make_store([])) == []


def test_gains_never_exceed_the_steps():
    generator = np.random.default_rng(0)
    names = ["aten::mm", "aten::copy_", "enumerate(DataLoader)#X.__next__", "Optimizer.step#A.step", "aten::item"]
    kinds = {"enumerate(DataLoader)#X.__next__": Kind.SCOPE, "Optimizer.step#A.step": Kind.SCOPE}
    for _ in range(20):
        events, at = [], 0
        for step in range(6):
            end = at
            for name in generator.choice(names, 12).tolist():
                length = int(generator.integers(1_000, 4_000_000))
                events.append(E(name, end, end + length, kinds.get(name, Kind.OP)))
                end += length
            events.append(E(f"ProfilerStep#{step}", at, end, Kind.STEP))
            at = end
        for finding in advice(make_store(events)):
            assert 0 <= finding.gain_ns <= at and 0 <= finding.share <= 1

"""What steps cost where nothing disturbed them: the evidence for a change of everything on a busy machine."""

from __future__ import annotations

import numpy as np
import pytest

from mindtorch_v2.profiler.analysis.diff import diff
from mindtorch_v2.profiler.analysis.diff_features import Features
from mindtorch_v2.profiler.analysis.effort import effort_of, efforts_of
from mindtorch_v2.profiler.analysis.gate import check
from mindtorch_v2.profiler.cli.diff import sentence
from mindtorch_v2.profiler.record.kinds import Kind
from mindtorch_v2.profiler.store.event_store import EventStore

from ..hand_made import E, make_store

GAP = 50_000  # between steps, where the fixed work is done
WORK = 10_000
BUSY = {"others": 0.9, "delay": 0.6, "slices": 1000.0}
RULES = {"step_time": "+3%"}


def run(
    seed: int, factor: float = 1.0, machine: float = 1.0, waits: float = 0.0, step_ns: int = 400_000, steps: int = 60
) -> EventStore:
    """A run on a busy machine: `factor` is the program's, `machine` makes all work slower, the fixed one as well. In a
    share `waits` of the operators the program waits for as long as a step takes. Four operators a step, and a reading
    before each step."""
    generator = np.random.default_rng(seed)
    events, speed, at, used = [], [], 0, 0
    for step in range(steps):
        work = int(WORK * machine * generator.lognormal(0, 0.02))
        speed.append((at, work, used))
        used += 2 * work
        at += GAP
        begin = at
        for operator in range(4):
            length = int(step_ns / 4 * factor * machine * generator.lognormal(0, 0.02))
            used += length
            length += step_ns if generator.random() < waits else 0
            events.append(E(f"aten::op{operator}", at, at + length))
            at += length
        events.append(E(f"ProfilerStep#{step}", begin, at, Kind.STEP))
    speed.append((at, WORK, used))
    return make_store(events).with_metadata(speed=tuple(speed), yardstick="this machine", machine_load=BUSY)


def test_the_effort_is_processor_time_where_every_step_has_a_reading():
    effort = effort_of(Features(run(0, waits=0.3)))
    assert effort.is_processor_time and len(effort.step_ns) == 60
    # four operators of 2% each: no wait is in it, nor the fixed work
    assert effort.step_ns == pytest.approx(np.full(60, 400_000.0), rel=0.06)
    assert effort.work_ns == pytest.approx(np.full(61, 10_000.0), rel=0.1)


def test_short_steps_between_two_readings_are_taken_as_they_are():
    store = run(0)
    store = store.with_metadata(speed=store.metadata.speed[::5])
    features = Features(store)
    effort = effort_of(features)
    assert not effort.is_processor_time and effort.step_ns is features.times


def test_without_enough_readings_or_beside_a_device_there_is_none():
    store = run(0)
    assert effort_of(Features(store.with_metadata(speed=store.metadata.speed[:8]))) is None
    last = len(store) - 1
    on_device = {**store.columns, "kind": store.kind.copy(), "device_type": store.device_type.copy()}
    on_device["kind"][last], on_device["device_type"][last] = Kind.KERNEL, 1
    assert effort_of(Features(store.replaced(on_device))) is None
    other = Features(run(1).with_metadata(yardstick="another machine"))
    assert efforts_of(Features(store), other) is None
    assert efforts_of(Features(store), Features(run(1))) is not None


@pytest.mark.parametrize("seed", range(5))
def test_a_program_that_is_a_quarter_slower_is_found_on_a_busy_machine(seed):
    found = diff(run(seed, waits=0.1), run(100 + seed, factor=1.25, waits=0.1))
    assert found.alike == "slower" and found.whole.change == pytest.approx(0.25, abs=0.03)
    assert "all operators are so alike" in sentence(found) and check(found, RULES)
    quicker = diff(run(seed, factor=1.25, waits=0.1), run(100 + seed, waits=0.1))
    assert quicker.alike == "faster" and check(quicker, RULES) == []


@pytest.mark.parametrize("seed", range(5))
def test_a_machine_that_is_a_quarter_slower_is_not(seed):
    found = diff(run(seed, waits=0.1), run(100 + seed, machine=1.25, waits=0.1))
    assert found.alike == "no evidence" and check(found, RULES) == []
    assert any("fixed piece of work" in note for note in found.notes)


def test_the_same_program_twice_is_no_evidence():
    generator = np.random.default_rng(0)
    pairs = [[run(2 * i + k, machine=generator.lognormal(0, 0.15), waits=0.2) for k in range(2)] for i in range(50)]
    made = [diff(*pair, seed=i) for i, pair in enumerate(pairs)]
    assert sum(one.alike != "no evidence" or bool(check(one, RULES)) for one in made) <= 2


def test_runs_without_readings_are_judged_by_how_busy_the_machine_was():
    before, after = (run(i, factor=1 + i / 4).with_metadata(speed=()) for i in range(2))
    found = diff(before, after)
    assert found.alike == "no evidence" and any("larger than that" in note for note in found.notes)


def test_waits_in_the_midst_of_long_steps_are_not_the_programs():
    """A machine that interrupts every step of one run: the step is eight times as long, its operators are not."""
    calm = run(0).with_metadata(machine_load={"others": 0.5, "delay": 0.01, "slices": 20.0})
    store = run(1, steps=60)
    is_step = store.kind == Kind.STEP
    shift = np.cumsum(np.where(is_step, 3_000_000, 0)) - np.where(is_step, 3_000_000, 0)
    later = {"start_ns": store.start_ns + shift, "end_ns": store.end_ns + shift + np.where(is_step, 3_000_000, 0)}
    steps = np.searchsorted(np.sort(store.start_ns[is_step]), [one[0] for one in store.metadata.speed])
    speed = [(t + 3_000_000 * int(k), w, p) for (t, w, p), k in zip(store.metadata.speed, steps)]
    waited = store.replaced({**store.columns, **later}).with_metadata(
        speed=tuple(speed), machine_load={"others": 0.5, "delay": 0.9, "slices": 600.0}
    )
    found = diff(calm, waited)
    assert np.median(Features(waited).times) > 7 * np.median(Features(calm).times)
    assert found.verdict == found.alike == "no evidence" and check(found, RULES) == []

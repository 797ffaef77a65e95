"""Two runs compared: noise is no evidence, a planted change is named, facts are exact."""

from __future__ import annotations

import numpy as np
import pytest

from mindtorch_v2.profiler.analysis.diff import diff
from mindtorch_v2.profiler.analysis.disturbance import _drift
from mindtorch_v2.profiler.analysis.gate import RuleError, check
from mindtorch_v2.profiler.analysis.statistics import compare, compare_whole
from mindtorch_v2.profiler.cli.diff import sentence
from mindtorch_v2.profiler.record.descriptions import ModuleInfo
from mindtorch_v2.profiler.record.kinds import Kind
from mindtorch_v2.profiler.store.event_store import EventStore

from ..hand_made import E, M, make_store, tensors

LAYERS = 8


def run(
    seed: int,
    steps: int = 30,
    factor: float = 1.0,
    slower: dict[int, float] | None = None,
    names: tuple[str, ...] | None = None,
    more: int = 0,
    nbytes: int = 4096,
) -> EventStore:
    """A run of a model of some layers: each calls one operator for about 20 us, more or less by chance (5%, and now
    and then a stall). `factor` is the machine's; `slower` multiplies the times of some layers, `more` adds calls of
    aten::copy_.
    """
    generator = np.random.default_rng(seed)
    names = names or tuple(f"layers.{i}" for i in range(LAYERS))
    events, memory, at = [], [], 0
    for step in range(steps):
        begin = at
        for layer in range(LAYERS):
            length = int(
                20_000
                * factor
                * (slower or {}).get(layer, 1.0)
                * generator.lognormal(0, 0.05)
                * (10 if generator.random() < 0.02 else 1)
            )
            events += [
                E("aten::linear", at, at + length + 1000, module=layer + 1, inputs=tensors((4, 8 + layer))),
                E(f"aten::op{layer}", at + 500, at + 500 + length, module=layer + 1, inputs=tensors((4, 8 + layer))),
            ]
            at += length + 1000
        for _ in range(more):
            events.append(E("aten::copy_", at, at + 500))
            at += 500
        memory += [M(begin + 10, 100, nbytes), M(at - 10, 100, -nbytes)]
        events.append(E(f"ProfilerStep#{step}", begin, at, Kind.STEP))
    modules = [ModuleInfo(0, "", "Net", -1), *(ModuleInfo(0, name, "Linear", 0) for name in names)]
    return make_store(events, memory, modules=modules, record_shapes=True, with_modules=True, profile_memory=True)


def noisy_steps(generator: np.random.Generator, steps: int = 20) -> np.ndarray:
    """Times of a step (column 0) and of its eight parts. Parts vary by 5%, one in fifty stalls, the load drifts, and
    the machine of the run is slower or faster as a whole by about a fifth.
    """
    drift = np.exp(np.cumsum(generator.normal(0, 0.02, steps)))[:, None]
    parts = 20_000 * generator.lognormal(0, 0.2) * drift * generator.lognormal(0, 0.05, (steps, LAYERS))
    parts *= np.where(generator.random((steps, LAYERS)) < 0.02, 10, 1)
    return np.concatenate([parts.sum(1, keepdims=True) + 8_000, parts], 1)


def test_the_same_program_twice_is_no_evidence_in_95_of_100_tries_on_a_noisy_machine():
    generator = np.random.default_rng(1)
    parts = np.arange(LAYERS + 1) > 0
    tries = [compare(noisy_steps(generator), noisy_steps(generator), parts, seed=i) for i in range(100)]
    assert sum(made.differences[0].verdict == "no evidence" for made in tries) >= 95
    flagged = sum(d.verdict != "no evidence" for made in tries for d in made.differences)
    assert flagged <= 0.02 * 100 * (LAYERS + 1)
    slower = noisy_steps(generator) * np.where(np.arange(LAYERS + 1) == 4, 2.0, 1.0)
    assert compare(noisy_steps(generator), slower, parts).differences[4].verdict == "slower"


@pytest.mark.parametrize("seed", range(5))
def test_a_layer_that_became_slower_is_named(seed):
    found = diff(run(seed), run(100 + seed, factor=1.3, slower={3: 2.0}))
    assert found.verdict == "slower" and found.common == pytest.approx(1.3, rel=0.1)
    changed = [row for row in found.rows if row.kind == "module" and row.status != "no evidence"]
    assert [row.name for row in changed] == ["layers.3"] and changed[0].status == "slower"
    assert found.of("operator", "aten::op3").difference.change == pytest.approx(1.0, abs=0.25)
    assert diff(run(seed, slower={3: 2.0}), run(100 + seed)).verdict == "faster"


def test_renamed_modules_are_matched_by_what_they_ran():
    names = tuple(f"blocks.{i}" for i in range(LAYERS))
    found = diff(run(0), run(1, names=names, slower={5: 2.5}))
    assert found.renamed == [(f"layers.{i}", f"blocks.{i}") for i in range(LAYERS)]
    assert [r.name for r in found.rows if r.kind == "module" and r.status == "slower"] == ["blocks.5"]
    assert not any(r.status in ("added", "removed") for r in found.rows)


def test_added_and_removed_parts_and_exact_facts():
    found = diff(run(0), run(1, more=4, nbytes=8192))
    facts = {f.name: (f.before, f.after) for f in found.changed_facts}
    assert facts == {
        "operators": (16, 20),
        "copies": (0, 4),
        "allocated_bytes": (4096, 8192),
        "peak_memory": (4096, 8192),
        "aten::copy_ calls": (0, 4),
    }
    assert found.of("operator", "aten::copy_").status == "added"
    assert diff(run(1, more=4), run(0)).of("operator", "aten::copy_").status == "removed"


def test_few_steps_are_no_evidence_but_facts_are_compared():
    found = diff(run(0, steps=2), run(1, steps=2, slower={1: 5.0}, more=1))
    assert found.verdict == "no evidence" and any("too few" in note for note in found.notes)
    assert found.changed_facts


RULES = {
    "step_time": "+3%",
    "peak_memory": "+0",
    "aten::copy_": {"count": "+0"},
    "module": {"layers.3": {"time": "+10%"}},
}


def test_a_gate_breaks_on_evidence_only():
    assert check(diff(run(0), run(1)), RULES) == []
    broken = {b.rule: b for b in check(diff(run(0), run(1, slower={3: 3.0}, more=1, nbytes=4097)), RULES)}
    assert set(broken) == {"step_time", "peak_memory", "aten::copy_.count", "module layers.3.time"}
    assert "4,096 -> 4,097 (+1)" in broken["peak_memory"].message
    assert check(diff(run(0), run(1, nbytes=5000)), {"peak_memory": "+25%", "allocated_bytes": "+1KB"}) == []


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({"speed": "+1%"}, "no rule 'speed'"),
        ({"step_time": 3}, "expected for instance"),
        ({"step_time": "3%"}, "expected for instance"),
        ({"aten::add": {"size": "+0"}}, "count, time"),
        ({"module": {"a": "+1%"}}, "must be a table"),
        ({"flops": "+0"}, "not recorded"),
    ],
)
def test_wrong_rules_say_what_was_expected(rules, message):
    with pytest.raises(RuleError, match=message):
        check(diff(run(0, 5), run(1, 5)), rules)


def test_a_change_of_everything_is_taken_out_unless_asked_for():
    before, after = np.full((40, 6), 100.0), np.full((40, 6), 130.0)
    parts = np.array([False, True, True, True, True, True])
    made = compare(before, after, parts)
    assert made.common == pytest.approx(1.3) and {d.verdict for d in made.differences} == {"no evidence"}
    raw = compare(before, after, parts, adjust=False)
    assert {d.verdict for d in raw.differences} == {"slower"} and raw.differences[0].low == pytest.approx(0.3)


def test_a_slowdown_of_everything_is_a_slower_step_that_is_common_to_all_operators():
    found = diff(run(0), run(1, factor=1.5))
    assert found.verdict == "no evidence"  # of any part more than of the others
    assert found.alike == "slower" and found.whole.change == pytest.approx(0.45, abs=0.1)
    assert "and all operators are so alike" in sentence(found) and "slower" in sentence(found)
    assert any("All operators are" in note and "slower alike" in note for note in found.notes)
    quicker = diff(run(0, factor=1.5), run(1))
    assert quicker.alike == "faster" and sentence(quicker).startswith("A step is 3")
    same = diff(run(0), run(1))
    assert same.alike == "no evidence" and sentence(same).startswith("No evidence")


def loaded(store: EventStore, others: float, delay: float) -> EventStore:
    return store.with_metadata(machine_load={"others": others, "delay": delay, "slices": 100.0})


def test_a_gate_on_the_step_sees_what_all_operators_have_in_common():
    """More than what other work on the machine can have done breaks the rule, less does not."""
    rules = {"step_time": "+3%"}
    alone = loaded(run(0), 0.0, 0.0)
    (broken,) = check(diff(alone, loaded(run(1, factor=1.2), 0.0, 0.0)), rules)
    assert broken.rule == "step_time" and "(all operators alike)" in broken.message
    assert check(diff(alone, loaded(run(1, factor=1.2), 0.02, 0.01)), rules)
    busy = diff(alone, loaded(run(1, factor=1.2), 0.0, 0.25))  # it may have waited for a quarter of its time
    assert check(busy, rules) == [] and busy.alike == "no evidence"
    assert any("other work during the second run" in note and "33% slower" in note for note in busy.notes)
    assert check(diff(alone, loaded(run(1, factor=1.2), 0.2, 0.0)), rules) == []
    seldom = run(1, factor=1.2).with_metadata(machine_load={"others": 0.0, "delay": 0.25, "slices": 5.0})
    assert check(diff(alone, seldom), rules)  # most steps were not interrupted
    assert check(diff(loaded(run(0), 0.3, 0.3), loaded(run(1, factor=1.2), 0.0, 0.0)), rules)
    assert check(diff(alone, loaded(run(1), 0.0, 0.0)), rules) == []


def test_a_limit_below_zero_asks_for_a_faster_step():
    faster = diff(loaded(run(0, factor=1.5), 0.0, 0.0), loaded(run(1), 0.0, 0.0))
    assert check(faster, {"step_time": "-10%"}) == []
    assert check(diff(run(0), run(1)), {"step_time": "-10%"})[0].rule == "step_time"


def test_a_trace_that_says_nothing_of_its_machine_is_judged_by_its_own_drift():
    steady, drifting = np.full(40, 100.0), np.repeat([100.0, 100.0, 130.0, 130.0], 10)
    assert [_drift(steady), _drift(drifting), _drift(drifting[:8])] == [1.0, 1.3, 1.0]
    assert compare_whole(steady, steady * 1.2).verdict == "slower"
    found = compare_whole(steady, steady * 1.2, (1.0, 1.3))
    assert found.verdict == "no evidence" and found.low == pytest.approx(1.2 / 1.3 - 1) and found.change > 0.19


def test_a_change_of_one_part_is_told_beside_that_of_all():
    found = diff(run(0), run(1, factor=1.5, slower={3: 2.0}))
    assert found.alike == found.verdict == "slower"
    assert "alike; beside that, a step is" in sentence(found) and "layers.3" in sentence(found)


def test_the_sentence_names_the_totals_that_changed():
    said = sentence(diff(run(1), run(1, nbytes=8192)))
    assert said.endswith("; 2 facts differ: allocated bytes +4.00 KB, peak memory +4.00 KB.")
    assert "facts differ: operators +1, copies +1" in sentence(diff(run(1), run(1, more=1)))
    assert "operators -1, copies -1" in sentence(diff(run(1, more=1), run(1)))


def test_phases_that_no_run_has_are_left_out_and_no_part_loses_more_than_all():
    quick, slow = run(1), run(2, slower={0: 0.001})
    compared = diff(quick, slow)
    assert [r.name for r in compared.rows if r.kind == "phase"] == ["forward"]
    assert min(r.difference.low for r in compared.rows) >= -1.0
    wild = np.random.default_rng(0).lognormal(0, 3.0, (30, 6))
    assert min(d.low for d in compare(wild, wild[::-1] * 0.01, np.ones(6, bool)).differences) >= -1.0

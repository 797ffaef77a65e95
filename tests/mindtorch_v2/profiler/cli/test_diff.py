"""`mindprof diff`, its gate, its summaries, and the fixture for tests."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.profiler.analysis.diff import Row
from mindtorch_v2.profiler.analysis.statistics import Difference
from mindtorch_v2.profiler.cli.diff import _change
from mindtorch_v2.profiler.pytest_plugin import Mindprof
from mindtorch_v2.profiler.store import storefile

from .conftest import training

GATE = 'step_time = "+3%"\npeak_memory = "+0"\n"aten::add_".count = "+0"\n'


@pytest.fixture
def runs(tmp_path):
    """Three files: a run, the same again, and one whose layer is slower."""
    paths = [str(tmp_path / name) for name in ("a.mindprof", "b.mindprof", "slow.mindprof")]
    for path, slow in zip(paths, (0, 0, 300_000)):
        storefile.save(training(steps=20, slow=slow), path)
    return paths


def test_the_same_run_and_a_slower_one(tool, runs):
    code, out, _ = tool("diff", runs[0], runs[1])
    assert code == 0 and "No evidence" in out and "all facts are the same" in out
    code, out, _ = tool("diff", runs[0], runs[2])
    assert code == 0 and "30.0% slower" in out and "fc: aten::linear [[4, 8], [8, 2]]" in out
    answer = json.loads(tool("diff", runs[0], runs[2], "--json")[1])
    assert answer["verdict"] == "slower" and answer["rows"][0]["before_ns"] == 1_000_000
    assert [r["name"] for r in answer["rows"] if r["kind"] == "module" and r["status"] == "slower"] == ["fc"]


def test_the_gate(tool, runs, tmp_path):
    rules = tmp_path / "rules.toml"
    rules.write_text(GATE)
    assert tool("diff", runs[0], runs[1], "--gate", str(rules))[0] == 0
    code, out, _ = tool("diff", runs[0], runs[2], "--gate", str(rules))
    assert code == 1 and "step_time: +30.0%" in out and "failed" in out
    code, out, _ = tool("diff", runs[0], runs[2], "--gate", str(rules), "--markdown", "-")
    assert code == 1 and "**failed**" in out and "| `step_time` | +3% |" in out
    for text, message in (("speed = '+1%'", "no rule"), ("= broken", "no TOML")):
        rules.write_text(text)
        code, _, err = tool("diff", runs[0], runs[1], "--gate", str(rules))
        assert code == 2 and message in err and len(err.splitlines()) == 1


def test_the_page_is_alone_and_names_are_escaped(tool, runs, tmp_path):
    page = tmp_path / "<b>.html"
    assert tool("diff", runs[0], runs[2], "--html", str(page))[0] == 0
    text = page.read_text()
    assert (
        "30.0% slower" in text
        and "<script" not in text
        and "default-src 'none'" in text
        and "http" not in text.replace("http-equiv", "")
    )


def test_the_fixture_writes_a_baseline_and_fails_on_a_broken_rule(tmp_path):
    rules = {"aten::clone": {"count": "+0"}, "copies": "+0"}

    def record(calls: int):
        return Mindprof(False).record(lambda: [torch.ones(4, 4).clone() for _ in range(calls)], steps=5)

    base = tmp_path / "new" / "base.mindprof"
    with pytest.warns(UserWarning, match="was written"):
        assert Mindprof(False).check(record(1), base, rules) is None
    assert Mindprof(False).check(record(1), base, rules).steps == (5, 5)
    with pytest.raises(pytest.fail.Exception, match=r"aten::clone\.count.*\n?.*1 -> 2 \(\+1\)"):
        Mindprof(False).check(record(2), base, rules)
    with pytest.warns(UserWarning, match="was written"):
        Mindprof(True).check(record(2), base, rules)
    assert Mindprof(False).check(record(2), base, rules).changed_facts == []


def test_what_was_none_before_has_no_percentage():
    nothing = Row("phase", "copies", Difference(0.0, 5.0, float("inf"), 0.0, float("inf"), "no evidence"), "", 0.0)
    assert _change(nothing) == "was none before"
    assert _change(replace(nothing, status="added")) == "added"

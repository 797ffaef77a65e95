"""The profiler as a user of `torch.profiler` meets it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import nn, optim
from mindtorch_v2.profiler import profile, record_function


@pytest.fixture
def x() -> torch.Tensor:
    return torch.ones(2, 2)


def test_profiler_context_and_step_basics(x):
    y = torch.ones(2, 2)
    with profile() as prof:
        x + x
        prof.step()
        y * y
    assert len(prof.events()) >= 2
    assert {e["step"] for e in prof.events()} == {0, 1}


def test_profiler_captures_dispatch_ops():
    x = torch.ones(2, 2, requires_grad=True)
    with profile() as prof:
        (x * x).sum().backward()
    names = [e["name"] for e in prof.events() if e["kind"] == "op"]
    assert any("mul" in n for n in names)
    assert any("sum" in n for n in names)


def test_record_function_nesting_and_exception_safe(x):
    with (
        profile() as prof,
        pytest.raises(ValueError, match="from the body"),
        record_function("outer"),
        record_function("inner"),
    ):
        x + x
        raise ValueError("from the body")
    assert [e["name"] for e in prof.events() if e["kind"] == "scope"] == ["outer", "inner"]
    assert all(e["duration_ns"] >= 0 for e in prof.events())


def test_record_function_nesting_without_exception(x):
    with profile() as prof, record_function("outer"), record_function("inner"):
        x + x
    assert [e["name"] for e in prof.events() if e["kind"] == "scope"] == ["outer", "inner"]
    assert all(e["duration_ns"] >= 0 for e in prof.events())


def test_key_averages_table_contains_expected_columns(x):
    with profile() as prof:
        x + x
    table = prof.key_averages().table(sort_by="self_cpu_time_total")
    assert "Name" in table and "Count" in table and "Total" in table


def test_export_chrome_trace_json_valid(x, tmp_path: Path):
    with profile() as prof:
        x + x
    prof.export_chrome_trace(str(tmp_path / "trace.json"))
    assert json.loads((tmp_path / "trace.json").read_text())["traceEvents"]


def test_profiler_covers_optimizer_ops():
    layer = nn.Linear(2, 2)
    optimizer = optim.SGD(layer.parameters(), lr=0.1)
    with profile() as prof:
        layer(torch.ones(1, 2)).sum().backward()
        optimizer.step()
    step = next(e for e in prof.events() if e.name == "Optimizer.step#SGD.step")
    assert any(e["kind"] == "op" for e in step.cpu_children)


def test_profiler_no_mindspore_dependency():
    source = Path(torch.profiler.profiler.__file__).read_text()
    assert "mindspore" not in source


@pytest.mark.skipif(not torch.npu.is_available(), reason="needs an NPU")
def test_profiler_npu_event_device_type():
    with profile() as prof:
        x = torch.ones((2, 2), device="npu")
        x + x
    assert any(e["device_type"] == "NPU" for e in prof.events())


def test_key_averages_supports_group_by_input_shape():
    with profile(record_shapes=True) as prof:
        torch.ones(2) + torch.ones(2)
        torch.ones(3) + torch.ones(3)
    rows = [r for r in prof.key_averages(group_by_input_shape=True) if r.key == "aten::add"]
    assert sorted(r.input_shapes[0] for r in rows) == [[2], [3]]
    assert [r.count for r in prof.key_averages() if r.key == "aten::add"] == [2]


def test_key_averages_supports_group_by_stack_n(x):
    def first():
        return x + x

    def second():
        return x + x

    with profile(with_stack=True) as prof:
        first()
        second()
    rows = [r for r in prof.key_averages(group_by_stack_n=1) if r.key == "aten::add"]
    assert len(rows) == 2
    assert sorted(re.sub(r".*: ", "", r.stack[0]) for r in rows) == ["first", "second"]


@pytest.mark.parametrize("key", ["self_cpu_time_total", "cpu_time_total", "count"])
def test_key_averages_table_known_sort_keys(x, key):
    with profile() as prof:
        x + x
    assert "aten::add" in prof.key_averages().table(sort_by=key)


def test_key_averages_table_unknown_sort_key_raises(x):
    with profile() as prof:
        x + x
    with pytest.raises(AttributeError, match="nonsense"):
        prof.key_averages().table(sort_by="nonsense")


def test_key_averages_self_time_subtracts_nested_scope_time(x):
    with profile() as prof, record_function("outer"), record_function("inner"):
        x + x
    rows = {r.key: r for r in prof.key_averages()}
    outer, inner, add = rows["outer"], rows["inner"], rows["aten::add"]
    assert outer.self_cpu_time_total == pytest.approx(outer.cpu_time_total - inner.cpu_time_total)
    assert inner.self_cpu_time_total == pytest.approx(inner.cpu_time_total - add.cpu_time_total)
    assert outer.cpu_time_total >= inner.cpu_time_total >= add.cpu_time_total


def test_key_averages_self_time_not_greater_than_total(x):
    with profile() as prof, record_function("outer"):
        x + x
        (x @ x).sum()
    assert all(0 <= r.self_cpu_time_total <= r.cpu_time_total for r in prof.key_averages())


def test_key_averages_exposes_self_cpu_time_total_aggregate(x):
    with profile() as prof:
        x + x
        x * x
    rows = prof.key_averages()
    assert rows.self_cpu_time_total == pytest.approx(sum(r.self_cpu_time_total for r in rows))


def test_key_averages_total_average_returns_total_row(x):
    with profile() as prof:
        x + x
        x * x
    rows = prof.key_averages()
    total = rows.total_average()
    assert total.key == "Total"
    assert total.count == sum(r.count for r in rows)
    assert total.self_cpu_time_total == pytest.approx(sum(r.self_cpu_time_total for r in rows))


def test_key_averages_empty_events_total_average_is_zero():
    with profile() as prof:
        pass
    rows = prof.key_averages()
    total = rows.total_average()
    assert list(rows) == []
    assert (total.count, total.self_cpu_time_total, total.cpu_time_total, total.cpu_time) == (0, 0, 0, 0.0)


def test_key_averages_supported_export_stacks_metrics_matches_torch_shape(x):
    with profile() as prof:
        x + x
    assert prof.key_averages().supported_export_stacks_metrics() == [
        "self_cpu_time_total",
        "self_cuda_time_total",
        "self_xpu_time_total",
        "self_privateuse1_time_total",
    ]


def test_key_averages_export_stacks_rejects_unsupported_metric(x, tmp_path: Path):
    with profile(with_stack=True) as prof:
        x + x
    with pytest.raises(ValueError, match="metric should be one of"):
        prof.key_averages(group_by_stack_n=3).export_stacks(str(tmp_path / "stacks.txt"), "cpu_time_total")


def test_key_averages_export_stacks_writes_stack_lines(tmp_path: Path):
    big = torch.ones(200, 200)
    with profile(with_stack=True) as prof:
        for _ in range(5):
            big @ big
    path = tmp_path / "stacks.txt"
    prof.key_averages(group_by_stack_n=5).export_stacks(str(path), "self_cpu_time_total")
    lines = path.read_text().splitlines()
    assert lines
    assert all(re.fullmatch(r"[^ ]+ \d+", line) for line in lines)


def test_misuse_of_results_before_start():
    for call, purpose in (
        (lambda p: p.events(), "accessing events"),
        (lambda p: p.key_averages(), "getting key averages"),
        (lambda p: p.export_chrome_trace("x"), "exporting chrome trace"),
        (lambda p: p.export_stacks("x"), "exporting stacks"),
        (lambda p: p.stop(), "stopping trace"),
    ):
        with pytest.raises(AssertionError, match=f"^Profiler must be initialized before {purpose}$"):
            call(profile())


def test_the_dispatcher_tells_whether_it_is_observed():
    from mindtorch_v2._dispatch import dispatcher

    assert not dispatcher.is_enabled()
    with torch.profiler.profile():
        assert dispatcher.is_enabled()
    assert not dispatcher.is_enabled()

"""PyTorch's private names around the profiler: functions that drive it, switches, scopes."""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import sys

import pytest

import mindtorch_v2 as torch
from mindtorch_v2._C import _autograd, _profiler
from mindtorch_v2.autograd import profiler, profiler_util
from mindtorch_v2.profiler import profile, record_function

CPU = {torch.profiler.ProfilerActivity.CPU}


def config(**changes):
    flags = {
        "report_input_shapes": False,
        "profile_memory": False,
        "with_stack": False,
        "with_flops": False,
        "with_modules": False,
    }
    return torch.autograd.ProfilerConfig(
        torch.autograd.ProfilerState.KINETO, **(flags | changes), experimental_config=_profiler._ExperimentalConfig()
    )


def record(*, scopes=(), **flags):
    torch.autograd._prepare_profiler(config(**flags), CPU)
    torch.autograd._enable_profiler(config(**flags), CPU, set(scopes))
    with record_function("mine"):
        torch.ones(2) + torch.ones(2)
    return torch.autograd._disable_profiler()


def test_enable_and_disable_give_results():
    result = record(report_input_shapes=True)
    assert [(e.name(), e.shapes()) for e in result.events() if e.name() == "aten::add"] == [
        ("aten::add", [[2], [2], []])
    ]
    assert [node.name for node in result.experimental_event_tree()] == ["mine"]
    assert not torch.autograd._profiler_enabled()


def test_only_the_scopes_asked_for_are_kept():
    assert [e.name() for e in record(scopes={_profiler.RecordScope.USER_SCOPE}).events()] == ["mine"]
    assert "mine" not in [e.name() for e in record(scopes={_profiler.RecordScope.FUNCTION}).events()]


def test_disabling_what_does_not_run_gives_nothing(caplog):
    assert torch.autograd._disable_profiler().events() == []
    assert "no active profiling session" in caplog.text


def test_the_old_pair_gives_events_by_thread():
    torch.autograd._enable_profiler_legacy(config())
    assert _autograd._profiler_type() is _profiler.ActiveProfilerType.LEGACY
    torch.ones(2)
    lists = torch.autograd._disable_profiler_legacy()
    assert [[e.name() for e in events] for events in lists] == [["aten::ones", "aten::empty", "aten::fill_"]]
    with pytest.raises(RuntimeError, match="not running"):
        torch.autograd._disable_profiler_legacy()


def test_metadata_and_collection_reach_open_windows(tmp_path):
    with profile() as prof:
        torch.autograd._add_metadata_json("k", "[1, 2]")
        torch.autograd._toggle_collection_dynamic(False, CPU)
        torch.zeros(2)
        torch.autograd._toggle_collection_dynamic(True, CPU)
        torch.ones(2)
    prof.export_chrome_trace(tmp_path / "t.json")
    assert json.loads((tmp_path / "t.json").read_text())["k"] == [1, 2]
    assert {"aten::ones"} <= {e.name for e in prof.events()} and "aten::zeros" not in {e.name for e in prof.events()}


def test_profiler_type_follows_the_profile():
    assert _autograd._profiler_type() is _profiler.ActiveProfilerType.NONE
    with torch.autograd.profiler_legacy.profile():
        assert _autograd._profiler_type() is _profiler.ActiveProfilerType.LEGACY
    with profile():
        assert _autograd._profiler_type() is _profiler.ActiveProfilerType.KINETO


def test_scopes_by_operators():
    with profile(record_shapes=True) as prof:
        handle = torch.ops.profiler._record_function_enter_new("a", "text")
        torch.ones(2)
        torch.ops.profiler._record_function_exit(handle)
        handle = torch.autograd._record_function_with_args_enter("b", torch.ones(3), 5)
        torch.autograd._record_function_with_args_exit(handle)
    found = {e.name: e for e in prof.events() if e.is_user_annotation}
    assert list(found) == ["a", "b"] and [c.name for c in found["a"].cpu_children] == ["aten::ones"]
    assert found["b"].input_shapes == [[3], []] and found["b"].concrete_inputs == [None, 5]


def test_a_scope_that_nobody_keeps_has_ended():
    with profile() as prof:
        record_function("lost").__enter__()
        torch.ones(2)
        kept = record_function("kept")
        kept.__enter__()
        torch.zeros(2)
        del kept
        torch.ones(3)
    found = {e.name: e for e in prof.events() if e.is_user_annotation}
    assert found["lost"].cpu_children == [] and [c.name for c in found["kept"].cpu_children] == ["aten::zeros"]
    assert not any(e.is_async for e in found.values())


def test_the_scope_of_a_fast_record_function():
    with profile(record_shapes=True) as prof:
        for scope in ("user_scope", "function", "other"):
            with _profiler._RecordFunctionFast(scope, [torch.ones(2)], {"scope": scope}):
                pass
    found = [
        (e.name, e.is_user_annotation, e.scope, e.activity_type)
        for e in prof.events()
        if not e.name.startswith("aten::")
    ]
    assert found == [
        ("user_scope", True, 7, "user_annotation"),
        ("function", False, 0, "cpu_op"),
        ("other", False, 0, "cpu_op"),
    ]


def test_keyword_values_in_events_and_in_traces(tmp_path):
    values = {
        "n": 1,
        "f": 1.5,
        "b": True,
        "s": "x",
        "words": ["a", "b"],
        "none": None,
        "numbers": [1, 2],
        "mixed": ["a", 1],
        "empty": [],
    }
    with profile(record_shapes=True) as prof, _profiler._RecordFunctionFast("r", [], values):
        pass
    assert prof.events()[0].kwinputs == values
    prof.export_chrome_trace(tmp_path / "t.json")
    args = next(e for e in json.loads((tmp_path / "t.json").read_text())["traceEvents"] if e.get("name") == "r")["args"]
    assert {k: args[k] for k in values if k in args} == {k: values[k] for k in ("n", "f", "b", "s", "words", "empty")}


@pytest.mark.parametrize(
    "call, overload",
    [
        ("torch.add(x, x, out=x)", "out"),
        ("torch.mul(x, 2, out=x)", "out"),
        ("torch.sum(x, 0, out=torch.empty(2))", "IntList_out"),
        ("torch.exp(x, out=x)", "out"),
        ("torch.max(x, 0, out=(torch.empty(2), torch.empty(2, dtype=torch.int64)))", "dim_max"),
        ("torch.eq(x, 1, out=torch.empty(2, 2, dtype=torch.bool))", "Scalar_out"),
        ("torch.add(x, x)", "Tensor"),
        ("torch.zeros(2, out=torch.empty(2))", "out"),
        ("torch.arange(0, 3, 1, out=torch.empty(3))", "start_out"),
        ("torch.randint(0, 3, (2,), out=torch.empty(2, dtype=torch.int64))", "low_out"),
        ("torch.rand(2, out=torch.empty(2))", "out"),
        ("torch.rand(2)", ""),
        ("torch.randint(0, 3, (2,))", "low"),
        ("torch.rand(2, generator=torch.Generator())", "generator"),
    ],
)
def test_overloads_that_write_into_a_tensor(call, overload):
    x = torch.ones(2, 2)
    with profile(
        experimental_config=_profiler._ExperimentalConfig(capture_overload_names=True), record_shapes=True
    ) as prof:
        eval(call, {"torch": torch, "x": x})
    event = [e for e in prof.events() if e.cpu_parent is None][-1]
    assert event.overload_name == overload
    if "add" in call:
        assert len(event.input_shapes) == 3 + call.count("out=")
    if call.startswith(("torch.zeros", "torch.arange")):
        assert event.concrete_inputs == ([[2], None] if "zeros" in call else [0, 3, 1, None])


def test_switches_for_values_and_links():
    w = torch.ones(2, requires_grad=True)

    def links_and_values():
        with profile(record_shapes=True) as prof:
            (w * w).sum().backward()
        return sum(e.flow_id > 0 for e in prof.events()), prof.events()[0].concrete_inputs

    assert links_and_values() == (4, [None, None])
    _profiler._set_fwd_bwd_enabled_val(False)
    _profiler._set_record_concrete_inputs_enabled_val(False)
    try:
        assert links_and_values() == (0, [])
    finally:
        _profiler._set_fwd_bwd_enabled_val(True)
        _profiler._set_record_concrete_inputs_enabled_val(True)


def test_names_and_their_rewriting():
    assert (profiler_util.MEMORY_EVENT_NAME, profiler_util.OUT_OF_MEMORY_EVENT_NAME) == ("[memory]", "[OutOfMemory]")
    assert [
        n
        for n in ("aten::add", "[memory]", "aten::is_leaf", "profiler::_record_function_exit")
        if profiler._filter_name(n)
    ] == ["[memory]", "aten::is_leaf", "profiler::_record_function_exit"]
    assert profiler._rewrite_name("ProfilerStep#3") == "ProfilerStep#3"
    assert profiler._rewrite_name("ProfilerStep#3", with_wildcard=True) == "ProfilerStep*"
    assert profiler._filter_stack_entry("x.py(1): forward") and not profiler._filter_stack_entry(
        "autograd/__init__.py(9): backward"
    )
    assert torch.profiler.profiler._default_schedule_fn(3) is torch.profiler.ProfilerAction.RECORD


def test_signatures_are_pytorchs():
    assert str(inspect.signature(profiler_util._rewrite_name)).startswith("(name")
    assert list(inspect.signature(torch.autograd.ProfilerConfig).parameters) == [
        "state",
        "report_input_shapes",
        "profile_memory",
        "with_stack",
        "with_flops",
        "with_modules",
        "experimental_config",
        "trace_id",
    ]
    assert list(inspect.signature(torch.autograd._enable_profiler).parameters) == ["config", "activities", "scopes"]


def test_tracebacks():
    taken = _profiler.gather_traceback()
    (frames,) = _profiler.symbolize_tracebacks([taken])
    assert frames[0]["name"] == "test_tracebacks" and frames[0]["filename"] == __file__ and frames[0]["line"] > 1


def test_the_directory_for_further_files_stays_known(tmp_path, monkeypatch):
    monkeypatch.setenv("ENABLE_PYTORCH_EXECUTION_TRACE", "1")
    monkeypatch.setenv("ENABLE_PYTORCH_EXECUTION_TRACE_EXTRAS", "1")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with profile() as prof:
        torch.ones(2)
    observer = prof.execution_trace_observer
    path = observer.get_output_file_path()
    assert not observer.is_registered and observer.get_resources_dir() == path.removesuffix(".json") + "_resources"
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(
        [path.rpartition("/")[2], observer.get_resources_dir().rpartition("/")[2]]
    )


def test_the_process_wide_execution_trace_observer(tmp_path):
    assert _profiler._add_execution_trace_observer(str(tmp_path / "a.json"))
    assert not _profiler._add_execution_trace_observer(str(tmp_path / "b.json"))
    _profiler._enable_execution_trace_observer()
    torch.ones(2)
    _profiler._disable_execution_trace_observer()
    _profiler._remove_execution_trace_observer()
    names = [node["name"] for node in json.loads((tmp_path / "a.json").read_text())["nodes"]]
    assert "aten::ones" in names


def test_what_a_trace_shows_of_an_event(tmp_path):
    x = torch.ones(3)
    with profile(
        profile_memory=True, experimental_config=_profiler._ExperimentalConfig(expose_kineto_event_metadata=True)
    ) as prof:
        y = x + x
        del y
        x * x
    prof.export_chrome_trace(tmp_path / "t.json")
    indices = {
        e["args"]["External id"]: e["args"]["Ev Idx"]
        for e in json.loads((tmp_path / "t.json").read_text())["traceEvents"]
        if e.get("cat") == "cpu_op"
    }
    with pytest.warns(FutureWarning, match="metadata_json"):
        told = {e.id: e.metadata_json for e in prof.events() if e.name != "[memory]"}
    assert told == {number: f'"Ev Idx": {index}' for number, index in indices.items()} and len(told) == 2
    assert [e.metadata_json() for e in prof.profiler.kineto_results.events()][0] == '"Ev Idx": 0'
    with profile() as plain:
        x + x
    assert plain.events()[0]._metadata_json == ""


def test_steps_and_python_calls_do_not_overlap_in_part():
    def helper(prof):
        torch.ones(2) + 1
        prof.step()

    with profile(
        with_stack=True,
        schedule=torch.profiler.schedule(wait=0, warmup=1, active=3, repeat=1),
        experimental_config=_profiler._ExperimentalConfig(adjust_profiler_step=True),
    ) as prof:
        for _ in range(4):
            helper(prof)
    store = prof.profiler.store
    slices = [(int(a), int(b), store.name_of(i)) for i, (a, b) in enumerate(zip(store.start_ns, store.end_ns))]
    steps = [s for s in slices if "ProfilerStep" in s[2]]
    helpers = [s for s in slices if "helper" in s[2]]
    assert len(steps) == 3 and helpers
    for a, b, _ in steps:
        for c, d, _ in helpers:
            assert b <= c or d <= a or (a <= c and d <= b) or (c <= a and b <= d)


def test_optimizers_count_steps_for_a_daemon():
    code = """
import mindtorch_v2 as torch
from mindtorch_v2.autograd.profiler import KinetoStepTracker
import mindtorch_v2.profiler
w = torch.ones(2, requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.1)
for _ in range(3):
    optimizer.step()
with torch.profiler.profile(schedule=torch.profiler.schedule(wait=0, warmup=1, active=2)) as prof:
    for _ in range(4):
        optimizer.step()
        prof.step()
print(KinetoStepTracker.current_step())
"""
    for daemon, steps in (("1", "7"), ("", "0")):
        found = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", code],
            env={**os.environ, "KINETO_USE_DAEMON": daemon},
            capture_output=True,
            text=True,
            check=True,
        )
        assert found.stdout.strip() == steps


def test_parsing_with_a_limit():
    with torch.autograd.profiler.profile() as prof:
        torch.ones(2)
    result = prof.kineto_results
    assert len(prof._parse_kineto_results(result, timeout_s=60.0)) == len(prof._parse_kineto_results(result)) == 3
    assert prof._parse_kineto_results(result, timeout_s=0.0) == []
    with pytest.raises(ValueError, match="timeout_s must be non-negative"):
        prof._parse_kineto_results(result, timeout_s=-1.0)


def test_what_profiling_cost_is_told():
    with profile() as prof:
        torch.ones(2)
    stats = prof._stats()
    assert stats.number_of_events == stats.function_events_build_tree_call_duration_us == 0
    prof.events()
    assert stats.number_of_events == 3
    assert all(value > 0 for value in vars(stats).values())


def test_names_that_are_loaded_when_asked_for():
    code = """
import sys
import mindtorch_v2 as torch
import mindtorch_v2.profiler
print([name for name in ("_utils", "_pattern_matcher", "_event_tree", "_low_level") if f"mindtorch_v2.profiler.{name}" in sys.modules])
print(torch.profiler._utils.traverse_bfs.__name__, torch.profiler.Optimizer is torch.optim.Optimizer, torch._C._profiler.RecordScope(7).name)
print(hasattr(torch.profiler, "no_such_name"))
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.splitlines() == ["[]", "traverse_bfs True USER_SCOPE", "False"]


def test_overloads_of_the_scope_operators():
    with profile() as prof:
        handle = torch.ops.profiler._record_function_enter_new.default("a")
        torch.ops.profiler._record_function_exit._RecordFunction(handle)
    assert [e.name for e in prof.events()] == ["a"]

"""Scopes nest by what was open when they began, whatever Python frames come and go."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterator

import numpy as np
import pytest

import mindtorch_v2 as torch
from mindtorch_v2.profiler import profile, record_function, schedule
from mindtorch_v2.profiler.analysis.validate import validate
from mindtorch_v2.profiler.record.kinds import Flag, Kind
from mindtorch_v2.profiler.results.loaded import load

from ..hand_made import E, make_store
from ..helpers import assert_tracks_nest, names, store_of

x = torch.ones(2, 2)


@contextlib.contextmanager
def region(name: str) -> Iterator[None]:
    with record_function(name):
        yield


class Region:
    def __init__(self, name: str) -> None:
        self.scope = record_function(name)

    def __enter__(self) -> Region:
        self.scope.__enter__()
        return self

    def __exit__(self, *exc: object) -> None:
        self.scope.__exit__(*exc)


def outline(prof: object) -> list[object]:
    """The events without Python calls, as nested [name, children]."""

    def of(event: object) -> list[object]:
        return [event.name, [of(child) for child in event.cpu_children]]

    assert not [e.name for e in prof.events() if e.is_async]
    return [of(event) for event in prof.events() if event.cpu_parent is None]


ADD = ["aten::add", []]


@pytest.mark.parametrize("make", [region, Region, record_function])
def test_a_scope_opened_through_a_helper_keeps_its_children(make, clock):
    with profile(with_stack=True) as prof:
        x + x
        with make("r"):
            x + x
            with make("inner"):
                x + x
        x + x
    assert outline(prof) == [ADD, ["r", [ADD, ["inner", [ADD]]]], ADD]
    assert prof.validate() == []


def test_scopes_of_an_exit_stack(clock):
    with profile(with_stack=True) as prof, contextlib.ExitStack() as stack:
        stack.enter_context(region("a"))
        x + x
        stack.enter_context(region("b"))
        x + x
    assert outline(prof) == [["a", [ADD, ["b", [ADD]]]]]


def test_python_calls_that_cross_a_scope_end_at_its_boundary(clock):
    with profile(with_stack=True) as prof, region("r"):
        x + x
    store = store_of(prof)
    row = names(store).index("r")
    assert store.kind[store.parent[row]] == Kind.PYTHON and "test_python_calls" in store.name_of(store.parent[row])
    opened = [i for i, name in enumerate(names(store)) if name.endswith("__enter__") or name.endswith("__exit__")]
    assert [bool(store.end_ns[i] == store.start_ns[row]) for i in opened] == [True, False]
    assert store.end_ns[opened[1]] == store.end_ns[row] and store.parent[opened[1]] == row


def test_an_exception_through_scopes(clock):
    with profile(with_stack=True) as prof:
        with contextlib.suppress(KeyError), region("outer"), Region("inner"):
            x + x
            raise KeyError
        x + x
    assert outline(prof) == [["outer", [["inner", [ADD]]]], ADD]


def test_a_scope_left_open_by_a_function(clock):
    def begin() -> record_function:
        return record_function("long").__enter__()

    def finish(scope: record_function) -> None:
        scope.__exit__(None, None, None)
        x + x

    with profile(with_stack=True) as prof, record_function("around"):
        scope = begin()
        x + x
        finish(scope)
        x + x
    assert outline(prof) == [["around", [["long", [ADD]], ADD, ADD]]]


@pytest.mark.parametrize("with_stack", [False, True])
def test_a_scope_that_nobody_closed_ends_with_the_scope_around_it(with_stack, clock):
    def begin() -> record_function:
        return record_function("forgotten").__enter__()

    def run() -> record_function:
        with record_function("outer"), record_function("around"):
            forgotten = begin()
            x + x
            with record_function("inner"):
                x + x
        x + x
        return forgotten

    with profile(with_stack=with_stack) as prof:
        forgotten = run()
        x + x
    store = store_of(prof)
    assert outline(prof) == [["outer", [["around", [["forgotten", [ADD, ["inner", [ADD]]]]]]]], ADD, ADD]
    around, row = (names(store).index(name) for name in ("around", "forgotten"))
    assert store.flags[row] == Flag.UNFINISHED and store.end_ns[row] == store.end_ns[around]
    assert prof.validate() == []
    forgotten.__exit__(None, None, None)


def test_functions_that_run_when_the_window_ends_enclose_the_scope_that_is_open_then(clock):
    def run(prof: profile) -> None:
        with record_function("open at the end"):
            x + x
            prof.stop()

    prof = profile(with_stack=True)
    prof.start()
    run(prof)
    store = store_of(prof)
    row, add = (names(store).index(name) for name in ("open at the end", "aten::add"))
    caller = int(store.parent[row])
    assert store.name_of(caller).endswith(": run") and store.flags[row] == Flag.UNFINISHED
    assert store.start_ns[caller] < store.start_ns[row] < store.end_ns[add] < store.end_ns[row] <= store.end_ns[caller]


def test_optimizers_show_their_operators_and_nothing_of_the_recorder():
    model = torch.nn.Linear(2, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model(x).sum().backward()
    with profile(with_stack=True) as prof:
        optimizer.step()
        optimizer.zero_grad(set_to_none=False)
    scopes = {e.name: e for e in prof.events() if e.name.startswith("Optimizer.")}
    step, zero = scopes["Optimizer.step#SGD.step"], scopes["Optimizer.zero_grad#SGD.zero_grad"]
    assert not step.is_async and not zero.is_async and step.cpu_children and zero.cpu_children
    found = set(names(store_of(prof)))
    assert not [name for name in found if "leave" in name or "enter_scope" in name]


@pytest.mark.filterwarnings("ignore:Profiler won't be using warmup")
def test_steps_inside_a_function_that_outlives_them(clock):
    def train(prof: object) -> None:
        for _ in range(2):
            with region("work"):
                x + x
            prof.step()

    with profile(with_stack=True, schedule=schedule(wait=0, warmup=0, active=2, repeat=1)) as prof:
        train(prof)
    assert [name for name, _ in outline(prof)] == ["ProfilerStep*", "ProfilerStep*"]
    assert [children for _, children in outline(prof)] == [[["work", [ADD]]], [["work", [ADD]]]]


def test_only_what_outlives_its_scope_is_asynchronous(clock):
    with profile(with_stack=True) as prof:
        outer, inner = record_function("outer"), record_function("inner")
        outer.__enter__()
        inner.__enter__()
        x + x
        outer.__exit__(None, None, None)
        with region("later"):
            x + x
        inner.__exit__(None, None, None)
    assert {e.name: e.is_async for e in prof.events()} == {
        "outer": False,
        "inner": True,
        "aten::add": False,
        "later": False,
    }
    assert prof.validate() == []


def test_what_begins_in_an_asynchronous_scope_nests_without_it(clock):
    with profile() as prof:
        z, a, b = record_function("z"), record_function("a"), record_function("b")
        z.__enter__()
        a.__enter__()
        z.__exit__(None, None, None)
        b.__enter__()
        a.__exit__(None, None, None)
        x + x
        b.__exit__(None, None, None)
    assert {e.name: e.is_async for e in prof.events()} == {"z": False, "a": True, "b": False, "aten::add": False}
    assert prof.validate() == []


def test_another_thread_that_ends_a_scope_is_known(clock):
    with profile() as prof:
        scope = record_function("handed over").__enter__()
        x + x
        other = threading.Thread(target=scope.__exit__)
        other.start()
        other.join()
    store = store_of(prof)
    row = names(store).index("handed over")
    assert (
        store.flags[row] == Flag.ASYNC and store.end_thread[row] > 0 and (np.delete(store.end_thread, row) == 0).all()
    )
    assert prof.validate() == []


def test_validate_notices_a_scope_that_lost_its_children():
    events = [
        E("f.py(1): main", 0, 100, Kind.PYTHON),
        E("f.py(2): helper", 5, 9, Kind.PYTHON),
        E("r", 8, 50, Kind.SCOPE, flags=Flag.ASYNC),
        E("aten::add", 20, 30),
    ]
    assert [finding.check for finding in validate(make_store(events, with_stack=True))] == ["asynchronous"]
    events[2] = E("r", 8, 25, Kind.SCOPE, flags=Flag.ASYNC)  # overlaps partly with an operator
    assert validate(make_store(events, with_stack=True)) == []


@pytest.mark.parametrize("asynchronous", [False, True])
def test_traces_have_tracks_that_viewers_accept(asynchronous, tmp_path, clock):
    with profile(with_stack=True, with_modules=True) as prof:
        outer, inner = record_function("outer"), record_function("inner")
        outer.__enter__()
        inner.__enter__()
        torch.nn.Linear(2, 2)(x)
        with region("r"):
            x + x
        (outer if asynchronous else inner).__exit__(None, None, None)
        x + x
        (inner if asynchronous else outer).__exit__(None, None, None)
    path = tmp_path / "t.json"
    prof.export_chrome_trace(str(path))
    assert_tracks_nest(path)
    named = [e["args"]["name"] for e in json.loads(path.read_text())["traceEvents"] if e["name"] == "thread_name"]
    assert [n for n in named if n.startswith("asynchronous")] == (["asynchronous 1"] if asynchronous else [])
    again = load(path).store
    assert {again.name_of(i) for i in np.flatnonzero(again.flags & Flag.ASYNC)} == (
        {"inner"} if asynchronous else set()
    )
    assert validate(again) == []


def trace_of(slices: list[tuple[str, str, float, float]]) -> dict[str, object]:
    return {
        "traceEvents": [
            {"ph": "X", "cat": cat, "name": name, "pid": 1, "tid": 1, "ts": ts, "dur": end - ts, "args": {}}
            for cat, name, ts, end in slices
        ]
    }


def test_annotations_of_a_loaded_trace_nest_in_spite_of_python_calls(tmp_path):
    path = tmp_path / "t.json"
    path.write_text(
        json.dumps(
            trace_of(
                [
                    ("python_function", "main", 0.0, 100.0),
                    ("python_function", "__enter__", 1.0, 4.0),
                    ("python_function", "helper", 1.5, 3.5),
                    ("user_annotation", "r", 3.0, 50.0),
                    ("cpu_op", "aten::add", 10.0, 20.0),
                    ("python_function", "__exit__", 48.0, 60.0),
                    ("python_function", "after", 52.0, 58.0),
                    ("cpu_op", "aten::mul", 53.0, 54.0),
                    ("cpu_op", "aten::sub", 70.0, 71.0),
                ]
            )
        )
    )
    store = load(path).store
    parents = {store.name_of(i): store.name_of(int(p)) if p >= 0 else None for i, p in enumerate(store.parent)}
    assert parents == {
        "main": None,
        "__enter__": "main",
        "helper": "__enter__",
        "r": "main",
        "aten::add": "r",
        "__exit__": "r",
        "after": "main",
        "aten::mul": "after",
        "aten::sub": "main",
    }
    ends = {store.name_of(i): (end - store.start_ns[0]) // 1000 for i, end in enumerate(store.end_ns.tolist())}
    assert (ends["__enter__"], ends["helper"], ends["r"], ends["__exit__"]) == (3, 3, 50, 50)
    assert not store.flags.any() and validate(store) == []


def test_a_recorded_trace_of_helpers_comes_back(tmp_path, clock):
    with profile(with_stack=True) as prof, region("r"):
        x + x
        with Region("s"):
            x + x
    prof.export_chrome_trace(str(tmp_path / "t.json"))
    before, after = store_of(prof), load(tmp_path / "t.json").store
    assert [(before.name_of(i), int(before.parent[i])) for i in range(len(before))] == [
        (after.name_of(i), int(after.parent[i])) for i in range(len(after))
    ]


def test_annotations_of_a_loaded_trace_have_the_device_time_of_what_they_launched(tmp_path):
    def event(cat: str, name: str, ts: float, end: float, pid: int = 1, tid: int = 1, **args: int) -> dict[str, object]:
        return {"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": end - ts, "args": args}

    path = tmp_path / "t.json"
    path.write_text(
        json.dumps(
            {
                "traceEvents": [
                    event("python_function", "main", 0.0, 100.0),
                    event("python_function", "__enter__", 1.0, 4.0),
                    event("user_annotation", "r", 3.0, 50.0),
                    event("cpu_op", "aten::mm", 10.0, 20.0, **{"External id": 7}),
                    event("cuda_runtime", "cudaLaunchKernel", 12.0, 13.0, correlation=5),
                    event("kernel", "gemm", 15.0, 45.0, pid=0, tid=7, correlation=5, device=0, stream=7),
                    event("python_function", "__exit__", 49.0, 60.0),
                ]
            }
        )
    )
    found = {e.name: e for e in load(path).events()}
    assert [child.name for child in found["r"].cpu_children] == ["aten::mm"]
    assert (found["r"].device_time_total, found["aten::mm"].device_time_total, found["r"].is_async) == (
        30.0,
        30.0,
        False,
    )


def test_self_times_of_a_training_loop_add_up():
    """Of a training loop with stacks, the scopes of the optimizer have their operators' time, and self times sum to
    the steps' time.
    """
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4))
    optimizer = torch.optim.Adam(model.parameters())
    batch = torch.randn(4, 8)
    with profile(with_stack=True, profile_memory=True) as prof:
        for i in range(5):
            with region(f"step {i}"):
                optimizer.zero_grad()
                model(batch).sum().backward()
                optimizer.step()
    events = prof.events()
    assert not any(e.is_async for e in events) and prof.validate() == []
    steps = [e for e in events if e.name.startswith("step ")]
    roots = [e for e in events if e.cpu_parent is None]
    assert len(steps) == 5
    assert sum(e.self_cpu_time_total for e in events) == pytest.approx(sum(e.cpu_time_total for e in roots))
    for step in (e for e in events if e.name == "Optimizer.step#Adam.step"):
        assert step.cpu_parent.name.startswith("step ") and step.cpu_children
        inside = sum(child.cpu_time_total for child in step.cpu_children)
        assert step.self_cpu_time_total == pytest.approx(step.cpu_time_total - inside)

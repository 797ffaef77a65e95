"""Traces in JSON, of this profiler and of PyTorch's dialects, as profiles."""

from __future__ import annotations

import json

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.profiler import load
from mindtorch_v2.profiler.export import chrome_trace
from mindtorch_v2.profiler.record.kinds import Flag, Kind

from ..export.trace_rules import assert_trace_is_sound
from ..export.trace_rules import load as load_json
from ..hand_made import E, M, make_store, tensors
from .traces import BACK, BASE, PID, TID, gpu_events, named, write, x


def device_times(profile):
    return {
        (row.key, row.device_type.name): (row.self_device_time_total, row.device_time_total)
        for row in profile.key_averages()
        if row.device_time_total
    }


EXPECTED = {
    ("aten::addmm", "CPU"): (12.25, 12.25),
    ("aten::linear", "CPU"): (0, 12.25),
    ("aten::copy_", "CPU"): (4, 4),
    ("ProfilerStep*", "CPU"): (3, 19.25),
    ("autograd::engine::evaluate_function: AddmmBackward0", "CPU"): (0, 9),
    ("AddmmBackward0", "CPU"): (0, 9),
    ("aten::mm", "CPU"): (9, 9),
    ("gemm<float, 4>", "CUDA"): (20.25, 20.25),
    ("second of a graph", "CUDA"): (1, 1),
    ("triton_fused", "CUDA"): (3, 3),
    ("Memcpy HtoD (Pageable -> Device)", "CUDA"): (4, 4),
    ("Memset (Device)", "CUDA"): (0.5, 0.5),
    ("ProfilerStep*", "CUDA"): (50, 50),
}


@pytest.mark.parametrize("name", ["t.json", "t.json.gz"])
@pytest.mark.parametrize("external", [True, False])
def test_device_time_belongs_to_what_launched_it(tmp_path, name, external):
    prof = load(write(tmp_path / name, gpu_events(external=external)))
    assert device_times(prof) == EXPECTED and prof.use_device == "cuda" and prof.validate() == []
    table = prof.key_averages().table(sort_by="self_cuda_time_total")
    assert "Self CUDA time total: 28.750us" in table and "CUDA total" in table
    assert prof.events().table(row_limit=1).splitlines()[-2] == "Self CUDA time total: 28.750us"


def test_events(tmp_path):
    prof = load(write(tmp_path / "t.json", gpu_events()))
    events = {e.name: e for e in prof.events() if e.device_type == "CPU"}
    addmm = events["aten::addmm"]
    assert [tuple(k) for k in addmm.kernels] == [
        ("gemm<float, 4>", 0, 12.25)
    ] and addmm.cpu_parent.name == "aten::linear"
    assert (addmm.device_time_total, addmm.self_device_time_total, addmm.sequence_nr) == (12.25, 12.25, 7)
    assert [c.name for c in addmm.cpu_children] == ["cudaLaunchKernel"] and events[
        "cudaMemcpyAsync"
    ].activity_type == "cuda_runtime"
    kernel = next(e for e in prof.events() if e.name == "gemm<float, 4>")
    assert (kernel.device_type, kernel.device_index, kernel.device_resource_id, kernel.activity_type) == (
        "CUDA",
        0,
        7,
        "kernel",
    )
    assert kernel.linked_correlation_id == addmm.id and kernel["kind"] == "kernel" and kernel["step"] == 4
    assert kernel.kwinputs == {"grid": [2, 1, 1], "block": [32, 1, 1]} and kernel.cpu_time_total == 0
    linear = events["aten::linear"]
    assert (linear.input_shapes, linear.concrete_inputs, linear.input_dtypes) == (
        [[2, 3], [4, 3], []],
        [None, None, 1.0],
        ["float", "float", "Scalar"],
    )
    backward = events["AddmmBackward0"]
    assert (backward.scope, backward.fwd_thread, backward.flow_start, addmm.flow_id) == (1, 1, False, backward.flow_id)
    assert (addmm.thread, addmm.device_resource_id, backward.device_resource_id) == (1, TID, BACK)
    assert prof.metadata == {"distributedInfo": {"rank": 3}} and prof.store.metadata.epoch_offset_ns == BASE
    sync = next(e for e in prof.events() if e.name == "Context Sync")
    assert sync.device_time_total == 0 and sync.time_range.elapsed_us() == 4


@pytest.mark.parametrize(
    "runtime, device, title",
    [("cuda", "cuda", "CUDA"), ("xpu", "xpu", "XPU"), ("privateuse1", "privateuseone", "PRIVATEUSEONE")],
)
def test_exports_of_a_loaded_trace(tmp_path, runtime, device, title):
    first = load(write(tmp_path / "t.json", gpu_events(runtime)))
    assert first.use_device == device and f"Self {title}" in first.table()
    first.export_chrome_trace(tmp_path / "again.json")
    trace = load_json(tmp_path / "again.json")
    assert_trace_is_sound(trace)
    kernel = next(e for e in trace["traceEvents"] if e.get("cat") == "kernel")
    assert (kernel["pid"], kernel["tid"], kernel["args"]["correlation"], kernel["args"]["grid"]) == (
        0,
        7,
        901,
        [2, 1, 1],
    )
    assert {e["cat"] for e in trace["traceEvents"] if e["ph"] == "X"} >= {
        f"{runtime}_runtime",
        "overhead",
        "gpu_user_annotation",
        "cuda_sync",
    }
    assert sum(e["ph"] == "s" and e["cat"] == "ac2g" for e in trace["traceEvents"]) == 5
    assert trace["deviceProperties"] == [{"id": 0, "name": "GPU"}] and trace["distributedInfo"] == {"rank": 3}
    second = load(tmp_path / "again.json")
    assert second.table() == first.table() and device_times(second) == device_times(first)
    first.save(tmp_path / "p.prof")
    assert load(tmp_path / "p.prof").table() == first.table()


def test_correlation_goes_before_the_named_operator_and_that_before_nothing(tmp_path):
    events = [
        x("cpu_op", "a", 0, 10, External_id=1),
        x("cpu_op", "b", 20, 10, External_id=2),
        x("cuda_runtime", "cudaLaunchKernel", 1, 2, External_id=2, correlation=50),
        x("kernel", "nested", 40, 1, 0, 7, External_id=2, correlation=50),
        x("kernel", "named", 42, 2, 0, 7, External_id=2, correlation=51),
        x("kernel", "nobody's", 45, 4, 0, 7, External_id=77, correlation=52),
        x("cuda_runtime", "cudaLaunchKernel", 15, 2, tid=999, External_id=1, correlation=53),
        x("kernel", "from a thread of its own", 50, 8, 0, 7, External_id=1, correlation=53),
    ]
    times = device_times(load(write(tmp_path / "t.json", events)))
    assert (times["a", "CPU"], times["b", "CPU"]) == ((9, 9), (2, 2)) and ("cudaLaunchKernel", "CPU") not in times


def test_whole_microseconds(tmp_path):
    """Ends that were cut to microseconds may lie one after that of the event around them."""
    base = 1_695_835_542_514_261
    events = [
        x("cpu_op", "aten::a", base, 9),
        x("cpu_op", "aten::b", base + 1, 9),
        x("cuda_runtime", "cudaLaunchKernel", base + 2, 8, correlation=5),
        x("kernel", "k", base + 20, 3, 0, 7, correlation=5),
        x("cpu_op", "aten::late", base + 5, 100),
    ]
    prof = load(write(tmp_path / "t.json", events, baseTimeNanoseconds=None))
    assert [(e.name, e.cpu_parent and e.cpu_parent.name, e.is_async) for e in prof.events()][:4] == [
        ("aten::a", None, False),
        ("aten::b", "aten::a", False),
        ("cudaLaunchKernel", "aten::b", False),
        ("aten::late", None, True),
    ]
    assert (
        prof.validate() == []
        and prof.store.start_ns[0] == base * 1000
        and device_times(prof)["aten::b", "CPU"] == (3, 3)
    )


def test_nanoseconds_since_1970(tmp_path):
    """No double holds these; they are read as they are written."""
    text = (
        '[{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":1695835542514261.123,"dur":10.001,"args":{"External id":1}},\n'
        '{"ph":"X","cat":"cpu_op","name":"b","pid":1,"tid":1,"ts":1695835542514261.124,"dur":10.000,"args":{"x":0.5}}]'
    )
    (tmp_path / "t.json").write_text(text)
    store = load(tmp_path / "t.json").store
    assert store.start_ns.tolist() == [1695835542514261123, 1695835542514261124] and store.parent.tolist() == [-1, 0]
    assert store.end_ns.tolist() == [1695835542514271124] * 2 and store.inputs[0].keywords == (("x", 0.5),)


def rows(source):
    """What averages say, by name and shapes."""
    return [
        (
            r.key,
            r.count,
            r.cpu_time_total,
            r.self_cpu_time_total,
            r.cpu_memory_usage,
            r.flops,
            r.is_user_annotation,
            r.input_shapes,
        )
        for r in source.key_averages(group_by_input_shape=True)
    ]


def facts(source):
    """What events say; times from the first one on."""
    return [
        (
            e.name,
            e["start_ns"] - source.events()[0]["start_ns"],
            e["step"],
            e.sequence_nr,
            e.fwd_thread,
            e.thread,
            e.flow_id,
            e.scope,
            e["kind"],
            e.concrete_inputs,
            e.structured_input_strides,
            e.cpu_parent and e.cpu_parent.name,
        )
        for e in source.events()
    ]


def test_our_own_trace_comes_back(tmp_path):
    with torch.profiler.profile(
        record_shapes=True,
        profile_memory=True,
        with_stack=True,
        with_flops=True,
        schedule=torch.profiler.schedule(wait=0, warmup=1, active=2, repeat=1),
    ) as prof:
        model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU())
        for _ in range(3):
            model(torch.ones(3, 4)).sum().backward()
            prof.step()
    prof.export_chrome_trace(str(tmp_path / "t.json.gz"))
    loaded = load(tmp_path / "t.json.gz")
    assert (
        loaded.validate() == []
        and (loaded.record_shapes, loaded.profile_memory, loaded.with_stack, loaded.with_flops) == (True,) * 4
    )

    assert rows(loaded) == rows(prof)

    assert facts(loaded) == facts(prof)
    loaded.export_chrome_trace(tmp_path / "u.json.gz")
    again = load(tmp_path / "u.json.gz")
    assert again.store == loaded.store and again.table() == loaded.table()
    loaded.export_stacks(tmp_path / "s.txt")
    loaded.export_memory_timeline(tmp_path / "m.json")
    assert (tmp_path / "s.txt").read_text() and len(json.loads((tmp_path / "m.json").read_text())[0]) > 1


def test_details_come_back(tmp_path):
    store = make_store(
        [
            E("scope", 0, 90_000, Kind.SCOPE, flags=Flag.UNFINISHED),
            E("aten::f", 1_000, 2_000, inputs=tensors((2,), values=(3, 1.5, True, (1, 2), None))),
            E("late", 50_000, 150_000, Kind.SCOPE, flags=Flag.ASYNC),
            E('aten::odd "\\ \ud800 é', 3_000, 4_000, stack=["a.py(1): f", "b.py(2): g"]),
            E("custom", 5_000, 6_000, Kind.FUNCTION),
            E("aten::w", 10_000, 20_000, thread=1),
        ],
        [M(1_500, 9, 64), M(160_000, 9, -64)],
        threads=2,
        record_shapes=True,
        verbose=True,
        with_stack=True,
        profile_memory=True,
        epoch_offset_ns=BASE,
        user={"note": '"x"'},
        dropped_events=5,
    )
    chrome_trace.write(store, tmp_path / "t.json")
    loaded = load(tmp_path / "t.json")
    a, b = store, loaded.store
    assert [b.name_of(i) for i in range(len(b))] == [a.name_of(i) for i in range(len(a))]
    for column in ("kind", "flags", "parent", "thread"):
        assert b.columns[column].tolist() == a.columns[column].tolist(), column
    assert (b.start_ns + b.metadata.epoch_offset_ns - a.start_ns == BASE).all() and b.inputs == a.inputs
    assert b.stack_of(2) == ["a.py(1): f", "b.py(2): g"] and b.memory.row.tolist() == a.memory.row.tolist()
    assert (
        [t[:3] for t in b.threads] == [t[:3] for t in a.threads]
        and loaded.metadata == {"note": "x"}
        and loaded.dropped_events == 5
    )


def test_python_calls_make_stacks(tmp_path):
    events = [
        x("python_function", "m.py(1): main", 0, 100, Python_id=1),
        x("python_function", "nn.Module: Linear_0", 10, 50, Python_id=2),
        x("cpu_op", "aten::linear", 20, 10, External_id=1),
        x("python_function", "<built-in function len>", 70, 5),
        x("cpu_op", "aten::b", 80, 1),
    ]
    prof = load(write(tmp_path / "t.json", events))
    assert [(e.name, e.stack) for e in prof.events()] == [
        ("aten::linear", ["nn.Module: Linear_0", "m.py(1): main"]),
        ("aten::b", ["m.py(1): main"]),
    ]
    assert prof.store.kind.tolist() == [Kind.PYTHON, Kind.MODULE, Kind.OP, Kind.BUILTIN, Kind.OP]


def test_a_plain_list(tmp_path):
    prof = load(write(tmp_path / "t.json", []))
    assert len(prof.events()) == 0 and prof.table() == "" and prof.validate() == []
    store = make_store([E("a", 0, 1_000), E("b", 100, 200)])
    from mindtorch_v2.profiler.results.event_list import build_events

    build_events(store).export_chrome_trace(tmp_path / "list.json")
    assert [(e.name, e.cpu_time_total) for e in load(tmp_path / "list.json").events()] == [("a", 1.0), ("b", 0.1)]


def test_several_processes_stay_apart(tmp_path):
    """Two processes whose threads have the same number: nothing of one lies inside the other, also when written
    again and saved.
    """
    events = [
        named("process_name", PID, 0, "trainer"),
        named("process_name", 700, 0, "loader"),
        named("thread_name", PID, 7, "thread 7 (main)"),
        named("thread_name", 700, 7, "thread 7 (worker)"),
        x("cpu_op", "aten::mm", 0.0, 100.0, tid=7),
        x("cpu_op", "aten::add", 10.0, 5.0, tid=7),
        x("cpu_op", "aten::stack", 20.0, 30.0, 700, 7),
        x("user_annotation", "sample", 25.0, 5.0, 700, 7),
    ]
    write(tmp_path / "a.json", events)
    loaded = load(tmp_path / "a.json")
    loaded.save(tmp_path / "a.store")
    load(tmp_path / "a.store").export_chrome_trace(tmp_path / "b.json")
    written = load_json(tmp_path / "b.json")
    assert_trace_is_sound(written)
    slices = {e["name"]: (e["pid"], e["tid"]) for e in written["traceEvents"] if e["ph"] == "X" and e["cat"] != "Trace"}
    assert slices == {"aten::mm": (PID, 7), "aten::add": (PID, 7), "aten::stack": (700, 7), "sample": (700, 7)}
    names = {
        (e["name"], e["pid"], e["tid"]): e["args"]["name"]
        for e in written["traceEvents"]
        if e["ph"] == "M" and "name" in e["args"]
    }
    assert names["process_name", PID, 0] == "trainer" and names["process_name", 700, 0] == "loader"
    assert names["thread_name", PID, 7] == "thread 7 (main)" and names["thread_name", 700, 7] == "thread 7 (worker)"
    again = load(tmp_path / "b.json")
    by_name = {e.name: e for e in again.events()}
    assert by_name["sample"].cpu_parent is by_name["aten::stack"] and by_name["aten::stack"].cpu_parent is None
    assert by_name["aten::stack"].device_index == 700 and by_name["aten::mm"].device_index == PID

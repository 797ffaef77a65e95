"""The profiler shows what ran on the device, when, and who launched it."""

from __future__ import annotations

import json

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.profiler import ProfilerActivity, profile, record_function

npu = torch.npu
NPU = ProfilerActivity.NPU


def traced(prof, tmp_path):
    prof.export_chrome_trace(str(tmp_path / "trace.json"))
    return json.loads((tmp_path / "trace.json").read_text())


def of(trace, category):
    return [e for e in trace["traceEvents"] if e.get("cat") == category and e["ph"] == "X"]


def test_profiler_npu_event_device_type():
    with profile() as prof:
        x = torch.ones((2, 2), device="npu")
        x + x
    assert any(e["device_type"] == "NPU" for e in prof.events())


def test_the_npu_is_recorded_by_default_and_can_be_left_out():
    from mindtorch_v2.profiler import supported_activities

    assert NPU in supported_activities()
    x = torch.ones(4, device="npu")
    with profile(activities=[ProfilerActivity.CPU]) as prof:
        x + x
    assert not [e for e in prof.events() if e.device_type == "NPU"]
    assert {e.name for e in prof.events()} == {"aten::add"}


def test_kernel_times_are_the_devices_own(slow):
    x = torch.ones(4, device="npu")
    slow("Add", 30)
    with profile() as prof:
        x + x
        x * x
        npu.synchronize()
    rows = {r.key: r for r in prof.key_averages()}
    kernels = [e for e in prof.events() if e.device_type == "NPU"]
    assert len(kernels) == 2 and all(k.device_index == 0 for k in kernels)
    add, mul = kernels
    assert "Add" in add.name
    assert add["duration_ns"] > 29_000_000
    assert add.time_range.end <= mul.time_range.start  # waiting for the kernel before is no time of this one
    for name, kernel in (("aten::add", add), ("aten::mul", mul)):
        assert rows[name].device_time_total == rows[name].self_device_time_total == kernel["duration_ns"] / 1000


def test_every_kernel_is_linked_to_the_op_that_launched_it(tmp_path):
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4)).npu()
    x = torch.randn(5, 8).npu()
    with profile() as prof:
        loss = torch.nn.functional.cross_entropy(model(x), torch.tensor([0, 1, 2, 3, 0]).npu())
        loss.backward()
        loss.item()
    trace = traced(prof, tmp_path)
    kernels, calls = of(trace, "kernel"), {e["args"]["correlation"]: e for e in of(trace, "privateuse1_runtime")}
    ops = {e["args"]["External id"]: e for e in of(trace, "cpu_op")}
    assert len(kernels) > 10
    for k in kernels:
        assert k["args"]["correlation"] in calls
        op = ops[k["args"]["External id"]]
        call = calls[k["args"]["correlation"]]
        assert op["ts"] <= call["ts"] and call["ts"] + call["dur"] <= op["ts"] + op["dur"] + 0.01
    copies = of(trace, "gpu_memcpy")
    assert {c["name"] for c in copies} == {"MEMCPY_HTOD", "MEMCPY_DTOH"}
    starts = {e["id"] for e in trace["traceEvents"] if e.get("cat") == "ac2g" and e["ph"] == "s"}
    ends = {e["id"] for e in trace["traceEvents"] if e.get("cat") == "ac2g" and e["ph"] == "f"}
    assert starts == ends and len(ends) == len(kernels) + len(copies)


def test_times_are_aligned_within_the_stated_bound(tmp_path):
    x = torch.ones(1000, device="npu")
    with profile() as prof:
        for _ in range(20):
            y = x + x
            npu.synchronize()
    trace = traced(prof, tmp_path)
    bound = trace["npu_times"]["clock_error_ns"] / 1000 + 0.1
    assert trace["npu_times"]["source"] == "mspti" and trace["npu_times"]["simulated"] is True
    calls = {e["args"]["correlation"]: e for e in of(trace, "privateuse1_runtime")}
    kernels = of(trace, "kernel")
    assert len(kernels) == 20
    for k in kernels:
        assert k["ts"] >= calls[k["args"]["correlation"]]["ts"] - bound  # no kernel before its launch
    assert y is not None


def test_the_trace_says_that_it_is_simulated(tmp_path):
    with profile() as prof:
        torch.ones(2, device="npu")
    trace = traced(prof, tmp_path)
    assert "simulated" in trace["deviceProperties"][0]["name"]
    names = [e["args"] for e in trace["traceEvents"] if e["ph"] == "M"]
    assert {"name": "NPU stream 1"} in names or any("NPU stream" in str(n) for n in names)
    assert any(n.get("labels") == "Ascend NPU (simulated)" for n in names)


def test_columns_and_footer_of_the_table():
    x = torch.ones(4, device="npu")
    with profile(profile_memory=True) as prof:
        x + x
    table = prof.key_averages().table(sort_by="self_npu_time_total")
    for title in (
        "Self NPU",
        "Self NPU %",
        "NPU total",
        "NPU time avg",
        "NPU Mem",
        "Self NPU Mem",
        "Self NPU time total",
    ):
        assert title in table


def test_memory_of_the_device():
    x = torch.ones(256, device="npu")
    with profile(profile_memory=True) as prof:
        y = x + x
    event = next(e for e in prof.events() if e.name == "aten::add")
    assert event.device_memory_usage == 1024
    assert event["npu_memory_allocated_delta"] == 1024
    assert event["npu_memory_allocated_after"] - event["npu_memory_allocated_before"] == 1024
    del y


def test_streams_are_tracks(tmp_path):
    side = npu.Stream()
    x = torch.ones(4, device="npu")
    npu.synchronize()
    with profile() as prof:
        x + x
        with npu.stream(side):
            x * x
        npu.synchronize()
    trace = traced(prof, tmp_path)
    assert len({e["tid"] for e in of(trace, "kernel")}) == 2
    assert {e["tid"] for e in of(trace, "kernel") if "Mul" in e["name"]} == {side.stream_id}


def test_annotations_and_steps_around_launches():
    x = torch.ones(4, device="npu")
    with profile(schedule=torch.profiler.schedule(wait=1, warmup=1, active=2)) as prof:
        for _ in range(4):
            with record_function("work"):
                x + x
            prof.step()
    kernels = [e for e in prof.events() if e.device_type == "NPU" and "Add" in e.name]
    assert len(kernels) == 2
    rows = {r.key: r for r in prof.key_averages()}
    assert rows["work"].device_time_total > 0


def test_two_profiles_at_once():
    x = torch.ones(4, device="npu")
    with profile() as outer:
        x + x
        with profile() as inner:
            x * x
    names = [[e.name for e in p.events() if e.device_type == "NPU"] for p in (outer, inner)]
    assert len(names[0]) == 2 and len(names[1]) == 1 and "Mul" in names[1][0]


SCRIPT = """
import json, sys
import mindtorch_v2 as torch
x = torch.ones(1000, device="npu")
from mindtorch_v2._backends.npu.runtime import runtime
with torch.profiler.profile() as prof:
    for _ in range(3):
        x = x + x
    torch.npu.synchronize()
prof.export_chrome_trace("{path}")
rows = {{r.key: r for r in prof.key_averages()}}
kernels = [e for e in prof.events() if e.device_type == "NPU"]
trace = json.load(open("{path}"))
calls = {{e["args"]["correlation"]: e for e in trace["traceEvents"] if e.get("cat") == "privateuse1_runtime"}}
bound = trace["npu_times"]["clock_error_ns"] / 1000 + 1
late = [k["ts"] - calls[k["args"]["correlation"]]["ts"] for k in trace["traceEvents"] if k.get("cat") == "kernel"]
assert all(d >= -bound for d in late), (late, bound)
print(trace["npu_times"]["source"], len(kernels), rows["aten::add"].device_time_total > 0)
"""


@pytest.mark.parametrize(
    ("settings", "source"),
    [
        ({}, "mspti"),
        ({"ASCEND_SIM_MSPTI": "nopreload"}, "events"),
        ({"ASCEND_SIM_SOC": "Ascend910A"}, "events"),
        ({"ASCEND_SIM_MSPTI_OFFSET_NS": "7000000000"}, "mspti"),
        ({"ASCEND_SIM_MSPTI_DELAY_MS": "60", "ASCEND_SIM_MSPTI_PIECE": "1"}, "mspti"),
    ],
)
def test_sources_of_device_times(run_script, tmp_path, settings, source):
    assert run_script(SCRIPT.format(path=tmp_path / "t.json"), **settings).split() == [source, "3", "True"]


def test_a_device_that_fails_does_not_take_the_profile_with_it(run_script):
    out = run_script("""
import mindtorch_v2 as torch
x = torch.ones(4, device="npu")
torch.npu.synchronize()
from mindtorch_v2._backends.npu.runtime import runtime
with torch.profiler.profile() as prof:
    runtime().libraries.opened[0][1].simFaultKernel(1, 507015, None)
    x + x
print([e.name for e in prof.events()])
""")
    assert "aten::add" in out


def test_busy_and_idle_time_and_who_waited(slow, simulator):
    from mindtorch_v2.profiler.analysis.device import device_use

    x = torch.ones(4, device="npu")
    npu.synchronize()
    slow("Add", 10)
    with profile() as prof:
        with simulator.held(npu.current_stream()):
            for _ in range(5):
                x + x
        npu.synchronize()
    (use,) = device_use(prof.profiler.store)
    assert use.work == 5 and use.bound == "device" and use.starved_ns == 0  # all was launched before anything ran
    assert (
        use.busy_ns >= 50e6 and use.kernel_ns == use.busy_ns and use.copy_ns == use.overlap_ns == use.parallel_ns == 0
    )
    assert use.delay_ns >= 20e6  # the third of five waits for two


def test_streams_in_parallel(slow, simulator):
    from mindtorch_v2.profiler.analysis.device import device_use

    x, streams = torch.ones(4, device="npu"), [npu.Stream() for _ in range(3)]
    npu.synchronize()
    slow("Mul", 200)
    with profile() as prof:
        with simulator.held(streams[0]), simulator.held(streams[1]), simulator.held(streams[2]):
            for stream in streams:
                with npu.stream(stream):
                    x * x
        npu.synchronize()
    store = prof.profiler.store
    (use,) = device_use(store)
    whole = sum(e.device_time_total for e in prof.events() if e.device_type == "NPU") * 1000
    assert use.parallel_ns > 0 and use.busy_ns < whole

"""Device times are right whatever the libraries' records are like: copies, threads, clocks that jump, records that
are refused.
"""

from __future__ import annotations

import json
import os

import numpy as np
import pytest

from mindtorch_v2._backends.npu.clocks import Pair, PiecewiseAlignment

SOURCES = {"as described": {}, "vendor": {"ASCEND_SIM_MSPTI": "vendor"}, "events": {"ASCEND_SIM_MSPTI": "nopreload"}}

START = """
import json, threading, warnings
warnings.simplefilter("ignore")
import mindtorch_v2 as torch
from mindtorch_v2._backends.npu.runtime import runtime
library = runtime().libraries.opened[0][1]
def trace_of(prof):
    prof.export_chrome_trace("{path}")
    trace = json.load(open("{path}"))
    return trace, {{c: [e for e in trace["traceEvents"] if e.get("cat") == c and e["ph"] == "X"] for c in ("kernel", "gpu_memcpy", "privateuse1_runtime")}}
"""


@pytest.fixture
def run(run_script, tmp_path):
    def do(text: str, **settings: str) -> dict:
        return json.loads(run_script(START.format(path=tmp_path / "trace.json") + text, **settings).splitlines()[-1])

    return do


COPIES = """
import ctypes
library.simSetCopyDelay.argtypes = [ctypes.c_uint64]
pinned, device = torch.ones(1000, pin_memory=True), torch.empty(1000, device="npu")
torch.npu.synchronize()
library.simSetCopyDelay(30_000_000)
with torch.profiler.profile() as prof:
    device.copy_(pinned, non_blocking=True)
    device + device
    pinned.copy_(device, non_blocking=True)
    torch.npu.synchronize()
library.simSetCopyDelay(0)
trace, found = trace_of(prof)
calls = {e["args"]["correlation"]: e for e in found["privateuse1_runtime"]}
rows = [(e["name"], e["dur"] / 1000, e["ts"] - calls[e["args"]["correlation"]]["ts"], e["args"].get("bytes"), e["args"]["stream"])
        for e in sorted(found["gpu_memcpy"], key=lambda e: e["ts"])]
kernel, = found["kernel"]
first, second = sorted(found["gpu_memcpy"], key=lambda e: e["ts"])
bound = trace["npu_times"]["clock_error_ns"] / 1000
print(json.dumps({"rows": rows, "notes": trace["npu_times"], "in order": first["ts"] + first["dur"] <= kernel["ts"] + 2 * bound
                  and kernel["ts"] + kernel["dur"] <= second["ts"] + 2 * bound}))
"""


@pytest.mark.parametrize("source", SOURCES)
def test_copies_have_the_devices_times(run, source):
    """Both copies take 30 ms on the device; the calls return at once.

    No source may tell the call's time for the copy's.
    """
    found = run(COPIES, **SOURCES[source])
    assert [row[0] for row in found["rows"]] == ["MEMCPY_HTOD", "MEMCPY_DTOH"]
    assert all(row[1] >= 30 for row in found["rows"]) and found["in order"], found
    assert found["notes"]["copies"] == "events"


def test_copies_are_the_same_where_the_library_is_preloaded(run, tmp_path):
    """Its records of copies could then be had; they are the call's times, and are not used."""
    from mindtorch_v2._backends.npu.runtime import runtime

    link = tmp_path / "libmspti.so"
    link.symlink_to(runtime().libraries.opened[0][0])
    # a sanitizer's library must stay the first one
    preload = os.pathsep.join(filter(None, [os.environ.get("LD_PRELOAD", ""), str(link)]))
    found = run(COPIES, ASCEND_SIM_MSPTI="vendor", LD_PRELOAD=preload)
    assert all(row[1] >= 30 for row in found["rows"]) and found["in order"], found


THREADS = """
from mindtorch_v2.profiler import _ExperimentalConfig
x = torch.ones(64, device="npu")
torch.npu.synchronize()
OPS = [lambda: x + x, lambda: x * x, lambda: x - x, lambda: x.exp()]
barrier = threading.Barrier(len(OPS))
def work(op):
    barrier.wait()
    for _ in range(60):
        op()
with torch.profiler.profile(experimental_config=_ExperimentalConfig(profile_all_threads={everyone})) as prof:
    threads = [threading.Thread(target=work, args=(op,)) for op in OPS]
    [t.start() for t in threads]
    [t.join() for t in threads]
    torch.npu.synchronize()
trace, found = trace_of(prof)
calls = {{e["args"]["correlation"]: e["name"] for e in found["privateuse1_runtime"]}}
linked = [(calls[k["args"]["correlation"]], k["name"]) for k in found["kernel"] if k["args"]["correlation"] in calls]
print(json.dumps({{"kernels": len(found["kernel"]), "linked": len(linked), "wrong": [p for p in linked if not p[1].startswith(p[0])][:3],
                  "lost": trace["npu_times"].get("launches_without_record", 0),
                  "npu": len([e for e in prof.events() if e.device_type == "NPU"])}}))
"""


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("everyone", [True, False])
def test_kernels_of_all_threads_are_there(run, source, everyone):
    """Four threads launch at once. Recorded or not, their kernels are; and each is linked to the call that launched
    it, although the vendor's library has one stack of ids for all threads.
    """
    found = run(THREADS.format(everyone=everyone), **SOURCES[source])
    assert found == {"kernels": 240, "linked": 240 if everyone else 0, "wrong": [], "lost": 0, "npu": 240}


CLOCKS = """
import time
x = torch.ones(64, device="npu")
torch.npu.synchronize()
moments = []
with torch.profiler.profile() as prof:
    began = time.perf_counter_ns()
    count = 0
    while count < 12 or time.perf_counter_ns() - began < 900_000_000:
        count += 1
        with torch.profiler.record_function("step"):
            x + x
            torch.npu.synchronize()
        time.sleep(0.002)
trace, found = trace_of(prof)
steps = sorted((e for e in trace["traceEvents"] if e.get("name") == "step" and e["ph"] == "X" and e.get("cat") == "user_annotation"), key=lambda e: e["ts"])
kernels = sorted(found["kernel"], key=lambda e: e["args"]["correlation"])
bound = trace["npu_times"]["clock_error_ns"] / 1000
outside = [max(s["ts"] - k["ts"], k["ts"] + k["dur"] - s["ts"] - s["dur"]) for s, k in zip(steps, kernels)]
print(json.dumps({"steps": len(steps), "kernels": len(kernels), "worst": max(outside), "bound": bound}))
"""


def test_a_clock_that_jumps(run):
    """The device's clock is off by 0.2%, the library relates it anew every 400 ms: stamps jump by 0.8 ms. Each
    kernel still lies inside its step, within the stated bound; a busy machine may hide a jump, which is then allowed
    for. (How jumps are found, and what they make of the bound, is tested with clocks made by hand, below.)
    """
    found = run(CLOCKS, ASCEND_SIM_MSPTI="vendor", ASCEND_SIM_CLOCK_PPM="2000", ASCEND_SIM_MSPTI_ANCHOR_MS="400")
    assert found["steps"] == found["kernels"] >= 12
    assert found["worst"] <= found["bound"] + 800 + 1, found


def test_a_refusal_is_told(run):
    text = """
x = torch.ones(4, device="npu")
with torch.profiler.profile() as prof:
    x + x
print(json.dumps(trace_of(prof)[0]["npu_times"]))
"""
    assert (
        run(text, ASCEND_SIM_MSPTI="nopreload")["reason"]
        == "msptiSubscribe answered 6, libmspti.so is not in LD_PRELOAD"
    )
    assert "999" in run(text, ASCEND_SIM_SOC="Ascend910A")["reason"]
    assert "reason" not in run(text) and "reason" not in run(text, ASCEND_SIM_MSPTI="vendor")
    refusing = "runtime().msptiActivityEnable = lambda kind: 0 if kind == 2 else 1" + text
    assert run(refusing)["reason"] == "msptiActivityEnable(8) answered 1, invalid parameter"


def test_events_are_used_again(run):
    """A device has few events: a long window does not take one for every mark."""
    found = run(
        """
library.simCounter.restype = __import__("ctypes").c_uint64
pinned, device = torch.ones(16, pin_memory=True), torch.empty(16, device="npu")
torch.npu.synchronize()
with torch.profiler.profile() as prof:
    before = library.simCounter(b"events_made")
    for i in range(4000):
        device.copy_(pinned, non_blocking=True)
        if i % 500 == 0:
            torch.npu.synchronize()
    made = library.simCounter(b"events_made") - before
    torch.npu.synchronize()
print(json.dumps([made, len([e for e in prof.events() if e.device_type == "NPU"])]))
""",
        ASCEND_SIM_MAX_EVENTS="6000",
    )
    assert found[0] < 4500 and found[1] == 4000


# --- clocks made by hand
def group(at: int, offset: float, half: float = 5.0) -> list[Pair]:
    """Pairs around the device's moment `at`, where the host is `offset` ahead."""
    return [Pair(round(at + offset - half), at, at, round(at + offset + half))]


def test_one_group_and_none():
    assert not PiecewiseAlignment([]).known
    alone = PiecewiseAlignment([group(1000, 50)])
    assert alone.known and alone.bound == 5 and alone.host(np.array([0, 1000, 9000])).tolist() == [50, 1050, 9050]


def test_a_steady_drift_is_interpolated():
    clock = PiecewiseAlignment([group(at, 100 + at * 1e-4) for at in range(0, 5_000_001, 1_000_000)])
    assert clock.jumps == 0 and clock.slope == pytest.approx(1e-4)
    at = np.array([0, 500_000, 2_250_000, 6_000_000])
    assert np.abs(clock.host(at) - (at + 100 + at * 1e-4)).max() <= clock.bound


def test_a_jump_lies_between_the_groups_that_do_not_fit():
    """A drift of 100 us per ms; every 4 ms the offset falls back to where it began. Away from the jump all is exact."""

    def offset(at: int) -> float:
        return 1000 + (at % 4_000_000) * 0.1

    moments = range(100_000, 12_000_000, 1_000_000)
    clock = PiecewiseAlignment([group(at, offset(at)) for at in moments])
    assert clock.jumps == 2 and clock.slope == pytest.approx(0.1)
    assert clock.bound == pytest.approx(400_000, abs=20)  # what a time near a jump may be off by
    smooth = np.array(
        [
            at
            for at in range(150_000, 11_000_000, 130_000)
            if at // 4_000_000 == (at - 900_000) // 4_000_000 and at // 4_000_000 == (at + 900_000) // 4_000_000
        ]
    )
    wanted = np.array([at + offset(at) for at in smooth.tolist()])
    assert np.abs(clock.host(smooth) - wanted).max() <= 10
    every = np.arange(150_000, 11_000_000, 10_000)
    assert np.abs(clock.host(every) - np.array([at + offset(at) for at in every.tolist()])).max() <= clock.bound


def test_stamps_since_1970_keep_their_nanoseconds():
    began, offset = 1_700_000_000_123_456_789, -1_699_999_999_000_000_001
    clock = PiecewiseAlignment(
        [[Pair(at + offset - 7, at, at, at + offset + 7)] for at in (began, began + 10_000_001, began + 50_000_001)]
    )
    assert clock.bound == 7 and clock.jumps == 0
    assert clock.host(np.array([began, began + 1, began + 12_345])).tolist() == [
        began + offset + i for i in (0, 1, 12_345)
    ]


def test_two_groups_that_no_oscillator_explains():
    clock = PiecewiseAlignment([group(0, 0), group(1_000_000, 50_000)], drift=4e-5)
    assert clock.jumps == 1 and clock.bound > 49_000
    assert PiecewiseAlignment([group(0, 0), group(1_000_000, 40)], drift=4e-5).jumps == 0

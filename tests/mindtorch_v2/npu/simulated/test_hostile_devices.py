"""Devices that drift, deliver late, and are misused: what is reported stays true. And the self-test that users run."""

from __future__ import annotations

import pytest

TIMES = """
import json
import mindtorch_v2 as torch
x = torch.ones(1000, device="npu")
torch.npu.synchronize()
with torch.profiler.profile() as prof:
    for _ in range(40):
        x = x + 1
        torch.npu.synchronize()
prof.export_chrome_trace("{path}")
trace = json.load(open("{path}"))
events = trace["traceEvents"]
kernels = sorted((e for e in events if e.get("cat") == "kernel"), key=lambda e: e["ts"])
calls = {{e["args"]["correlation"]: e for e in events if e.get("cat") == "privateuse1_runtime"}}
ops = sorted((e["ts"] for e in events if e.get("name") == "aten::add"))
bound = trace["npu_times"]["clock_error_ns"] / 1000 + 1
adds = [k for k in kernels if k["args"]["correlation"] in calls]
early = [k for k in adds if k["ts"] < calls[k["args"]["correlation"]]["ts"] - bound]
late = [k for k, following in zip(adds, ops[1:]) if k["ts"] + k["dur"] > following + bound]   # each call waited for its kernel
print(trace["npu_times"]["source"], len(adds), len(early), len(late), sum(k["dur"] > 0 for k in adds))
"""


@pytest.mark.parametrize("source", ["mspti", "events"])
@pytest.mark.parametrize(
    "clock",
    [
        {"ASCEND_SIM_CLOCK_PPM": "500", "ASCEND_SIM_CLOCK_EPOCH_NS": "86400000000000"},
        {"ASCEND_SIM_CLOCK_PPM": "-300", "ASCEND_SIM_CLOCK_EPOCH_NS": "1000"},
        {"ASCEND_SIM_MSPTI_OFFSET_NS": "-5000000000"},
        {"ASCEND_SIM_MSPTI_DELAY_MS": "40", "ASCEND_SIM_MSPTI_PIECE": "3"},
    ],
)
def test_kernels_lie_between_launch_and_wait_whatever_the_clock(run_script, tmp_path, clock, source):
    settings = {**clock, **({"ASCEND_SIM_MSPTI": "nopreload"} if source == "events" else {})}
    assert run_script(TIMES.format(path=tmp_path / "t.json"), **settings).split() == [source, "40", "0", "0", "40"]


def test_use_after_free_is_reported_and_names_the_operator(run_script):
    script = """
import ctypes
import mindtorch_v2 as torch
from mindtorch_v2._backends.npu.runtime import runtime
library = runtime().libraries.opened[0][1]
library.simCounter.restype = ctypes.c_uint64
x = torch.ones(8 << 20, device="npu")          # a segment of its own
torch.npu.synchronize()
before = library.simCounter(b"violations")
assert library.aclrtFree(ctypes.c_void_p(x.data_ptr())) == 0      # behind the allocator's back
try:
    y = x + 1
    torch.npu.synchronize()
except RuntimeError as error:
    text = ctypes.create_string_buffer(400)
    library.simLastViolation(text, 400)
    print("507015" in str(error), library.simCounter(b"violations") > before, b"Adds" in text.value, "free" in str(error), flush=True)
import os
os._exit(0)
"""
    assert run_script(script, ASCEND_SIM_QUIET="1").split() == ["True", "True", "True", "True"]


def test_the_self_test_passes_and_says_what_it_ran_on(run_script):
    report = run_script(
        "import runpy, sys; sys.argv = ['selftest']\n"
        "try: runpy.run_module('mindtorch_v2.npu.selftest', run_name='__main__')\n"
        "except SystemExit as end: assert not end.code, end.code"
    )
    assert "simulated" in report and "mspti" in report.lower()

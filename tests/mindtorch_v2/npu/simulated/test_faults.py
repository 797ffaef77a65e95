"""What goes wrong on a device, and how the program learns of it."""

from __future__ import annotations

import pytest


def test_a_kernel_that_fails_surfaces_at_the_synchronisation(run_script):
    out = run_script("""
import mindtorch_v2 as torch
x = torch.ones(4, device="npu")
torch.npu.synchronize()
from mindtorch_v2._backends.npu.runtime import runtime
runtime().libraries.opened[0][1].simFaultKernel(1, 507015, None)
y = x + x                      # asynchronous: no error here
try:
    torch.npu.synchronize()
except RuntimeError as error:
    assert "507015" in str(error) and "AI core exception" in str(error) and "injected" in str(error), str(error)
    print("surfaced")
try:
    torch.npu.synchronize()
except RuntimeError as error:
    print("sticky")
""")
    assert out.split() == ["surfaced", "sticky"]


def test_the_device_is_lost_in_a_forked_child(run_script):
    out = run_script("""
import os
import mindtorch_v2 as torch
x = torch.ones(4, device="npu")
torch.npu.synchronize()
pid = os.fork()
if pid == 0:
    caught = 0
    for use in (lambda: torch.ones(1, device="npu"), lambda: x + x, lambda: x.cpu(), torch.npu.synchronize):
        try:
            use()
        except RuntimeError as error:
            caught += "Cannot re-initialize NPU in forked subprocess" in str(error)
    os._exit(0 if caught == 4 and not torch.npu.is_available() and (torch.ones(2) + 1).tolist() == [2.0, 2.0] else 1)
assert os.waitpid(pid, 0)[1] == 0
print((x + x).tolist())
""")
    assert out.strip() == "[2.0, 2.0, 2.0, 2.0]"


def test_a_missing_library_is_explained(run_script):
    out = run_script(
        """
import mindtorch_v2 as torch
assert not torch.npu.is_available() and torch.npu.device_count() == 0
assert torch.npu.memory_allocated() == 0 and torch.npu.manual_seed(1) is None
try:
    torch.ones(1, device="npu")
except RuntimeError as error:
    print(error)
""",
        MINDTORCH_NPU_SIM="0",
        MINDTORCH_NPU_LIB="",
    )
    assert "no libascendcl.so was found" in out and "is_available() is False" in out


def test_a_missing_symbol_disables_that_operator_only(run_script):
    out = run_script("""
import warnings
import mindtorch_v2 as torch
from mindtorch_v2._backends.npu.runtime import connect
libraries = connect().libraries
find = libraries.find
libraries.find = lambda name: None if name.startswith("aclnnTanh") else find(name)
x = torch.ones(2, device="npu")
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    y = x.tanh()
print(len(caught), "aclnnTanh" in str(caught[0].message), round(y[0].item(), 4), (x + x).tolist())
""")
    assert out.strip() == "1 True 0.7616 [2.0, 2.0]"


def test_the_simulator_says_that_it_is_one(run_script):
    out = run_script("""
import mindtorch_v2 as torch
print(torch.npu.get_device_name(), "|", torch.npu.get_device_properties().simulated, "|", repr(torch.npu.current_stream()))
""")
    assert out.count("simulated") == 2 and "True" in out


def test_out_of_events_and_other_limits_are_errors_not_crashes(run_script):
    out = run_script(
        """
import mindtorch_v2 as torch
held = []
try:
    for _ in range(100):
        e = torch.npu.Event()
        e.record()
        held.append(e)
except RuntimeError as error:
    print("207007" in str(error))
""",
        ASCEND_SIM_MAX_EVENTS="20",
    )
    assert out.strip() == "True"


def test_an_older_chip(run_script):
    out = run_script(
        """
import mindtorch_v2 as torch
a = torch.randn(4, 5)
print(torch.allclose((a.npu() @ a.t().npu()).cpu(), a @ a.t(), atol=1e-5), torch.npu.get_device_name())
""",
        ASCEND_SIM_SOC="Ascend910A",
    )
    assert out.strip() == "True Ascend910A (simulated)"


def test_many_threads(run_script):
    out = run_script("""
import threading
import mindtorch_v2 as torch
bad = []
def work(n):
    for i in range(50):
        x = torch.full((64,), float(n), device="npu")
        if (x * 2 + i).sum().item() != 64 * (2 * n + i):
            bad.append((n, i))
threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
[t.start() for t in threads]
[t.join() for t in threads]
torch.npu.synchronize()
print(bad, torch.npu.memory_allocated())
""")
    assert out.strip() == "[] 0"


RESTART = """
import gc, threading, warnings
warnings.simplefilter("ignore")
import mindtorch_v2 as torch
from mindtorch_v2._backends.npu.runtime import runtime
npu, library = torch.npu, runtime().libraries.opened[0][1]
x, pinned = torch.ones(4, device="npu"), torch.ones(8, pin_memory=True)
other = torch.ones(4, device="npu:1")
y, side = x + x, npu.Stream()
y.copy_(pinned[:4], non_blocking=True)
npu.synchronize()
for _ in range(3):
    x = torch.ones(4, device="npu")
    npu.synchronize()
    library.simFaultKernel(1, 507015, None)
    x + x
    try:
        npu.synchronize()
    except RuntimeError as error:
        assert "507015" in str(error)
    npu.restart_device()
    lost = []
    for use in (lambda: x + x, lambda: x.cpu(), lambda: y.copy_(pinned[:4]), lambda: x.add_(1), lambda: x @ x):
        try:
            use()
        except RuntimeError as error:
            lost.append("is lost: its device was reset" in str(error))
    assert lost == [True] * 5, lost
    a = torch.arange(1000.0).npu()
    assert (a * 2).sum().item() == 999000.0 and torch.npu.memory_reserved() == 2 << 20
    with npu.stream(npu.Stream()):
        assert (a + 1).cpu()[-1].item() == 1000.0
    del a
assert (other + other).tolist() == [2.0] * 4                   # the other device was left alone
del x, y, pinned
gc.collect()
b = torch.zeros(8, pin_memory=True)
b.copy_(torch.full((8,), 3.0, device="npu"), non_blocking=True)
npu.synchronize()
assert b.tolist() == [3.0] * 8
with torch.profiler.profile():
    try:
        npu.restart_device()
    except RuntimeError as error:
        assert "stop it first" in str(error)
print("works", library.simCheckMemory(None, 0))
"""


@pytest.mark.parametrize("shim", ["1", "0"])
def test_a_device_can_be_used_again_after_a_fault(run_script, shim):
    assert run_script(RESTART, MINDTORCH_NPU_SHIM=shim, ASCEND_SIM_QUIET="1").split() == ["works", "0"]


@pytest.mark.parametrize(
    "settings", [{}, {"MINDTORCH_NPU_SHIM": "0"}, {"MINDTORCH_NATIVE": "0"}, {"ASCEND_SIM_MSPTI": "nopreload"}]
)
def test_a_process_may_end_while_a_profile_runs(run_script, settings, capfd):
    text = """
import sys, warnings
warnings.simplefilter("ignore")
import mindtorch_v2 as torch
sys.stderr = sys.stdout
x = torch.ones(4, device="npu")
prof = torch.profiler.profile(with_stack=True, profile_memory=True)
prof.start()
x + x
sys.unraisablehook = lambda problem: print("problem", problem.exc_value)
"""
    assert run_script(text, **settings) == ""

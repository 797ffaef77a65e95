"""What goes wrong on a device, and how the program learns of it."""
from __future__ import annotations


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
    out = run_script("""
import mindtorch_v2 as torch
assert not torch.npu.is_available() and torch.npu.device_count() == 0
assert torch.npu.memory_allocated() == 0 and torch.npu.manual_seed(1) is None
try:
    torch.ones(1, device="npu")
except RuntimeError as error:
    print(error)
""", MINDTORCH_NPU_SIM="0", MINDTORCH_NPU_LIB="")
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
    out = run_script("""
import mindtorch_v2 as torch
held = []
try:
    for _ in range(100):
        e = torch.npu.Event()
        e.record()
        held.append(e)
except RuntimeError as error:
    print("207007" in str(error))
""", ASCEND_SIM_MAX_EVENTS="20")
    assert out.strip() == "True"


def test_an_older_chip(run_script):
    out = run_script("""
import mindtorch_v2 as torch
a = torch.randn(4, 5)
print(torch.allclose((a.npu() @ a.t().npu()).cpu(), a @ a.t(), atol=1e-5), torch.npu.get_device_name())
""", ASCEND_SIM_SOC="Ascend910A")
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

"""Calls by plan: what the launcher in C does by itself must be what Python would have done. Both pass these tests."""

from __future__ import annotations

import json
import threading

import pytest

import mindtorch_v2 as torch
from mindtorch_v2._backends.npu import native
from mindtorch_v2._ops.table import find
from mindtorch_v2.profiler import ProfilerActivity, profile
from mindtorch_v2.profiler.record.kinds import Kind
from mindtorch_v2.profiler.record.python_recorder import Recorder
from tests.conftest import begin_loading

IN_C = native.launcher is not None


def npu(*values, **options):
    return torch.tensor(list(values), device="npu", **options)


def plans(name):
    """How many kinds of calls of an op are known."""
    return find(name).backends[4].plans if IN_C else 0


def test_a_plan_serves_all_calls_of_its_kind():
    x = npu(1.0, -2.0, 3.0)
    assert (x - x).tolist() == [0.0] * 3
    before = plans("sub.Tensor")
    for k in range(4):
        y = npu(1.0, 2.0, float(k))
        assert (y - x).tolist() == [0.0, 4.0, k - 3.0]
    assert plans("sub.Tensor") == before
    assert (x[::2] - x[::2]).tolist() == [0.0, 0.0]  # other strides are another kind
    assert plans("sub.Tensor") == before + IN_C


def test_numbers_count_by_their_type_and_are_handed_on_as_they_are():
    x = npu(1.0, 2.0)
    assert (x * 2.0).tolist() == [2.0, 4.0]
    before = plans("mul.Tensor")
    assert [(x * k).tolist() for k in (0.5, -1.0, float("inf"))] == [[0.5, 1.0], [-1.0, -2.0], [float("inf")] * 2]
    assert plans("mul.Tensor") == before
    assert torch.add(x, x, alpha=3).tolist() == [4.0, 8.0] and torch.add(x, x, alpha=-1).tolist() == [0.0, 0.0]


def test_values_that_decide_the_shape_are_part_of_the_kind():
    x = torch.arange(6.0).reshape(2, 3).npu()
    for _ in range(2):
        assert x.sum(0).tolist() == [3.0, 5.0, 7.0]
        assert x.sum(1).tolist() == [3.0, 12.0]
        assert x.sum(1, keepdim=True).tolist() == [[3.0], [12.0]]
        values, indices = x.max(1)
        assert (values.tolist(), indices.tolist()) == ([2.0, 5.0], [2, 2])


def test_types_that_differ_are_cast_and_wrong_shapes_are_errors():
    x, y = npu(1.0, 2.0), npu(1, 2)
    for _ in range(2):
        out = x + y
        assert out.dtype is torch.float32 and out.tolist() == [2.0, 4.0]
        with pytest.raises(RuntimeError, match="must match the size"):
            x + npu(1.0, 2.0, 3.0)
        assert (x + npu(1.0)).tolist() == [2.0, 3.0]


def test_writing_in_place_counts_versions_and_checks_memory():
    x = npu(1.0, 2.0)
    version = x._version
    for k in range(3):
        assert x.add_(npu(1.0, 1.0)) is x
        assert x._version == version + k + 1
    assert x.tolist() == [4.0, 5.0]
    x.zero_()
    x.fill_(7)
    assert x.tolist() == [7.0, 7.0] and x._version == version + 5
    with pytest.raises(RuntimeError, match="more than one element"):
        npu(1.0).expand(3).add_(1)
    with pytest.raises(RuntimeError, match="result type Float can't be cast"):
        npu(1, 2).add_(npu(0.5, 0.5))


def test_gradients_of_planned_calls():
    x = npu(1.0, -2.0, 3.0, requires_grad=True)
    for _ in range(2):
        x.grad = None
        y = (x * x).relu() + x
        assert y.grad_fn is not None and y.device == x.device and y.requires_grad
        y.sum().backward()
        assert x.grad.tolist() == [3.0, -3.0, 7.0] and x.grad.device == x.device
    view = x.detach()[1:]
    assert view.device == x.device and not view.requires_grad and (view + view).tolist() == [-4.0, 6.0]
    with torch.no_grad():
        assert not (x * x).requires_grad
    with torch.inference_mode():
        assert (x * x).is_inference()


def test_each_stream_has_its_own_memory_at_hand(simulator):
    x = torch.ones(1000, device="npu")
    side = torch.npu.Stream()
    torch.npu.synchronize()
    with torch.npu.stream(side):
        first = x + x
        address = first.data_ptr()
        del first
        second = x + x
        assert second.data_ptr() == address  # at hand again in its own stream at once
    third = x + x
    assert third.data_ptr() != address
    del second
    with torch.npu.stream(side):
        assert (x + x).data_ptr() == address
    torch.npu.synchronize()


def test_memory_that_another_stream_used_waits_for_it(slow):
    x = torch.ones(1000, device="npu")
    side = torch.npu.Stream()
    side.wait_stream(torch.npu.current_stream())
    y = x + x
    address = y.data_ptr()
    side.wait_stream(torch.npu.current_stream())
    slow("Exp", 30)
    with torch.npu.stream(side):
        z = y.exp()
    y.record_stream(side)
    del y
    stats = torch.npu.memory_stats()
    assert stats["active_bytes.all.current"] == stats["allocated_bytes.all.current"] + 4096
    assert (x + x).data_ptr() != address
    torch.npu.synchronize()
    assert z[0].item() == pytest.approx(7.389056)
    stats = torch.npu.memory_stats()
    assert stats["active_bytes.all.current"] == stats["allocated_bytes.all.current"]


def test_statistics_count_planned_calls():
    x = torch.ones(1000, device="npu")
    torch.npu.synchronize()
    torch.npu.reset_peak_memory_stats()
    before = torch.npu.memory_stats()
    held = [x + x for _ in range(3)]
    for _ in range(5):
        x + x
    after = torch.npu.memory_stats()

    def change(key):
        return after[key] - before[key]

    assert (
        change("allocated_bytes.all.current") == 3 * 4096 and change("requested_bytes.small_pool.current") == 3 * 4000
    )
    assert change("allocation.all.allocated") == 8 and change("allocation.all.freed") == 5
    assert after["allocated_bytes.all.peak"] == before["allocated_bytes.all.current"] + 4 * 4096
    del held
    assert torch.npu.memory_allocated() == before["allocated_bytes.all.current"]


def test_threads_choose_their_own_streams_and_devices():
    x, found, wrong = torch.ones(100, device="npu"), [], []
    torch.npu.synchronize()

    def work(k):
        with torch.npu.stream(torch.npu.Stream()):
            y = x
            for _ in range(50):
                y = y + x * k
            found.append((k, y.tolist()[0]))
            wrong.extend(v for v in y.tolist() if v != 1 + 50 * k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert sorted(found) == [(k, 1.0 + 50 * k) for k in range(4)] and not wrong


def test_what_an_operator_rejects_runs_on_the_cpu_each_time(run_script):
    """The plan was made before the operator said no: both calls must come out right."""
    assert run_script("""
import warnings
import mindtorch_v2 as torch
x = torch.tensor([1.5, 2.5], dtype=torch.float64, device="npu")
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    out = [torch.sigmoid(x).tolist() for _ in range(2)]
print(out[0] == out[1] == torch.sigmoid(x.cpu()).tolist())
""").split() == ["True"]


def test_a_kernel_that_fails_is_reported_at_the_next_wait_and_by_the_next_launch(run_script):
    assert run_script(
        """
import mindtorch_v2 as torch
x = torch.ones(3, device="npu")
x + x
torch.npu.synchronize()
from mindtorch_v2._backends.npu.runtime import runtime
runtime().libraries.opened[0][1].simFaultKernel(1, 507015, None)
x + x
try:
    torch.npu.synchronize()
except RuntimeError as error:
    print("507015" in str(error))
try:
    x + x
except RuntimeError as error:
    print("aclnnAdd" in str(error))
""",
        ASCEND_SIM_QUIET="1",
    ).split() == ["True", "True"]


def test_a_forked_child_learns_why_it_has_no_device(run_script):
    assert run_script("""
import os, sys
import mindtorch_v2 as torch
x = torch.ones(3, device="npu")
x + x
x.add_(x)
torch.npu.synchronize()
sys.stdout.flush()
if os.fork() == 0:
    for call in (lambda: x + x, lambda: x.add_(x)):
        try:
            call()
        except RuntimeError as error:
            print("forked subprocess" in str(error), flush=True)
    os._exit(0)
os.wait()
print((x + x).tolist())
""").split() == ["True", "True", "[4.0,", "4.0,", "4.0]"]


@pytest.mark.parametrize("activities", [[ProfilerActivity.NPU], [ProfilerActivity.CPU, ProfilerActivity.NPU]])
def test_launches_are_told_to_the_profiler(activities):
    x = torch.ones(4, 4, device="npu")
    x + x
    torch.npu.synchronize()
    with profile(activities=activities) as prof:
        for _ in range(3):
            x + x
        y = x.cpu()
    events = prof.events()
    calls = [e for e in events if e.name == "aclnnAdd"]
    kernels = [e for e in events if str(e.device_type).endswith("NPU") and "Add" in e.name]
    assert len(calls) == len(kernels) == 3 and y.shape == (4, 4)
    assert all(c.cpu_parent is not None and c.cpu_parent.name == "aten::add" for c in calls)
    assert sum(e.name == "aclrtMemcpyAsync" for e in events) == 1
    times = json.loads(prof.profiler.store.metadata.user["npu_times"])
    bound = times["clock_error_ns"] / 1000 + 1  # how far the device's clock may be off, in microseconds
    for call, kernel in zip(calls, sorted(kernels, key=lambda e: e.time_range.start)):
        assert call.time_range.start <= kernel.time_range.end + bound


def test_records_of_one_profile_do_not_reach_the_next():
    x = torch.ones(4, device="npu")
    for count in (5, 2, 7):
        with profile(activities=[ProfilerActivity.NPU]) as prof:
            for _ in range(count):
                x * x
        assert sum("Mul" in e.name and str(e.device_type).endswith("NPU") for e in prof.events()) == count
    x * x
    with profile(activities=[ProfilerActivity.NPU]) as prof:
        pass
    assert not [e for e in prof.events() if "Mul" in e.name]


def test_making_a_plan_is_loading_not_the_operators_time(monkeypatch):
    monkeypatch.setattr(Recorder, "begin_loading", begin_loading, raising=False)
    x = torch.ones(5, 3, 11, device="npu")
    x[0] - x[0]  # what is loaded once for all kinds of calls is there
    with profile(activities=[ProfilerActivity.CPU]) as prof:
        x - x
        x - x
    store = prof.profiler.store
    loads = [store.name_of(row) for row in range(len(store)) if store.kind[row] == Kind.LOADING]
    assert loads.count("loading: plan of aten::sub") == IN_C
    counts = {average.key: average.count for average in prof.key_averages()}
    assert counts["aten::sub"] == 2 and not any(key.startswith("loading") for key in counts)

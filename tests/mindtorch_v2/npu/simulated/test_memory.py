"""The caching allocator."""

from __future__ import annotations

import gc

import pytest

import mindtorch_v2 as torch

npu = torch.npu


@pytest.fixture(autouse=True)
def fresh():
    gc.collect()
    npu.synchronize()
    npu.empty_cache()
    npu.reset_peak_memory_stats()


def test_a_small_tensor_takes_one_grain_of_a_small_segment():
    before = npu.memory_allocated()
    x = torch.empty(12, device="npu")
    assert npu.memory_allocated() - before == 512
    assert npu.memory_reserved() == 2 << 20
    del x
    assert npu.memory_allocated() == before
    assert npu.memory_reserved() == 2 << 20  # kept for the next one
    npu.empty_cache()
    assert npu.memory_reserved() == 0


def test_views_share_the_memory_and_the_last_one_frees_it():
    x = torch.empty(1024, device="npu")
    y = x.reshape(32, 32)[3:, ::2].t()
    del x
    assert npu.memory_allocated() == 4096 + 512  # operators may touch 32 bytes behind their operands
    del y
    assert npu.memory_allocated() == 0


def test_memory_is_reused_in_stream_order(simulator):
    simulated = simulator.count("allocs")
    for _ in range(100):
        x = torch.ones(1000, device="npu")
        x = (x * 2 + 1).sum()
    assert simulator.count("allocs") - simulated <= 1


def test_peaks():
    x = torch.empty(1 << 20, device="npu")
    y = torch.empty(1 << 20, device="npu")
    del x, y
    assert npu.max_memory_allocated() == 2 * ((4 << 20) + 512) and npu.memory_allocated() == 0
    npu.reset_peak_memory_stats()
    assert npu.max_memory_allocated() == 0


def test_segments_of_large_tensors():
    x = torch.empty(2 << 20, dtype=torch.uint8, device="npu")
    assert npu.memory_reserved() == 20 << 20
    y = torch.empty((19 << 20) + 1, dtype=torch.uint8, device="npu")
    assert npu.memory_reserved() == (20 << 20) + (20 << 20)
    assert npu.memory_stats()["segment.large_pool.current"] == 2
    del x, y


def test_neighbours_are_joined_again():
    parts = [torch.empty(256 * 1024 - 32, dtype=torch.uint8, device="npu") for _ in range(8)]
    assert npu.memory_reserved() == 2 << 20
    del parts[::2]
    del parts
    assert npu.memory_stats()["inactive_split.all.current"] == 0
    whole = torch.empty((1 << 20) - 32, dtype=torch.uint8, device="npu")
    assert npu.memory_reserved() == 2 << 20
    del whole


def test_statistics_have_the_known_names():
    stats = npu.memory_stats()
    for name in (
        "allocation.all.current",
        "allocated_bytes.all.peak",
        "reserved_bytes.small_pool.allocated",
        "segment.large_pool.freed",
        "active_bytes.all.current",
        "inactive_split_bytes.all.peak",
        "requested_bytes.all.current",
        "num_alloc_retries",
        "num_ooms",
        "oversize_allocations.current",
        "max_split_size",
    ):
        assert name in stats
    assert list(stats) == sorted(stats)
    assert "NPU memory summary, device ID 0" in npu.memory_summary()


def test_a_block_that_another_stream_uses_is_not_reused_too_early(slow):
    side = npu.Stream()
    x = torch.ones(1000, device="npu")
    npu.synchronize()
    slow("Muls", 150)
    side.wait_stream(npu.current_stream())
    with npu.stream(side):
        y = x * 3
    x.record_stream(side)
    address = x.data_ptr()
    del x
    z = torch.zeros(1000, device="npu")  # would take the same block
    assert z.data_ptr() != address
    npu.synchronize()
    assert y.cpu().tolist() == [3.0] * 1000
    again = torch.zeros(1000, device="npu")
    assert again.data_ptr() == address  # the side stream has passed


def test_out_of_memory_and_recovery():
    free, total = npu.mem_get_info()
    x = torch.empty(total // 2, dtype=torch.uint8, device="npu")
    with pytest.raises(torch.OutOfMemoryError, match=r"NPU out of memory\. Tried to allocate"):
        torch.empty(total * 3 // 4, dtype=torch.uint8, device="npu")
    assert npu.memory_stats()["num_ooms"] >= 1
    del x
    y = torch.empty(total * 3 // 4, dtype=torch.uint8, device="npu")  # the cached half is given back first
    assert y.numel() == total * 3 // 4
    assert npu.memory_stats()["num_alloc_retries"] >= 1
    del y
    npu.empty_cache()
    assert npu.mem_get_info()[0] == free


def test_a_limit_for_the_process():
    npu.set_per_process_memory_fraction(0.001)
    try:
        with pytest.raises(torch.OutOfMemoryError):
            torch.empty(100 << 20, dtype=torch.uint8, device="npu")
    finally:
        npu.set_per_process_memory_fraction(1.0)


def test_nothing_leaks_in_training(simulator):
    model = torch.nn.Linear(8, 8).npu()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step():
        optimizer.zero_grad()
        model(torch.ones(4, 8, device="npu")).sum().backward()
        optimizer.step()

    step()
    npu.synchronize()
    before = (
        npu.memory_allocated(),
        [simulator.count(n) for n in ("tensors_live", "scalars_live", "arrays_live", "executors_live")],
    )
    for _ in range(5):
        step()
    npu.synchronize()
    assert before == (
        npu.memory_allocated(),
        [simulator.count(n) for n in ("tensors_live", "scalars_live", "arrays_live", "executors_live")],
    )


def test_resizing_keeps_the_elements():
    x = torch.arange(4.0).npu()
    x.resize_(2, 5)
    assert x.device.type == "npu" and x.flatten()[:4].tolist() == [0.0, 1.0, 2.0, 3.0]


def test_live_memory_is_never_handed_out(run_script):
    """Blocks as large as the device come and go: next fit walks round the arena to where live tensors lie."""
    out = run_script(
        """
import mindtorch_v2 as torch
from mindtorch_v2._backends.npu.runtime import runtime
npu = torch.npu
sevens = torch.full((1000,), 7.0, device="npu")
for _ in range(4):
    big = torch.empty(16 << 20, dtype=torch.uint8, device="npu")
    del big
    npu.empty_cache()
streams = [npu.Stream(), npu.Stream()]
made = []
for stream in streams * 4:
    with npu.stream(stream):
        made.append(torch.zeros(3 << 20, dtype=torch.uint8, device="npu"))
npu.synchronize()
assert (sevens == 7).all().item()
library = runtime().libraries.opened[0][1]
assert library.simCheckMemory(None, 0) == 0
print("alive")
""",
        ASCEND_SIM_HBM="70M",
        ASCEND_SIM_CHECK="1",
    )
    assert out.strip() == "alive"


def test_the_text_of_an_exhausted_device_adds_up(run_script):
    out = run_script(
        """
import re, mindtorch_v2 as torch
kept = torch.empty(5 << 20, dtype=torch.uint8, device="npu")
side = torch.npu.Stream()
library = __import__("mindtorch_v2._backends.npu.runtime", fromlist=["runtime"]).runtime().libraries.opened[0][1]
try:
    torch.empty(64 << 20, dtype=torch.uint8, device="npu")
except torch.OutOfMemoryError as error:
    print(error)
""",
        ASCEND_SIM_HBM="32M",
    )
    assert "Tried to allocate 64.00 MiB" in out and "32.00 MiB total capacity" in out
    assert "5.00 MiB already allocated; 5.00 MiB current active" in out, out

"""Blocks: each begins and ends once, is known by its number, and for what it is held."""

from __future__ import annotations

import collections
import copy
import gc
import pickle
import threading

import numpy as np
import pytest

import mindtorch_v2 as torch
import mindtorch_v2.nn as nn
import mindtorch_v2.nn.functional as F
from mindtorch_v2.profiler import profile, record_function, schedule
from mindtorch_v2.profiler.analysis.memory import find_blocks
from mindtorch_v2.profiler.record.kinds import Category
from mindtorch_v2.profiler.store.lifetimes import FOREVER

from ..test_memory_truth import Watched, blocks_of, live_at


def bytes_by_category(blocks, where=slice(None)):
    names = [Category(c).name for c in blocks.category[where].tolist()]
    return {name: sum(n for c, n in zip(names, blocks.nbytes[where].tolist()) if c == name) for name in names}


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x.transpose(0, 1).reshape(-1),
        lambda x: x.t().flatten(),
        lambda x: torch.matmul(x.expand(3, 4, 8), x.t()),
        lambda x: F.linear(x.expand(3, 4, 8), x),
        lambda x: x.t().contiguous().view(-1),
        lambda x: x.unfold(0, 2, 1).reshape(-1),
        lambda x: torch.tensordot(x, x, 2),
        lambda x: torch.einsum("ij,kj->ik", x, x),
        lambda x: x[:, 1:].reshape(-1).view(4, 7),
        lambda x: x.split(2)[0].t().reshape(-1),
        lambda x: x.t().reshape(-1).data,
        lambda x: x.t().reshape(-1).detach().requires_grad_(),
    ],
)
def test_a_block_begins_once_however_it_is_shared(call):
    x = torch.randn(4, 8)
    call(x)
    with profile(profile_memory=True) as prof:
        y = call(x)
        size = y.untyped_storage().nbytes() if hasattr(y, "untyped_storage") else y.nelement() * 4
        del y
    memory = prof.profiler.store.memory
    births, deaths = memory.block[memory.nbytes > 0].tolist(), memory.block[memory.nbytes < 0].tolist()
    assert len(set(births)) == len(births) and sorted(deaths) == sorted(births) and 0 not in births
    assert size in memory.nbytes.tolist() and memory.nbytes.sum() == 0


def test_an_address_that_comes_again_is_another_block():
    """The second of two blocks at one address has its own number, so each end finds its own beginning."""
    with profile(profile_memory=True) as prof:
        for _ in range(20):
            torch.ones(64)
    memory = prof.profiler.store.memory
    assert len(np.unique(memory.block)) == 20 > len(np.unique(memory.address))


@pytest.mark.parametrize("options", [{}, {"with_stack": True, "record_shapes": True}], ids=["plain", "stacks"])
@pytest.mark.parametrize("steps_before", [0, 1])
def test_purposes(options, steps_before):
    """Whatever the tree looks like, and whether it was made before the window or in it."""
    gc.collect()
    with profile(profile_memory=True) as empty:
        pass
    left = collections.Counter(bytes_by_category(blocks_of(empty)))  # what other tests left behind
    model = nn.Sequential(nn.Linear(16, 32), nn.BatchNorm1d(32), nn.Linear(32, 4))
    optimizer = torch.optim.Adam(model.parameters())
    x = torch.randn(8, 16)

    def step():
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()

    for _ in range(steps_before):
        step()
    with profile(profile_memory=True, **options) as prof:
        step()
        step()
    blocks = blocks_of(prof)
    parameters = sum(p.nelement() * 4 for p in model.parameters())
    buffers = sum(b.nelement() * b.element_size() for b in model.buffers())
    state = sum(t.nelement() * 4 for s in optimizer.state.values() for t in s.values())
    found = bytes_by_category(blocks, blocks.died_ns == FOREVER)
    want = {"PARAMETER": parameters, "BUFFER": buffers, "OPTIMIZER_STATE": state, "GRADIENT": parameters}
    assert {name: found[name] - left[name] for name in want} == want
    assert found["INPUT"] >= x.nelement() * 4
    assert set(found) == {*want, *left, "INPUT"}
    if steps_before:
        before = bytes_by_category(blocks, blocks.existed)
        assert {name: before[name] - left[name] for name in want if name != "BUFFER"} == {
            n: b for n, b in want.items() if n != "BUFFER"
        }


def test_purposes_survive_copies_and_pickles():
    model = nn.BatchNorm1d(64)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    model(torch.randn(4, 64)).sum().backward()
    optimizer.step()
    held = copy.deepcopy(model), pickle.loads(pickle.dumps(model)), copy.deepcopy(optimizer)
    with profile(profile_memory=True) as prof:
        pass
    found = bytes_by_category(blocks_of(prof))
    assert found["BUFFER"] >= 3 * (2 * 256 + 8) and found["OPTIMIZER_STATE"] >= 2 * 2 * 256 and held


def test_activations_and_inputs_from_before():
    x = torch.randn(100, requires_grad=True)
    y = (x * 2).exp()
    with profile(profile_memory=True) as prof:
        y.sum().backward()
    before = {
        Category(c).name for c, was in zip(blocks_of(prof).category.tolist(), blocks_of(prof).existed.tolist()) if was
    }
    assert {"INPUT", "ACTIVATION"} <= before


def test_the_page_says_what_was_there_before_and_whether_scratch_was_seen(tmp_path):
    model = nn.Linear(64, 64)
    x = torch.randn(1 << 12)
    for sorts in (False, True):
        with profile(profile_memory=True, record_shapes=True, with_stack=True) as prof:
            torch.sort(x) if sorts else x + x
        prof.export_memory_timeline(str(tmp_path / "m.html"))
        page = (tmp_path / "m.html").read_text()
        assert "(before the profile)" in page and ("none was seen" in page) == (not sorts) and model


def test_frees_after_the_window_and_in_the_next():
    with profile(profile_memory=True) as first:
        x = torch.ones(1000)
    assert live_at(blocks_of(first), FOREVER - 1) >= 4000
    with profile(profile_memory=True) as second:
        del x
    blocks = blocks_of(second)
    freed = blocks.existed & (blocks.died_ns < FOREVER)
    assert blocks.nbytes[freed].tolist() == [4000]
    assert second.profiler.store.memory.nbytes.tolist() == [-4000]


def test_cycles_of_a_schedule_add_up():
    """Blocks that came or went between two windows are neither missed nor kept."""
    kept, joined = [], []

    def ready(prof):
        joined.append(find_blocks(prof.profiler.store))

    with profile(
        profile_memory=True, schedule=schedule(wait=1, warmup=1, active=1, repeat=2), on_trace_ready=ready
    ) as prof:
        for step in range(6):
            kept.append(torch.ones(1001 + step))
            if len(kept) > 2:
                kept.pop(0)
            prof.step()
    for blocks, (low, high) in zip(joined, ((1002, 1003), (1005, 1006))):
        mine = blocks.nbytes[(blocks.died_ns == FOREVER)].tolist()
        assert [n for n in mine if 4004 <= n < 4028] == [low * 4, high * 4]


def test_a_recording_that_pauses():
    with profile(profile_memory=True) as prof:
        a, b = torch.ones(1100), torch.ones(1101)
        prof.toggle_collection_dynamic(False, [torch.profiler.ProfilerActivity.CPU])
        del a
        c = torch.ones(1102)
        prof.toggle_collection_dynamic(True, [torch.profiler.ProfilerActivity.CPU])
        del b
    blocks = blocks_of(prof)
    mine = {int(n): bool(d == FOREVER) for n, d in zip(blocks.nbytes, blocks.died_ns) if 4400 <= n <= 4408}
    assert mine == {4400: False, 4404: False, 4408: True} and c is not None


def test_another_thread_frees():
    with profile(profile_memory=True) as prof:
        box = [torch.ones(500)]
        thread = threading.Thread(target=box.clear)
        thread.start()
        thread.join()
    memory = prof.profiler.store.memory
    assert memory.nbytes.tolist() == [2000, -2000] and memory.block[0] == memory.block[1]


def test_all_threads_are_seen():
    kept = []
    with profile(
        profile_memory=True, experimental_config=torch.profiler._ExperimentalConfig(profile_all_threads=True)
    ) as prof:
        threads = [threading.Thread(target=lambda n=n: kept.append(torch.ones(n) + 1)) for n in (300, 301)]
        for thread in threads:
            thread.start()
            thread.join()
    blocks = blocks_of(prof)
    mine = (blocks.died_ns == FOREVER) & ~blocks.existed  # other tests may have left tensors behind
    assert sorted(blocks.nbytes[mine].tolist())[-2:] == [1200, 1204]


def test_memory_shared_with_numpy_is_counted_once_and_as_long_as_it_lives():
    array = np.ones(1000)
    with Watched() as watched:
        x, y = torch.from_numpy(array), torch.from_numpy(array)
        z = torch.from_numpy(np.arange(500.0))
        view = z.numpy()[10:20]
        del x, y, z
    blocks = blocks_of(watched.prof)
    assert sorted(blocks.nbytes[(blocks.died_ns == FOREVER) & ~blocks.existed].tolist()) == [4000, 8000]
    assert view.sum() and array.sum()


def test_users_own_arrays_are_not_tensors_memory():
    with profile(profile_memory=True) as prof, record_function("users"):
        mine = np.ones(10_000)
        torch.ones(3) + 1
    store = prof.profiler.store
    assert 80_000 not in np.abs(np.append(store.memory.nbytes, store.scratch.nbytes)) and mine.sum() == 10_000


def test_empty_tensors_have_no_memory():
    with profile(profile_memory=True) as prof:
        x = torch.empty(0) + 1
        del x
    assert len(prof.profiler.store.memory) == 0

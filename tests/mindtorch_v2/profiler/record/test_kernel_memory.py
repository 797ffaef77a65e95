"""How the Python recorder measures the scratch memory of kernels."""

from __future__ import annotations

import sys
import tracemalloc

import numpy as np
import pytest

import mindtorch_v2 as torch
from mindtorch_v2._native import available
from mindtorch_v2.profiler import profile
from mindtorch_v2.profiler.record import kernel_memory
from mindtorch_v2.profiler.record.kernel_memory import FLOOR, KernelMemory

MEGABYTE = 1 << 20
python_recorder_only = pytest.mark.skipif(available(), reason="the native core has an allocator of its own")


@pytest.fixture(params=[False, True], ids=["alone", "user traces too"])
def traced(request):
    """Whether the user traces memory himself."""
    if request.param:
        tracemalloc.start()
    yield request.param
    assert tracemalloc.is_tracing() == request.param
    tracemalloc.stop()


def measured(kernel, claimed=0):
    memory = KernelMemory(10, row=3)
    memory.begin()
    kernel()
    memory.end(20)
    assert memory.claim(claimed, row=3, now=15) == 10 and memory.end_ns == 20
    assert memory.claim(0, row=4, now=15) == 15  # of an event inside
    return memory.scratch


def test_what_was_taken_at_most_beyond_what_tensors_hold(traced):
    def kernel():
        first = np.empty(3 * MEGABYTE, np.uint8)
        del first
        second, third = np.empty(2 * MEGABYTE, np.uint8), np.empty(2 * MEGABYTE, np.uint8)
        return second, third

    assert 0 <= measured(kernel) - 4 * MEGABYTE < FLOOR
    assert 0 <= measured(kernel, claimed=2 * MEGABYTE) - 2 * MEGABYTE < FLOOR
    assert measured(kernel, claimed=4 * MEGABYTE) == 0  # what is left are Python's own objects
    assert measured(lambda: None) == 0


def test_the_users_peak_stays_what_it_was():
    tracemalloc.start()
    try:
        np.empty(5 * MEGABYTE, np.uint8)
        assert MEGABYTE <= measured(lambda: np.empty(MEGABYTE, np.uint8)) < MEGABYTE + FLOOR
        current, peak = tracemalloc.get_traced_memory()
        assert 5 * MEGABYTE <= peak < 5 * MEGABYTE + 16 * FLOOR and current < MEGABYTE
        measured(lambda: np.empty(8 * MEGABYTE, np.uint8))
        assert 8 * MEGABYTE <= tracemalloc.get_traced_memory()[1] < 8 * MEGABYTE + 16 * FLOOR
    finally:
        tracemalloc.stop()


def test_kernels_at_the_same_time_are_not_told_apart(traced):
    one, other, later = KernelMemory(0, 0), KernelMemory(0, 0), KernelMemory(0, 0)
    one.begin()
    other.begin()
    kept = np.empty(MEGABYTE, np.uint8)
    other.end(1)
    one.end(1)
    assert one.scratch == other.scratch == 0
    later.begin()
    kept = np.empty(MEGABYTE, np.uint8)
    later.end(1)
    assert later.scratch >= len(kept)


def test_an_import_is_not_scratch_memory(traced, monkeypatch):
    def kernel():
        monkeypatch.setitem(sys.modules, "a_new_module", sys)
        np.empty(MEGABYTE, np.uint8)

    assert measured(kernel) == 0


@python_recorder_only
def test_an_interrupt_leaves_no_tracing_behind(monkeypatch):
    """Wherever in the measurement it comes."""
    for name, whole in (("begin", KernelMemory.begin), ("end", None), ("claim", KernelMemory.claim)):

        def interrupted(*args, whole=whole):
            if whole is not None:
                whole(*args)
            raise KeyboardInterrupt

        with profile(profile_memory=True):
            monkeypatch.setattr(KernelMemory, name, interrupted)
            with pytest.raises(KeyboardInterrupt):
                torch.ones(3) + 1
            monkeypatch.undo()
            torch.ones(3) + 1
        assert not tracemalloc.is_tracing() and kernel_memory._current is None


@python_recorder_only
def test_a_kernel_that_fails_has_taken_scratch_memory_too():
    x, wrong = torch.randn(1 << 16), torch.arange(1 << 16) + 1
    with profile(profile_memory=True) as prof, pytest.raises(IndexError):
        x.sort()[0].take(wrong)
    store = prof.profiler.store
    assert int(store.memory.nbytes.sum()) <= 12 << 16 and int(store.scratch.nbytes.sum()) == 0
    torch.ones(3)

"""The recorder in C and its fallback in Python: the same calls give the same rows.

What only one of them has is tested below.
"""

from __future__ import annotations

import sys
import threading
import time
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import mindtorch_v2 as torch
from mindtorch_v2._dispatch.native_call import samples as array_samples
from mindtorch_v2._storage import native
from mindtorch_v2.profiler import _ExperimentalConfig, profile, record_function
from mindtorch_v2.profiler.record.native_recorder import NativeRecorder
from mindtorch_v2.profiler.record.native_rows import ROW, split_rows
from mindtorch_v2.profiler.record.python_recorder import Recorder

from ..profiler.helpers import names, store_of
from .recorders import _STEPS, ADD, described, needs_native, play, record


@needs_native
@settings(max_examples=120, deadline=None)
@given(_STEPS)
def test_both_recorders_give_the_same(steps):
    assert described(record(NativeRecorder, lambda r: play(r, steps))) == described(
        record(Recorder, lambda r: play(r, steps))
    )


def test_stopping_makes_nothing_and_what_follows_changes_nothing():
    x = torch.ones(2)
    with profile() as first:
        x + x
    assert first.profiler.has_results and not first.profiler.results.is_built
    with profile() as second:
        x * x
    assert [e.name for e in first.events()] == ["aten::add"] and [e.name for e in second.events()] == ["aten::mul"]


def test_memory_that_a_later_profile_reuses_is_no_longer_read():
    """Chunks of rows go from profile to profile: those of one that is alive, read or not, must not."""
    x = torch.ones(2)

    def made_with(name: str) -> profile:
        with profile() as prof:
            for _ in range(3):
                with record_function(name):
                    x + x
        return prof

    unread, read = made_with("first"), made_with("second")
    seen = names(store_of(read))
    made_with("third")  # dies here, and leaves its memory
    last = made_with("fourth")
    assert names(store_of(unread)) == ["first", "aten::add"] * 3
    assert names(store_of(read)) == seen == ["second", "aten::add"] * 3
    assert names(store_of(last)) == ["fourth", "aten::add"] * 3


# --- the native recorder alone
@needs_native
def test_rows_take_at_most_64_bytes_and_cross_chunks():
    recorder = NativeRecorder()
    recorder.reset()
    buffer = recorder.adopt()
    count = 100_000
    for number in range(count):
        recorder.enter_op(ADD, (), number)
        recorder.leave()
    assert ROW.itemsize == 48
    assert buffer.nbytes / count <= 64
    first, parts = buffer.row_table(0, count)
    assert first == 0 and len(parts) > 1
    assert np.array_equal(split_rows(parts)["sequence_nr"], np.arange(count))
    recorder.reset()


def pass_time(nanoseconds: int) -> None:
    end = time.perf_counter_ns() + nanoseconds
    while time.perf_counter_ns() < end:
        pass


@needs_native
def test_the_clock_agrees_with_pythons():
    recorder = NativeRecorder()
    pass_time(30_000_000)  # the counter's rate is told from so long a stretch
    recorder.reset()
    begun = time.perf_counter_ns()
    pass_time(20_000_000)
    before, now, after = time.perf_counter_ns(), recorder.now(), time.perf_counter_ns()
    # The rate was told from 30 ms between two readings, each a few microseconds wide at worst: 1 part in 1000 at the
    # very most.
    slack = (after - begun) // 1000
    assert before - slack <= now <= after + slack
    times = [recorder.now() for _ in range(1000)]
    assert times == sorted(times)


@needs_native
def test_wrong_calls_raise_and_leave_nothing_open():
    def work(recorder: Any) -> None:
        for call in (
            lambda: recorder.enter_op(ADD),
            lambda: recorder.enter_op(ADD, (), "x"),
            lambda: recorder.enter_node(1, 2),
            lambda: recorder.enter_scope(),
            lambda: recorder.renew([]),
            lambda: recorder.bind(3),
            lambda: split_rows([(bytearray(3), 0, 5)]),
        ):
            with pytest.raises((TypeError, ValueError)):
                call()

    assert len(record(NativeRecorder, work)) == 0


@needs_native
def test_arrays_of_another_layout_are_not_read():
    samples = array_samples()
    array, data, *rest = samples[0]
    assert native.setup(torch.Tensor, np.ndarray, [(array, data + 8, *rest)]) is False
    assert native.setup(torch.Tensor, np.ndarray, samples) is True


@needs_native
def test_storages_and_blocks_die_quietly():
    with profile(profile_memory=True) as prof:
        x = torch.ones(1000) + 1
        y = x.view(10, 100)
        del x
    with profile(profile_memory=True):
        del y  # what another profile saw come is not reported twice
    assert 4000 in prof.profiler.store.memory.nbytes.tolist()


@needs_native
def test_many_threads_at_once():
    x = torch.ones(4)
    with profile(
        record_shapes=True, profile_memory=True, experimental_config=_ExperimentalConfig(profile_all_threads=True)
    ) as prof:

        def work() -> None:
            for i in range(300):
                with record_function(f"scope {i % 7}"):
                    (x + x) * x

        threads = [threading.Thread(target=work) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    store = prof.profiler.store
    names = [store.name_of(r) for r in range(len(store))]
    assert names.count("aten::add") == names.count("aten::mul") == 1800
    for row, parent in enumerate(store.parent.tolist()):
        assert (parent < 0) == names[row].startswith("scope") and (
            parent < 0 or store.thread[row] == store.thread[parent]
        )


@needs_native
def test_deep_stacks_and_recursion():
    def down(n: int) -> Any:
        return torch.ones(1) + 1 if n == 0 else down(n - 1)

    with profile(with_stack=True) as prof:
        down(300)
    store = prof.profiler.store
    add = next(r for r in range(len(store)) if store.name_of(r) == "aten::add")
    assert sum(frame.endswith(": down") for frame in store.stack_of(add)) == 301


@needs_native
@pytest.mark.filterwarnings("ignore:Python calls are missing from this profile")  # before Python 3.12
def test_a_profile_function_that_comes_and_goes_inside_is_survived():
    x = torch.ones(2)

    def noisy() -> None:
        sys.setprofile(lambda *args: None)
        x + x
        sys.setprofile(None)

    with profile(with_stack=True) as prof:
        noisy()
        x * x
    assert {"aten::add", "aten::mul"} <= {e.name for e in prof.events()}
    assert sys.getprofile() is None


def test_arguments_that_are_no_numbers_are_told_apart():
    x = torch.ones(2)

    with profile(record_shapes=True) as prof:
        for _ in range(2):  # described first, then found again
            torch.zeros(2, dtype=torch.float64)
            torch.zeros(2, dtype=torch.int32, device="cpu")
            torch.zeros(2, device="meta")
            x.clone(memory_format=torch.contiguous_format)
            x.clone(memory_format=torch.preserve_format)
    store = store_of(prof)
    rows = [row for row, name in enumerate(names(store)) if name in ("aten::zeros", "aten::clone")]
    numbers = [store.columns["inputs"][row] for row in rows]
    assert numbers[:5] == numbers[5:]
    assert [store.inputs_of(row).values for row in rows[:5]] == [
        ((2,), 7, None, None, False),
        ((2,), 3, None, None, False),
        ((2,), None, None, None, False),
        (None, 0),
        (None, 1),
    ]

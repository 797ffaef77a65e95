"""Threads and processes."""

from __future__ import annotations

import contextvars
import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import _observer, _storage
from mindtorch_v2._quiet import quiet
from mindtorch_v2.profiler import _ExperimentalConfig, profile, record_function

from ..helpers import assert_sound, names, store_of

ALL_THREADS = {"experimental_config": _ExperimentalConfig(profile_all_threads=True)}


def run_in_thread(work) -> None:
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


@pytest.fixture
def x():
    return torch.ones(2)


def test_other_threads_are_left_out(x):
    with profile() as prof:
        run_in_thread(lambda: x * x)
        x + x
    assert names(store_of(prof)) == ["aten::add"]


def test_all_threads_on_request(x):
    with profile(profile_memory=True, **ALL_THREADS) as prof:
        run_in_thread(lambda: x * x)
        x + x
    store = store_of(prof)
    assert_sound(store)
    assert sorted(names(store)) == ["aten::add", "aten::mul"]
    assert len({store.threads[t].os_id for t in store.thread.tolist()}) == 2
    assert 8 in store.memory.nbytes.tolist()


def test_a_thread_that_was_there_before(x):
    go, done = threading.Event(), threading.Event()

    def work() -> None:
        go.wait()
        x * x
        done.set()

    thread = threading.Thread(target=work)
    thread.start()
    with profile(**ALL_THREADS) as prof:
        go.set()
        done.wait()
    thread.join()
    assert names(store_of(prof)) == ["aten::mul"]


def test_profiles_on_two_threads_overlap(x):
    found = {}
    started, finish = threading.Event(), threading.Event()

    def work() -> None:
        with profile() as prof:
            started.set()
            x * x
            finish.wait()
        found["other"] = names(store_of(prof))

    thread = threading.Thread(target=work)
    with profile() as prof:
        thread.start()
        started.wait()
        x + x
    finish.set()
    thread.join()
    assert names(store_of(prof)) == ["aten::add"]
    assert found["other"] == ["aten::mul"]


def test_a_profile_stopped_by_another_thread_loses_nothing(x):
    prof = profile()
    prof.start()
    x + x
    run_in_thread(prof.stop)
    x * x
    assert names(store_of(prof)) == ["aten::add"]
    assert _observer.active is None


def test_a_thread_whose_profile_ended_elsewhere_is_not_recorded_further(x):
    prof = profile()
    prof.start()
    with profile(**ALL_THREADS):
        run_in_thread(prof.stop)
        x + x
    with profile() as again:
        x * x
    assert names(store_of(again)) == ["aten::mul"]


def test_backward_names_the_thread_of_the_forward(x):
    w = torch.ones(2, requires_grad=True)
    with profile() as prof:
        (w * w).sum().backward()
    store = store_of(prof)
    row = names(store).index("SumBackward0")
    assert store.forward_thread[row] == store.threads[0].id
    assert store.forward_thread[names(store).index("torch::autograd::AccumulateGrad")] == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_is_not_recorded_and_does_not_disturb_the_parent(x):
    with profile(with_stack=True, profile_memory=True) as prof:
        with record_function("around"):
            child = os.fork()
            if child == 0:
                clean = _observer.active is None
                x * x
                with profile() as own:
                    x - x
                prof.stop()
                os._exit(0 if clean and names(store_of(own)) == ["aten::sub"] and not len(prof.events()) else 1)
            _, status = os.waitpid(child, 0)
        x + x
    assert os.waitstatus_to_exitcode(status) == 0
    ops = [n for n in names(store_of(prof)) if n.startswith("aten::")]
    assert ops == ["aten::add"]


def inner() -> int:
    return 1


class Worker:
    """A thread that waits until it is told to go on, then calls something three times and runs an operator where it
    is to.
    """

    def __init__(self, with_op: bool) -> None:
        self.go, self.done = threading.Event(), threading.Event()
        self.with_op = with_op
        self.thread = threading.Thread(target=self.run)

    def run(self) -> None:
        self.go.wait()
        for _ in range(3):
            inner()
        if self.with_op:
            torch.ones(1)
        self.done.set()

    def finish(self) -> None:
        self.go.set()
        self.done.wait()
        self.thread.join()


def calls(prof) -> list[tuple[str, int]]:
    """Calls of `inner` and operators, with whether they ran on the thread of the profile."""
    store = store_of(prof)
    shown = [(store.name_of(row).rpartition(": ")[2], store.threads[store.thread[row]].id) for row in range(len(store))]
    return [(name, number) for name, number in shown if name in ("inner", "aten::ones")]


needs_native = pytest.mark.skipif(
    _storage.native is None, reason="Python alone cannot trace a thread that runs already"
)


@needs_native
@pytest.mark.parametrize("everyone", [False, True])
@pytest.mark.parametrize("with_op", [False, True])
def test_python_calls_of_a_thread_that_ran_already(everyone, with_op):
    worker = Worker(with_op)
    worker.thread.start()
    with profile(with_stack=True, experimental_config=_ExperimentalConfig(profile_all_threads=everyone)) as prof:
        worker.finish()
        inner()
    here = store_of(prof).threads[0].id
    assert [name for name, number in calls(prof) if number != here] == ["inner"] * 3 + ["aten::ones"] * (
        everyone and with_op
    )
    assert [name for name, number in calls(prof) if number == here] == ["inner"]
    assert prof.validate() == []
    assert threading.getprofile() is None


@pytest.mark.parametrize("with_op", [False, True])
def test_python_calls_of_a_new_thread(with_op):
    with profile(with_stack=True, experimental_config=_ExperimentalConfig(profile_all_threads=True)) as prof:
        worker = Worker(with_op)
        worker.thread.start()
        worker.finish()
    assert [name for name, _ in calls(prof)] == ["inner"] * 3 + ["aten::ones"] * with_op
    assert threading.getprofile() is None


@needs_native
def test_a_thread_that_never_woke_is_left_alone():
    worker = Worker(False)
    worker.thread.start()
    with profile(with_stack=True) as prof:
        inner()
    worker.finish()
    assert [name for name, _ in calls(prof)] == ["inner"]
    with profile(with_stack=True) as prof:
        inner()
    assert len(store_of(prof).threads) == 1


@needs_native
def test_other_profile_functions_stay():
    seen, ready, go = [], threading.Event(), threading.Event()

    def run() -> None:
        sys.setprofile(lambda frame, event, arg: seen.append(event))
        ready.set()
        go.wait()
        inner()
        sys.setprofile(None)

    other = threading.Thread(target=run)
    other.start()
    ready.wait()
    before = len(seen)
    with profile(with_stack=True):
        go.set()
        other.join()
    assert "call" in seen[before:]


def handler_in_use() -> str:
    """The name of numpy's memory handler, for what the calling context allocates from now on."""
    np.empty(1)
    return np._core.multiarray.get_handler_name()


@pytest.mark.parametrize("turns", [1, 2])
def test_numpys_allocation_handler_is_its_own_again_in_every_thread_and_context(turns, x):
    with ThreadPoolExecutor(1) as pool:
        for _ in range(turns):
            with profile(profile_memory=True, **ALL_THREADS) as prof:
                pool.submit(lambda: x * x).result()
                x + x
                copied = contextvars.copy_context()
            assert store_of(prof).memory.nbytes.tolist().count(8) == 2
        assert pool.submit(handler_in_use).result() == "default_allocator"
    assert handler_in_use() == copied.run(handler_in_use) == "default_allocator"


@pytest.mark.skipif(_storage.native is None, reason="the Python recorder asks tracemalloc")
def test_kernels_are_watched_after_one_that_ran_while_a_profile_ended_and_another_began():
    def span() -> None:
        first.stop()
        np.empty(1)
        run_in_thread(second.start)

    first, second = profile(profile_memory=True), profile(profile_memory=True)
    first.start()
    quiet(span)()
    assert quiet(handler_in_use)() == "mindtorch_v2.profiler"
    run_in_thread(second.stop)
    assert quiet(handler_in_use)() == handler_in_use() == "default_allocator"

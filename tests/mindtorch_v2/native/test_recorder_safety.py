"""Recording while anything goes on: threads, forks, errors, interrupts, finalisers, other tools.

These run on whichever recorder the process has; test_recorder.py runs them again on the other one.
"""

from __future__ import annotations

import asyncio
import gc
import os
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import _observer
from mindtorch_v2._storage import native
from mindtorch_v2.profiler import _ExperimentalConfig, profile, record_function

from ..profiler.helpers import assert_sound, names, store_of
from .safety import EVERYTHING, ops, python_calls, tools

pytestmark = pytest.mark.usefixtures("nothing_is_left")

ALL_THREADS = {"experimental_config": _ExperimentalConfig(profile_all_threads=True)}
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


# --- threads
def test_one_thread_stops_while_others_record(x):
    quit_, failures = threading.Event(), []

    def work() -> None:
        try:
            while not quit_.is_set():
                with record_function("scope"):
                    ((x + x) * x).sum()
        except BaseException as error:  # noqa: BLE001 - told to the test
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    stores = []
    try:
        for _ in range(25 if native is not None else 5):  # without it, the others leave this thread a fifth of the time
            with profile(**EVERYTHING, **ALL_THREADS) as prof:
                for _ in range(5):
                    x + x
            stores.append(store_of(prof))
    finally:
        quit_.set()
        for thread in threads:
            thread.join()
    assert not failures
    for store in stores:
        assert_sound(store)
        called = names(store)
        main = [info.name for info in store.threads].index("MainThread")  # the others may have been seen first
        mine = [r for r in range(len(store)) if store.thread[r] == main and called[r] == "aten::add"]
        assert len(mine) == 5


def test_profiles_that_start_and_stop_on_many_threads_at_once(x):
    found: list[list[str]] = []

    def work() -> None:
        for _ in range(20):
            with profile(**EVERYTHING) as prof:
                x * x
            found.append(ops(store_of(prof)))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [["aten::mul"]] * 80


def test_thousands_of_threads(x):
    with profile(**EVERYTHING, **ALL_THREADS) as prof:
        for _ in range(40):
            threads = [threading.Thread(target=lambda: x * x) for _ in range(50)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
    store = store_of(prof)
    assert_sound(store)
    assert ops(store) == ["aten::mul"] * 2000
    assert len({int(store.thread[r]) for r, n in enumerate(names(store)) if n == "aten::mul"}) == 2000


def test_a_thread_traced_by_a_profile_that_another_one_stopped(x):
    started, stopped = threading.Event(), threading.Event()
    found = {}

    def work() -> None:
        prof = profile(with_stack=True)
        prof.start()
        found["prof"] = prof
        x + x
        started.set()
        stopped.wait()
        (lambda: x * x)()
        found["hook"] = sys.getprofile()

    thread = threading.Thread(target=work)
    thread.start()
    started.wait()
    found["prof"].stop()
    stopped.set()
    thread.join()
    assert ops(store_of(found["prof"])) == ["aten::add"] and found["hook"] is None


# --- forks
def _in_child(check: Callable[[], bool]) -> bool:
    """Whether the check holds in a forked child; an error there counts as no."""
    child = os.fork()
    if child == 0:
        code = 2
        try:
            code = 0 if check() else 1
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def _child_is_free(x: Any) -> bool:
    free = _observer.active is None and sys.getprofile() is None and not tools()
    (lambda: x * x)()
    with profile(**EVERYTHING, **ALL_THREADS) as own:
        x - x
    return free and ops(store_of(own)) == ["aten::sub"]


@needs_fork
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork.*:DeprecationWarning")
@pytest.mark.parametrize("inside", ["profile", "scope", "hook", "generator"])
def test_fork_during_a_profile(x, inside):
    quit_ = threading.Event()

    def others() -> None:
        while not quit_.is_set():
            x * x

    thread = threading.Thread(target=others)
    w = torch.ones(2, requires_grad=True)
    found = []

    def fork(grad: Any = None) -> None:
        found.append(_in_child(lambda: _child_is_free(x)))

    def numbers() -> Iterator[int]:
        fork()
        yield 1

    with profile(**EVERYTHING, **ALL_THREADS) as prof:
        thread.start()
        if inside == "profile":
            fork()
        elif inside == "scope":
            with record_function("scope"):
                fork()
        elif inside == "hook":
            y = w * 2
            y.register_hook(fork)
            y.sum().backward()
        else:
            list(numbers())
        x + x
        quit_.set()
        thread.join()
    store = store_of(prof)
    assert found == [True]
    assert_sound(store)
    assert "aten::add" in ops(store) and "aten::sub" not in ops(store)


# --- errors
class Trouble(Exception):
    pass


# --- generators and coroutines
def test_generators_that_are_thrown_into_closed_and_dropped(x):
    def numbers() -> Iterator[int]:
        try:
            while True:
                x + x
                yield 1
        except Trouble:
            x - x
            yield 2
        finally:
            x * x

    with profile(**EVERYTHING) as prof:
        thrown, closed, dropped = numbers(), numbers(), numbers()
        assert [next(g) for g in (thrown, closed, dropped)] == [1, 1, 1]
        assert thrown.throw(Trouble()) == 2
        with pytest.raises(StopIteration):
            next(thrown)
        closed.close()
        del dropped
        gc.collect()
    store = store_of(prof)
    assert_sound(store)
    assert sorted(ops(store)) == ["aten::add"] * 3 + ["aten::mul"] * 3 + ["aten::sub"]


def test_coroutines_that_take_turns(x):
    async def task(n: int) -> int:
        total = 0
        for _ in range(n):
            total += int((x + x).sum().item())
            await asyncio.sleep(0)
        return total

    async def main() -> list[int]:
        return await asyncio.gather(*(task(n) for n in range(1, 6)))

    with profile(**EVERYTHING) as prof:
        assert asyncio.run(main()) == [4, 8, 12, 16, 20]
    store = store_of(prof)
    assert_sound(store)
    assert ops(store).count("aten::add") == 15
    for row, name in enumerate(names(store)):
        if name == "aten::add":
            assert names(store)[store.parent[row]].endswith(": task")


def test_async_generators_and_context_managers(x):
    async def numbers() -> Any:
        for i in range(3):
            x + x
            yield i

    async def main() -> list[int]:
        with record_function("around"):
            return [i async for i in numbers()]

    with profile(**EVERYTHING) as prof:
        assert asyncio.run(main()) == [0, 1, 2]
    store = store_of(prof)
    assert_sound(store)
    assert ops(store).count("aten::add") == 3


def test_a_profile_begins_and_ends_in_different_functions(x):
    prof = profile(**EVERYTHING)

    def begin() -> None:
        prof.start()
        x + x

    def end() -> None:
        x * x
        prof.stop()

    def both() -> Iterator[None]:
        begin()
        yield
        x - x
        end()

    for _ in both():
        (lambda: x / x)()
    store = store_of(prof)
    assert_sound(store)
    assert ops(store) == ["aten::add", "aten::div", "aten::sub", "aten::mul"]
    assert python_calls(store, "begin") == python_calls(store, "end") == 1


def test_profiles_that_overlap_crosswise(x):
    first, second = profile(**EVERYTHING), profile(**EVERYTHING)

    def inner() -> None:
        second.start()
        x * x
        first.stop()

    first.start()
    x + x
    inner()
    (lambda: x - x)()
    second.stop()
    assert_sound(store_of(first))
    assert_sound(store_of(second))
    assert ops(store_of(first)) == ["aten::add", "aten::mul"] and ops(store_of(second)) == ["aten::mul", "aten::sub"]

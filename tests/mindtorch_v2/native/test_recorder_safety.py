"""Recording while anything goes on: threads, forks, errors, interrupts, finalisers, other tools.

These run on whichever recorder the process has; test_recorder.py runs them again on the other one.
"""

from __future__ import annotations

import asyncio
import cProfile
import gc
import itertools
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import _native, _observer, nn
from mindtorch_v2._storage import native
from mindtorch_v2.profiler import _ExperimentalConfig, profile, record_function
from mindtorch_v2.profiler.record import clock as clocks
from mindtorch_v2.profiler.record import session
from mindtorch_v2.profiler.store.event_store import EventStore

from ..profiler.helpers import assert_sound, names, store_of
from ..profiler.record.test_scratch_memory import blocks_of, peak

EVERYTHING = {"record_shapes": True, "profile_memory": True, "with_stack": True, "with_modules": True}
ALL_THREADS = {"experimental_config": _ExperimentalConfig(profile_all_threads=True)}
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    """After every test nothing watches the process any more, and a profile works."""
    yield
    assert _observer.active is None and sys.getprofile() is None and not tools()
    x = torch.ones(2)
    with profile(**EVERYTHING) as prof:
        x + x
    assert ops(store_of(prof)) == ["aten::add"]


@pytest.fixture
def x() -> Any:
    return torch.ones(2)


def tools() -> list[str]:
    """Who uses sys.monitoring; nobody before it came."""
    monitoring: Any = getattr(sys, "monitoring", None)
    return [] if monitoring is None else [name for n in range(6) if (name := monitoring.get_tool(n)) is not None]


def ops(store: EventStore) -> list[str]:
    return [n for n in names(store) if n.startswith("aten::")]


def python_calls(store: EventStore, name: str) -> int:
    return sum(n.endswith(f": {name}") for n in names(store))


def training_step() -> Callable[[], None]:
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    data = torch.ones(3, 4)

    def step() -> None:
        optimizer.zero_grad()
        model(data).sum().backward()
        optimizer.step()

    return step


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


def test_errors_end_the_events_they_pass(x):
    w = torch.ones(2, requires_grad=True)
    layer = nn.Linear(2, 2)

    def fails(*_: Any) -> None:
        raise Trouble

    def in_scope() -> None:
        with record_function("outer"), record_function("inner"):
            fails()

    def in_hook() -> None:
        y = w * 2
        y.register_hook(fails)
        y.sum().backward()

    def in_module() -> None:
        handle = layer.register_forward_hook(fails)
        try:
            layer(torch.ones(1, 2))
        finally:
            handle.remove()

    with profile(**EVERYTHING) as prof:
        for work, error in (
            (in_scope, Trouble),
            (in_hook, Trouble),
            (in_module, Trouble),
            (lambda: torch.ones(2) + torch.ones(3), RuntimeError),
            (lambda: torch.ones(2) @ torch.ones(3), RuntimeError),
        ):
            for _ in range(2):
                with pytest.raises(error):
                    work()
        x - x
    store = store_of(prof)
    assert_sound(store)
    sub = names(store).index("aten::sub")
    assert names(store)[store.parent[sub]].endswith("test_errors_end_the_events_they_pass")
    closed = [r for r, n in enumerate(names(store)) if n in ("outer", "inner", "aten::add", "aten::matmul")]
    assert len(closed) == 8 and not store.flags[closed].any()


class FailingClock:
    """Raises at one reading."""

    def __init__(self, fails_at: int, what: Callable[[], None]) -> None:
        self.readings, self.fails_at, self.what = 0, fails_at, what

    def now(self) -> int:
        self.readings += 1
        if self.readings == self.fails_at:
            self.what()
        return 10 * self.readings

    def epoch_offset(self) -> int:
        return 0


def _raise() -> None:
    raise Trouble("the clock is broken")


@pytest.mark.parametrize("flags", [{}, EVERYTHING], ids=["plain", "everything"])
def test_a_clock_that_fails_fails_one_call(flags, x):
    """Wherever it happens: what was asked for raises, the profile ends, and its tree is sound."""
    w = torch.ones(2, requires_grad=True)
    ended = 0
    for fails_at in itertools.count(1):
        clock, prof = FailingClock(fails_at, _raise), profile(**flags)
        with clocks.use(clock):
            try:
                with prof, record_function("scope"):
                    (w * x).sum().backward()
            except Trouble:
                pass
        assert _observer.active is None and sys.getprofile() is None and not tools()
        if prof.profiler is not None and prof.profiler.has_results:
            assert_sound(store_of(prof))
            ended += 1
        if clock.readings < fails_at:
            break
    assert ended > 5


@pytest.mark.parametrize("flags", [{}, EVERYTHING], ids=["plain", "everything"])
def test_a_clock_that_ends_the_profile(flags, x):
    """Reading the time may run anything; here, at every reading in turn, what ends the recording."""
    w = torch.ones(2, requires_grad=True)
    for reading in itertools.count(1):
        prof = profile(**flags)
        clock = FailingClock(0, prof.stop)
        with clocks.use(clock):
            prof.start()
            ends_at = clock.fails_at = clock.readings + reading
            with record_function("scope"):
                (w * x).sum().backward()
            if clock.readings < ends_at:
                prof.stop()
                break
        assert _observer.active is None
        assert_sound(store_of(prof))
    a = torch.ones(512, 512)
    # ended inside an operator, none of them has left its allocator undone
    with profile(profile_memory=True) as later:
        torch.lerp(a, a, 0.3)
    assert not _native.available() or peak(blocks_of(later)) > 2 * a.nbytes  # the result and scratch memory


SHOWN_IN_STEPS: dict[str, Callable[[Any], Any]] = {
    "add": lambda m: m + m,
    "relu": torch.relu,
    "relu_": lambda m: m.clone().relu_(),
    "t": lambda m: m.t(),
    "detach": lambda m: m.detach(),
    "mm": lambda m: m.mm(m),
    "matmul": lambda m: m @ m,
    "addmm": lambda m: torch.addmm(m[0], m, m),
    "linear": lambda m: nn.functional.linear(m, m),
}


@pytest.mark.parametrize("name", SHOWN_IN_STEPS)
def test_a_clock_that_ends_the_profile_between_an_operators_steps(name):
    """The call goes on without anyone to tell, and gives what it gives."""
    m = torch.arange(9.0).reshape(3, 3) - 4
    expected = SHOWN_IN_STEPS[name](m).tolist()
    for reading in itertools.count(1):
        prof = profile(record_shapes=True, profile_memory=True)
        clock = FailingClock(0, prof.stop)
        with clocks.use(clock):
            prof.start()
            ends_at = clock.fails_at = clock.readings + reading
            assert SHOWN_IN_STEPS[name](m).tolist() == expected
            if clock.readings < ends_at:
                prof.stop()
                break
        assert_sound(store_of(prof))


class Stopper:
    """A listener that ends a profile at one of the calls it sees."""

    def __init__(self, prof: Any, at: int) -> None:
        self.prof, self.left = prof, at

    def _count(self, *_: Any) -> None:
        self.left -= 1
        if self.left == 0:
            self.prof.stop()

    enter = leave = outputs = _count


def test_a_listener_that_ends_the_profile(x):
    w = torch.ones(2, requires_grad=True)
    left = -1
    for at in itertools.count(1):
        prof = profile(**EVERYTHING)
        stopper = Stopper(prof, at)
        session.add_listener(stopper)
        prof.start()
        with record_function("scope"):
            (w * x).sum().backward()
        left = stopper.left
        if left > 0:
            prof.stop()
        session.remove_listener(stopper)
        assert_sound(store_of(prof))
        if left > 0:
            break
    assert at > 10


def test_an_interrupt_inside_a_hook(x):
    w = torch.ones(2, requires_grad=True)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)

    def interrupt(grad: Any) -> None:
        signal.raise_signal(signal.SIGINT)

    try:
        with profile(**EVERYTHING) as prof:
            with pytest.raises(KeyboardInterrupt), record_function("scope"):
                y = w * 2
                y.register_hook(interrupt)
                y.sum().backward()
            x + x
    finally:
        signal.signal(signal.SIGINT, before)
    store = store_of(prof)
    assert_sound(store)
    assert names(store)[store.parent[names(store).index("aten::add")]].endswith("test_an_interrupt_inside_a_hook")


def test_the_recursion_limit(x):
    def down() -> None:
        x + x
        down()

    with profile(**EVERYTHING) as prof:
        for _ in range(3):
            with pytest.raises(RecursionError):
                down()
        x * x
    store = store_of(prof)
    assert_sound(store)
    assert python_calls(store, "down") > 300
    multiplied = names(store).index("aten::mul")
    # A profile function in Python meets the limit itself at the innermost return; the interpreter then takes it away.
    if native is not None or not hasattr(sys, "monitoring"):
        assert names(store)[store.parent[multiplied]].endswith("test_the_recursion_limit")


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


# --- garbage
class Cycle:
    """Garbage that does something when it is collected."""

    def __init__(self, work: Callable[[], None]) -> None:
        self.me, self.work = self, work

    def __del__(self) -> None:
        self.work()


@pytest.fixture
def eager_collector() -> Iterator[None]:
    before = gc.get_threshold()
    gc.set_threshold(1, 1, 1)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def test_finalisers_run_operators_inside_events(x, eager_collector):
    step = training_step()

    def finalise() -> None:
        with record_function("finaliser"), torch.no_grad():
            x * x

    def litter(*_: Any) -> None:
        Cycle(finalise)

    step()
    with profile(**EVERYTHING) as prof:
        for _ in range(10):
            with record_function("step"):
                litter()
                step()
        gc.collect()
    store = store_of(prof)
    assert_sound(store)
    assert names(store).count("finaliser") == 10
    for row, name in enumerate(names(store)):
        if name == "finaliser":
            inside = [r for r in range(len(store)) if store.parent[r] == row]
            assert "aten::mul" in [names(store)[r] for r in inside]


def test_a_collection_changes_no_events(eager_collector):
    """The operators of a step are the same, in the same tree, however often the collector runs in the middle."""
    step = training_step()

    def tree_of_ops() -> list[tuple[str, str]]:
        with profile(record_shapes=True, profile_memory=True, with_modules=True) as prof:
            step()
        store = store_of(prof)
        assert_sound(store)
        return [(n, names(store)[store.parent[r]] if store.parent[r] >= 0 else "") for r, n in enumerate(names(store))]

    step()
    eager = tree_of_ops()
    gc.disable()
    try:
        assert tree_of_ops() == eager
    finally:
        gc.enable()


def test_collections_and_callbacks_inside_events(x):
    layer = nn.Linear(2, 2)

    def note(phase: str, info: dict[str, int]) -> None:
        x - x

    handle = layer.register_forward_hook(lambda *_: gc.collect() and None)
    gc.callbacks.append(note)
    config = _ExperimentalConfig(record_python_gc_info=True)
    try:
        with profile(**EVERYTHING, experimental_config=config) as prof:
            for _ in range(3):
                layer(torch.ones(1, 2))
    finally:
        gc.callbacks.remove(note)
        handle.remove()
    store = store_of(prof)
    assert_sound(store)
    assert names(store).count("Python GC") >= 3 and ops(store).count("aten::sub") >= 6


def test_a_finaliser_ends_the_profile(eager_collector, x):
    step = training_step()
    step()
    for _ in range(30):
        prof = profile(**EVERYTHING)
        prof.start()
        Cycle(prof.stop)
        for _ in range(3):
            step()
        gc.collect()
        assert _observer.active is None
        assert_sound(store_of(prof))


def test_a_finaliser_ends_the_profile_wherever_a_call_is_traced(eager_collector):
    def nothing() -> None:
        pass

    for threshold in range(1, 40):
        prof = profile(with_stack=True)
        gc.disable()
        prof.start()
        Cycle(prof.stop)
        kept: list[Any] = []
        gc.set_threshold(threshold, 1, 1)
        gc.enable()
        for _ in range(30):
            kept.append([])
            nothing()
        gc.collect()
        assert sys.getprofile() is None and _observer.active is None


def test_a_gradient_that_a_leaf_takes_over_is_not_reported_as_gone():
    w = torch.ones(10, 10, requires_grad=True)
    with profile(profile_memory=True) as prof:
        (w * torch.ones(10, 10)).sum().backward()
        address = w.grad.data_ptr()
    memory = store_of(prof).memory
    last = [n for a, n in zip(memory.columns["address"].tolist(), memory.nbytes.tolist()) if a == address][-1]
    assert last == 400


def test_memory_that_outlives_its_profile(x):
    kept = []
    for _ in range(3):
        with profile(profile_memory=True) as prof:
            kept.append(torch.ones(100) + 1)
            gc.collect()
        assert 400 in store_of(prof).memory.nbytes.tolist()
    thread = threading.Thread(target=kept.clear)
    with profile(profile_memory=True):
        thread.start()
        thread.join()


# --- other tools
def helper(x: Any) -> int:
    y = x + x
    return len([y])


@pytest.mark.parametrize("all_taken", [False, True], ids=["", "no number is free"])
def test_another_profile_function_sees_the_same_with_and_without(x, all_taken):
    monitoring: Any = getattr(sys, "monitoring", None)
    if all_taken and monitoring is None:
        pytest.skip("before sys.monitoring")
    taken = range(6) if all_taken else ()
    for n in taken:
        monitoring.use_tool_id(n, f"tool {n}")

    def calls(profiled: bool) -> list[str]:
        seen: list[str] = []

        def mine(frame: Any, event: str, arg: Any) -> None:
            if frame.f_code.co_name == "helper":
                seen.append(event)

        prof = profile(**EVERYTHING)
        sys.setprofile(mine)
        try:
            if profiled:
                prof.start()
            helper(x)
            if profiled:
                prof.stop()
                assert python_calls(store_of(prof), "helper") == 1
                assert "<built-in function len>" in names(store_of(prof))
            assert sys.getprofile() is mine
        finally:
            sys.setprofile(None)
        return seen

    try:
        want = calls(False)
        assert "call" in want and "return" in want
        assert calls(True) == want
    finally:
        for n in taken:
            monitoring.free_tool_id(n)


def test_a_debugger_sees_every_line(x):
    lines: list[int] = []

    def trace(frame: Any, event: str, arg: Any) -> Any:
        if frame.f_code is helper.__code__ and event == "line":
            lines.append(frame.f_lineno)
        return trace

    before = sys.gettrace()
    with profile(**EVERYTHING) as prof:
        sys.settrace(trace)
        helper(x)
        sys.settrace(before)
    first = helper.__code__.co_firstlineno
    assert lines == [first + 1, first + 2]
    assert python_calls(store_of(prof), "helper") == 1


@pytest.mark.parametrize("order", ["inside", "around", "crosswise"])
def test_cprofile_at_the_same_time(x, order):
    other, prof = cProfile.Profile(), profile(**EVERYTHING)
    begin, end = [other.enable, prof.start], [other.disable, prof.stop]
    if order == "inside":
        begin.reverse()
    if order != "crosswise":
        end.reverse()
    for call in begin:
        call()
    helper(x)
    for call in end:
        call()
    assert ops(store_of(prof)).count("aten::add") == 1
    other.create_stats()
    if order == "around" or hasattr(sys, "monitoring"):
        assert any(name == "helper" for _, _, name in other.stats)  # type: ignore[attr-defined]


@pytest.mark.skipif(not hasattr(sys, "monitoring"), reason="before sys.monitoring")
def test_other_tools_of_monitoring_see_the_inside_of_operators(x):
    monitoring: Any = sys.monitoring  # type: ignore[attr-defined]
    seen: list[str] = []

    def started(code: Any, offset: int) -> None:
        seen.append(code.co_name)

    def run() -> list[str]:
        seen.clear()
        helper(x)
        torch.softmax(x, -1)
        return [n for n in seen if not n.startswith("<")]

    run()  # what is made at the first call is made
    monitoring.use_tool_id(1, "a coverage tool")
    try:
        monitoring.register_callback(1, monitoring.events.PY_START, started)
        monitoring.set_events(1, monitoring.events.PY_START)
        without = run()
        with profile(with_stack=True) as prof:
            inside = run()
        assert set(without) <= set(inside) and python_calls(store_of(prof), "helper") == 1
        assert monitoring.get_tool(1) == "a coverage tool" and monitoring.get_events(1) == monitoring.events.PY_START
    finally:
        monitoring.set_events(1, 0)
        monitoring.free_tool_id(1)
    assert not tools()

"""Errors, failing clocks, listeners, interrupts and deep recursion while a profile records."""

from __future__ import annotations

import itertools
import signal
import sys
from collections.abc import Callable
from typing import Any

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import _native, _observer, nn
from mindtorch_v2._storage import native
from mindtorch_v2.profiler import profile, record_function
from mindtorch_v2.profiler.record import clock as clocks
from mindtorch_v2.profiler.record import session

from ..profiler.helpers import assert_sound, names, store_of
from ..profiler.record.test_scratch_memory import blocks_of, peak
from .safety import EVERYTHING, python_calls, tools

pytestmark = [
    pytest.mark.usefixtures("nothing_is_left"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),  # errors inside __del__
]


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
    assert not _native.available() or peak(blocks_of(later)) > a.nbytes  # the result and scratch memory


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

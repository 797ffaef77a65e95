"""An interrupt that comes while the tracer describes a function does not keep that function from being called."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import mindtorch_v2 as torch
from mindtorch_v2._storage import native
from mindtorch_v2.profiler import profile
from mindtorch_v2.profiler.record import native_recorder

from ..interrupts import Interrupt, assert_nothing_is_left

pytestmark = [
    pytest.mark.skipif(native is None, reason="the native recorder was not built or is switched off"),
    pytest.mark.skipif(
        threading.current_thread() is not threading.main_thread(), reason="signal handlers run on the main thread alone"
    ),
]


class Later:
    """A function that raises an Interrupt the first `times` that it is asked about a function of the name."""

    def __init__(self, name: str, times: int, answer: Any) -> None:
        self.name, self.left, self.answer = name, times, answer

    def __call__(self, function: Any) -> Any:
        if self.left and function.__name__ == self.name:
            self.left -= 1
            raise Interrupt(f"at {self.name}")
        return self.answer(function)


@pytest.mark.parametrize("times", [1, 3])
def test_the_end_of_a_mode(monkeypatch: pytest.MonkeyPatch, times: int) -> None:
    """`with` calls the mode's `__exit__`, which is written in C: if that were not called, gradients would stay off."""
    later = Later("__exit__", times, native_recorder.is_own_function)
    monkeypatch.setattr(native_recorder, "is_own_function", later)
    reached = []
    with pytest.raises(Interrupt, match="at __exit__"), profile(with_stack=True):
        with torch.no_grad():
            torch.ones(1) + 1
        for _ in range(3):
            reached.append(torch.is_grad_enabled())
    assert later.left == 0 and set(reached) <= {True}
    assert_nothing_is_left()


def test_a_function_in_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """The call goes on, or has not begun, and its row is there; the interrupt comes to the caller or the function, once."""

    def code_class(code: Any, left: list[int] = [1], answer: Any = native_recorder.code_class) -> Any:  # noqa: B006 - state
        if left and code.co_name == "called":
            left.pop()
            raise Interrupt("at called")
        return answer(code)

    def called() -> None:
        reached.append(1)

    monkeypatch.setattr(native_recorder, "code_class", code_class)
    reached: list[int] = []
    prof = profile(with_stack=True)
    with prof:
        with pytest.raises(Interrupt, match="at called"):
            called()
            called()
        called()
    assert_nothing_is_left()
    assert (
        len(
            [
                name
                for name in map(prof.profiler.store.name_of, range(len(prof.profiler.store)))
                if name.endswith(": called")
            ]
        )
        >= 2
    )


def test_a_failure_that_comes_each_time_is_the_callers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native_recorder, "is_own_function", Later("getrandbits", 100, native_recorder.is_own_function))
    import random

    with pytest.raises(Interrupt, match="at getrandbits"), profile(with_stack=True):
        random.getrandbits(3)
    assert_nothing_is_left()

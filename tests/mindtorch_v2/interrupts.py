"""Interrupts at chosen moments, and what must hold after each."""

from __future__ import annotations

import gc
import os
import sys
import threading
import tracemalloc
from collections import Counter
from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy as np

import mindtorch_v2 as torch
from mindtorch_v2 import _guarded, _observer
from mindtorch_v2._dispatch import modes
from mindtorch_v2.profiler.record import session

lines_hit: list[str] = []  # where interrupts came, for whoever looks for the cause of a failure
PACKAGE = os.path.dirname(torch.__file__)


# In C the guard has no lines; the lines of its fallback cannot be guarded themselves.
UNGUARDED = _guarded.__file__


class Interrupt(BaseException):
    """Stands for KeyboardInterrupt, and for what a handler of SIGALRM raises."""


def interrupted(moment: int, operation: Callable[[], Any], opcodes: bool = False) -> bool:
    """Runs an operation that is interrupted at the n-th line of the package (or the n-th instruction); whether it
    came so far. In a finaliser the interpreter drops the interrupt, and the operation goes on. Of a line that runs
    often, in a loop over all objects perhaps, the first two times count.
    """
    seen = 0
    visits: Counter[tuple[Any, int]] = Counter()

    def trace(frame: FrameType, event: str, arg: Any) -> Any:
        nonlocal seen
        if event == "call":
            if (
                not frame.f_code.co_filename.startswith((PACKAGE, "<mindtorch_v2"))
                or frame.f_code.co_filename == UNGUARDED
            ):
                return None
            frame.f_trace_opcodes = opcodes
        elif event == ("opcode" if opcodes else "line"):
            instruction = (frame.f_code, frame.f_lasti if opcodes else frame.f_lineno)
            visits[instruction] += 1
            if visits[instruction] > 2:
                return trace
            seen += 1
            if seen == moment + 1:
                lines_hit.append(f"{frame.f_code.co_filename}:{frame.f_lineno}")
                raise Interrupt
        return trace

    def work() -> None:
        sys.settrace(trace)
        try:
            operation()
        except Interrupt:
            pass
        except BaseException as error:  # noqa: BLE001 - the caller's
            failures.append(error)
        finally:
            sys.settrace(None)
        if _observer.active is None and (
            sys.getprofile(),
            modes.state.grad,
            modes.state.inference,
            modes.state.saved_hooks,
        ) != (None, True, False, ()):
            failures.append(
                AssertionError(f"the thread is left with {sys.getprofile()}, {vars(modes.state)}: {lines_hit[-1:]}")
            )

    failures: list[BaseException] = []
    thread = threading.Thread(target=work)  # of few frames: profiles with stacks look at all that are running
    thread.start()
    thread.join()
    if failures:
        raise failures[0]
    return seen > moment


def assert_nothing_is_left() -> None:
    """No observer, no hook, no mode, no session, and no lock that another thread would wait for."""
    assert _observer.active is None, lines_hit[-1:]
    assert modes.SPACE["_mode"] == 0, lines_hit[-1:]
    assert sys.getprofile() is None
    assert not session._sessions and not session.recorder.listeners
    assert session._tracer is None and session._garbage is None
    assert not [call for call in gc.callbacks if "GarbageWatch" in repr(call)]
    np.empty(1)  # a context that a profile of another thread had reached puts numpy's own back now
    assert np._core.multiarray.get_handler_name() == "default_allocator"
    assert not tracemalloc.is_tracing()
    tools = getattr(sys, "monitoring", None)
    assert tools is None or not [n for n in range(6) if "mindtorch" in str(tools.get_tool(n))]
    assert torch.is_grad_enabled() and not torch.is_inference_mode_enabled()
    assert (modes.state.saved_hooks, modes.state.anomaly, modes.state.subclasses_are_plain) == ((), False, False)
    assert torch.ones(1, requires_grad=True).mul(2).requires_grad
    assert all(_is_free(lock) for lock in (session._lock, modes._lock))


def _is_free(lock: Any) -> bool:
    answers: list[bool] = []

    def ask() -> None:
        answers.append(lock.acquire(blocking=False))
        if answers[0]:
            lock.release()

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    return answers[0]

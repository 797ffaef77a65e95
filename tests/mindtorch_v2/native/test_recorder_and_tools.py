"""A profile beside other profile functions, debuggers, cProfile and other tools of sys.monitoring."""

from __future__ import annotations

import cProfile
import sys
from typing import Any

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.profiler import profile

from ..profiler.helpers import names, store_of
from .safety import EVERYTHING, ops, python_calls, tools

pytestmark = [
    pytest.mark.usefixtures("nothing_is_left"),
    pytest.mark.filterwarnings("ignore:Python calls are missing from this profile"),  # before Python 3.12
]


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

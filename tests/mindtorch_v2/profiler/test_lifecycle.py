"""Starting, stepping and stopping a profile, and what misuse gets."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import warnings
import weakref

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import _observer
from mindtorch_v2.profiler import ProfilerAction, ProfilerActivity, profile, record_function, schedule

NONE, WARMUP, RECORD, SAVE = (
    ProfilerAction.NONE,
    ProfilerAction.WARMUP,
    ProfilerAction.RECORD,
    ProfilerAction.RECORD_AND_SAVE,
)
CPU = ProfilerActivity.CPU


@pytest.fixture
def x():
    return torch.ones(2)


@pytest.fixture(autouse=True)
def _nothing_keeps_running():
    yield
    assert _observer.active is None


def names(prof) -> list[str]:
    return [e.name for e in prof.events()]


class Spy(profile):
    """Notes what is done, in order."""

    def __init__(self, **options) -> None:
        self.log: list[str] = []
        super().__init__(on_trace_ready=lambda p: p.log.append(f"ready@{p.step_num}"), **options)

    def prepare_trace(self) -> None:
        self.log.append("prepare")
        super().prepare_trace()

    def start_trace(self) -> None:
        self.log.append("start")
        super().start_trace()

    def stop_trace(self) -> None:
        self.log.append("stop")
        super().stop_trace()


def moves(*actions: ProfilerAction, stop: bool = True) -> list[str]:
    """What a profile does when its schedule gives these actions and then ends."""
    spy = Spy(schedule=lambda i: actions[min(i, len(actions) - 1)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        spy.start()
        for _ in actions[1:]:
            spy.step()
        spy.log.append("|")
        spy.stop()
    return spy.log


@pytest.mark.parametrize(
    ("actions", "expected"),
    [
        ((NONE, NONE), ["|"]),
        ((NONE, WARMUP, WARMUP, RECORD), ["prepare", "start", "|", "stop", "ready@3"]),
        ((NONE, RECORD, RECORD, SAVE), ["prepare", "start", "|", "stop", "ready@3"]),
        ((SAVE, NONE), ["prepare", "start", "stop", "ready@1", "|"]),
        ((SAVE, WARMUP, SAVE), ["prepare", "start", "stop", "ready@1", "prepare", "start", "|", "stop", "ready@2"]),
        ((SAVE, RECORD), ["prepare", "start", "stop", "ready@1", "prepare", "start", "|", "stop", "ready@1"]),
        ((SAVE, SAVE), ["prepare", "start", "stop", "ready@1", "prepare", "start", "|", "stop", "ready@1"]),
        ((RECORD, NONE), ["prepare", "start", "stop", "|"]),
        ((RECORD, WARMUP, RECORD), ["prepare", "start", "stop", "prepare", "start", "|", "stop", "ready@2"]),
        ((NONE, WARMUP), ["prepare", "|", "start", "stop"]),
    ],
)
def test_transitions(actions, expected):
    assert moves(*actions) == expected


@pytest.mark.filterwarnings("ignore:Warning. Profiler clears events")
@pytest.mark.parametrize(
    ("actions", "text"),
    [
        ((WARMUP, NONE), "Incorrect schedule: WARMUP followed by NONE"),
        ((RECORD, NONE), "Incorrect schedule: RECORD followed by NONE"),
        ((RECORD, WARMUP), "Incorrect schedule: RECORD followed by WARMUP"),
    ],
)
def test_senseless_schedules_warn(actions, text):
    with pytest.warns(UserWarning, match=text), profile(schedule=lambda i: actions[min(i, 1)]) as prof:
        prof.step()


def test_unknown_actions_are_ignored(x):
    with profile(schedule=lambda i: 7) as prof:
        x + x
        prof.step()
    with pytest.raises(AssertionError, match="Profiler must be initialized before accessing events"):
        prof.events()


def test_device_stopped_is_not_for_schedules():
    with pytest.raises(ValueError, match="DEVICE_STOPPED is set internally"):
        profile(schedule=lambda i: ProfilerAction.DEVICE_STOPPED)
    prof = profile(schedule=lambda i: ProfilerAction.DEVICE_STOPPED if i else RECORD)
    with prof:
        with pytest.raises(ValueError, match="DEVICE_STOPPED"):
            prof.step()
        assert prof.step_num == 0


def test_leaving_in_the_warm_up_keeps_the_finished_cycle(x):
    with profile(schedule=schedule(wait=0, warmup=1, active=1), on_trace_ready=lambda p: None) as prof:
        for _ in range(2):
            x + x
            prof.step()
    assert prof.current_action is WARMUP
    assert "aten::add" in names(prof)


def test_leaving_in_the_first_warm_up_gives_no_events():
    with profile(schedule=schedule(wait=0, warmup=2, active=1)):
        pass
    with profile(schedule=schedule(wait=0, warmup=2, active=1)) as prof:
        pass
    assert list(prof.events()) == []


@pytest.mark.parametrize(
    ("steps", "calls", "recorded"), [(1, 0, []), (2, 1, ["#2"]), (3, 1, ["#2", "#3"]), (5, 1, ["#2", "#3"])]
)
def test_stopping_inside_a_cycle(x, steps, calls, recorded):
    seen = []
    with profile(
        schedule=schedule(wait=1, warmup=1, active=2, repeat=1),
        on_trace_ready=lambda p: seen.append([e.trace_name[12:] for e in p.events()]),
    ) as prof:
        for _ in range(steps):
            prof.step()
    assert len(seen) == calls
    assert seen == ([recorded] if calls else [])


def test_steps_are_numbered_over_cycles(x):
    seen = []
    with profile(
        schedule=schedule(wait=1, warmup=1, active=2, repeat=2),
        on_trace_ready=lambda p: seen.append(
            (
                p.step_num,
                [e.trace_name for e in p.events() if e["kind"] == "scope"],
                sorted({e["step"] for e in p.events()}),
            )
        ),
    ) as prof:
        for _ in range(9):
            x + x
            prof.step()
    assert seen == [
        (4, ["ProfilerStep#2", "ProfilerStep#3"], [2, 3]),
        (8, ["ProfilerStep#6", "ProfilerStep#7"], [6, 7]),
    ]


def test_accumulated_cycles_come_in_the_order_of_time(x):
    with profile(schedule=schedule(wait=0, warmup=1, active=1, repeat=2), acc_events=True) as prof:
        for _ in range(4):
            x + x
            prof.step()
    assert [e.trace_name for e in prof.events()] == ["ProfilerStep#1", "aten::add", "ProfilerStep#3", "aten::add"]
    starts = [e.time_range.start for e in prof.events()]
    assert starts == sorted(starts)


def test_nested_profiles_each_get_everything(x):
    with profile() as outer:
        x + x
        with profile() as inner:
            x * x
        x - x
    assert names(inner) == ["aten::mul"]
    assert names(outer) == ["aten::add", "aten::mul", "aten::sub"]


def test_a_nested_profile_shows_its_own_steps_only(x):
    plan = schedule(wait=0, warmup=1, active=1, repeat=1)
    with profile(schedule=lambda i: RECORD) as outer:
        with profile(schedule=plan) as inner:
            inner.step()
            x + x
        outer.step()
    assert [e.trace_name for e in inner.events()] == ["ProfilerStep#1", "aten::add"]
    assert [e.trace_name for e in outer.events()] == ["ProfilerStep#0", "aten::add", "ProfilerStep#1"]


def test_stop_twice_keeps_the_results(x):
    calls = []
    prof = profile(on_trace_ready=calls.append)
    prof.start()
    x + x
    prof.stop()
    prof.stop()
    assert names(prof) == ["aten::add"]
    assert calls == [prof]


def test_start_twice_keeps_the_second_window(x):
    prof = profile()
    prof.start()
    x + x
    with pytest.warns(UserWarning, match="Profiler clears events at the end of each cycle"):
        prof.start()
    x * x
    prof.stop()
    assert names(prof) == ["aten::mul"]


def test_stop_with_an_open_scope(x):
    scope = record_function("open")
    with profile() as prof:
        scope.__enter__()
        x + x
    scope.__exit__(None, None, None)
    assert names(prof) == ["open", "aten::add"]
    assert prof.events()[1].cpu_parent.name == "open"


def test_step_without_start():
    prof = profile()
    prof.step()
    assert prof.step_num == 1
    prof = profile(schedule=schedule(wait=0, warmup=1, active=1))
    with pytest.raises(AssertionError, match="^Profiler must be initialized before starting trace$"):
        prof.step()


def test_errors_of_a_callback_reach_the_user_once(x):
    calls = []

    def broken(prof):
        calls.append(prof.step_num)
        raise TypeError("broken callback")

    plan = schedule(wait=0, warmup=1, active=1)
    with pytest.raises(TypeError, match="broken callback"), profile(schedule=plan, on_trace_ready=broken) as prof:
        for _ in range(3):
            x + x
            prof.step()
    assert calls == [2]
    with profile() as prof:
        x + x
    assert names(prof) == ["aten::add"]


def test_while_recording_there_is_nothing_to_read(x, tmp_path):
    with profile() as prof:
        x + x
        assert list(prof.events()) == [] and list(prof.key_averages()) == []
        with pytest.raises(AttributeError, match="'NoneType' object has no attribute 'save'"):
            prof.export_chrome_trace(str(tmp_path / "x.json"))
    assert names(prof) == ["aten::add"]


def test_nothing_refers_to_itself(x):
    gc.collect()
    gc.disable()
    try:
        with profile(
            record_shapes=True, profile_memory=True, with_stack=True, with_modules=True, schedule=lambda i: RECORD
        ) as prof:
            torch.nn.Linear(2, 2)(torch.ones(1, 2)).sum().backward()
            prof.step()
        prof.key_averages().table()
        list(prof.events())
        gone = [weakref.ref(prof), weakref.ref(prof.profiler), weakref.ref(prof.events())]
        del prof
        assert [r() for r in gone] == [None, None, None]
    finally:
        gc.enable()


_MANY = """
import gc, resource, mindtorch_v2 as torch
gc.disable()
x = torch.ones(4)
def run(n, kept=None):
    for _ in range(n):
        with torch.profiler.profile(record_shapes=True, profile_memory=True) as prof:
            with torch.profiler.record_function("scope"):
                (x + x).sum()
        prof.key_averages()
        if kept is not None:
            kept.append(prof)
def resident():
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * resource.getpagesize()
run(100)
grown = []
for _ in range(4):
    before = resident()
    run(100)
    grown.append((resident() - before) // 1024)
before, kept = resident(), []
run(100, kept)
print((resident() - before) // 1024, *grown)
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="needs /proc")
def test_many_short_profiles_leave_memory_flat():
    """What leaks leaks in every round; growth in one round alone is not a leak.

    Profiles that are kept show what a leak would take.
    """
    done = subprocess.run([sys.executable, "-c", _MANY], capture_output=True, text=True, check=True)
    kept, *grown = map(int, done.stdout.split())
    assert min(grown) < kept / 8, (
        f"grew by {grown} KiB in rounds of as many profiles as take {kept} KiB when they are kept"
    )
    assert done.stderr == ""


def test_profiling_is_silent(capfd, x):
    with profile(with_stack=True, profile_memory=True) as prof:
        x + x
    prof.key_averages().table()
    captured = capfd.readouterr()
    assert (captured.out, captured.err) == ("", "")


def test_a_running_profile_that_is_dropped_ends(x):
    prof = profile()
    prof.start()
    del prof
    assert _observer.active is None


def test_leaving_the_program_while_profiling_is_silent():
    program = "import mindtorch_v2 as torch\np = torch.profiler.profile(with_stack=True)\np.start()\ntorch.ones(2)\n"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "")

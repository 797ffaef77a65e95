"""The warm-up of a schedule: calls are observed, nothing is kept."""

from __future__ import annotations

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import _observer
from mindtorch_v2.profiler import profile, record_function, schedule
from mindtorch_v2.profiler.record.session import _sessions


@pytest.fixture(autouse=True)
def _nothing_keeps_running():
    yield
    assert _observer.active is None and not _sessions


def test_observed_but_not_enabled():
    x = torch.ones(2)
    with profile(schedule=schedule(wait=1, warmup=2, active=1, repeat=1)) as prof:
        seen = []
        for _ in range(5):
            x + x
            seen.append((_observer.active is not None, torch.autograd._profiler_enabled()))
            prof.step()
    assert seen == [(False, False), (True, False), (True, False), (True, True), (False, False)]
    assert [event.name for event in prof.events()] == ["ProfilerStep*", "aten::add"]


@pytest.mark.filterwarnings("ignore:Warning. Profiler clears events")
def test_nothing_of_it_is_kept():
    x = torch.ones(2)
    with profile(schedule=schedule(wait=0, warmup=1, active=1, repeat=2), profile_memory=True, with_stack=True) as prof:
        for number in range(4):
            with record_function(f"step {number}"):
                y = x + number
            prof.step()
    assert [event.name for event in prof.events() if event.name.startswith("step")] == ["step 3"]
    assert prof.validate() == [] and y.sum() == 8


def test_a_long_one_holds_no_more_than_a_step():
    x = torch.ones(2)
    numbers = []
    with profile(schedule=schedule(wait=0, warmup=5, active=1, repeat=1)) as prof:
        for _ in range(4):
            x + x
            numbers.append([session.id for session in _sessions])
            prof.step()
    assert all(len(running) == 1 for running in numbers) and len({running[0] for running in numbers}) == 4


@pytest.mark.filterwarnings("ignore:Warning. Profiler clears events")
@pytest.mark.parametrize("cycles", [0, 1])
def test_leaving_in_it_ends_it(cycles):
    x = torch.ones(2)
    prof = profile(schedule=schedule(wait=0, warmup=1, active=1))
    prof.start()
    for _ in range(2 * cycles):
        x + x
        prof.step()
    assert _observer.active is not None
    prof.stop()
    assert _observer.active is None and len(prof.events()) == (2 if cycles else 0)


def test_an_outer_profile_does_not_see_it():
    x = torch.ones(2)
    with profile() as outer, profile(schedule=schedule(wait=0, warmup=1, active=1, repeat=1)) as inner:
        for _ in range(3):
            x + x
            inner.step()
    assert [event.name for event in outer.events()] == ["aten::add"] * 3
    assert [event.name for event in inner.events()] == ["ProfilerStep*", "aten::add"]

"""What a profile says about other work on its machine."""

from __future__ import annotations

import os

import mindtorch_v2 as torch
from mindtorch_v2.profiler.record.machine_load import LoadReading, MachineLoad, load_between

TICKS = os.sysconf("SC_CLK_TCK")


def reading(seconds: float, own: float, delay: float, busy: float, total: float, slices: int = 7) -> LoadReading:
    return LoadReading(
        int(seconds * 1e9), int(own * 1e9), int(delay * 1e9), slices, int(busy * TICKS), int(total * TICKS), 1
    )


def test_what_others_had_and_how_long_the_thread_was_delayed():
    begin = reading(5, 1, 0.5, 100, 1000)
    assert load_between(begin, reading(7, 2.5, 1, 103, 1004, 9)) == {"others": 0.375, "delay": 0.25, "slices": 2.0}
    assert load_between(begin, reading(7, 3, 0.5, 101, 1004)) == {
        "others": 0.0,
        "delay": 0.0,
        "slices": 0.0,
    }  # counted in ticks
    assert load_between(begin, reading(7, 1, 9, 110, 1004)) == {"others": 1.0, "delay": 1.0, "slices": 0.0}
    assert load_between(begin, begin) == load_between(None, begin) == load_between(begin, None) == {}


def test_a_profile_keeps_it_and_so_does_its_file(tmp_path):
    with torch.profiler.profile() as prof:
        torch.ones(2) + 1
    load = dict(prof.profiler.store.metadata.machine_load)
    assert load == {} or (
        set(load) == {"others", "delay", "slices"} and 0 <= load["others"] <= 1 and 0 <= load["delay"] <= 1
    )
    prof.save(tmp_path / "p.mindprof")
    assert dict(torch.profiler.load(tmp_path / "p.mindprof").store.metadata.machine_load) == load


def test_where_it_is_not_wanted_or_the_thread_is_gone_nothing_is_said():
    unwanted = MachineLoad(False)
    unwanted.start()
    unwanted.stop()
    assert unwanted.shares == {}
    load = MachineLoad(True)
    load._begin = reading(5, 1, 0.5, 100, 1000)._replace(thread=2**31 - 1)  # no thread has this id
    load.stop()
    assert load.shares == {}

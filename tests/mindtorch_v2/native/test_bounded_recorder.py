"""A recorder that keeps a bounded count of rows: both recorders keep the same ones, and memory does not grow."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import mindtorch_v2 as torch
from mindtorch_v2.profiler import _ExperimentalConfig, profile
from mindtorch_v2.profiler.record.descriptions import Options
from mindtorch_v2.profiler.record.native_recorder import NativeRecorder
from mindtorch_v2.profiler.record.python_recorder import Recorder

from .recorders import _STEPS, ADD, RECORDERS, described, needs_native, play, record


@needs_native
@settings(max_examples=40, deadline=None)
@given(_STEPS, st.sampled_from(["newest", "oldest"]), st.integers(1, 12))
@example([("scope", "a", None), ("memory",)], "oldest", 1)  # what is dropped reads no clock
def test_bounded_recorders_keep_the_same_rows(steps, keep, limit):
    options = Options(max_events=limit, keep=keep, profile_memory=True)
    stores = [record(kind, lambda r: play(r, steps), options) for kind in (Recorder, NativeRecorder)]
    assert described(stores[0]) == described(stores[1])
    assert len(stores[0]) <= limit and len(stores[0].memory) <= limit


@pytest.mark.parametrize("kind", RECORDERS)
@pytest.mark.parametrize("keep", ["newest", "oldest"])
@pytest.mark.parametrize("limit", [1, 100, 1000])
def test_a_bound_holds_whatever_is_recorded(kind, keep, limit):
    def work(recorder: Any) -> None:
        for number in range(5000):
            recorder.enter_op(ADD, (), number)
            recorder.leave()

    store = record(kind, work, Options(max_events=limit, keep=keep))
    assert len(store) == limit and store.metadata.dropped_events == 5000 - limit
    first = 5000 - limit if keep == "newest" else 0
    assert store.sequence_nr.tolist() == list(range(first, first + limit))


@pytest.mark.parametrize("kind", RECORDERS)
def test_a_bounded_recorder_does_not_grow(kind):
    recorder = kind()
    recorder.reset()
    recorder.bound(200, True)
    buffer = recorder.adopt()
    for _ in range(20_000):
        recorder.enter_op(ADD, (), -1)
        recorder.leave()
    held = buffer.nbytes / 48 if hasattr(buffer, "nbytes") else len(buffer.rows) / 5
    assert held <= 2 * 200 + 128
    recorder.reset()


def test_the_profile_says_what_it_dropped(tmp_path):
    x = torch.ones(2)
    with profile(experimental_config=_ExperimentalConfig(max_events=10, keep="oldest")) as prof:
        for _ in range(25):
            x + x
    assert prof.dropped_events == 15 and len(prof.events()) == 10
    assert prof.key_averages().table().rstrip().endswith("Dropped events: 15")
    prof.export_chrome_trace(str(tmp_path / "trace.json"))
    assert '"dropped_events": 15' in (tmp_path / "trace.json").read_text()
    with profile() as prof:
        x + x
    assert prof.dropped_events == 0 and "Dropped" not in prof.key_averages().table()


_BOUNDED = """
import gc, resource, sys, mindtorch_v2 as torch
from mindtorch_v2.profiler import _ExperimentalConfig
def resident():
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * resource.getpagesize()
count, keep, x = int(sys.argv[1]), sys.argv[2], torch.ones(4)
with torch.profiler.profile() as prof:
    x + x
prof.key_averages().table()
before, most = resident(), 0
bound = {"max_events": 10_000, "keep": keep} if keep else {}
with torch.profiler.profile(experimental_config=_ExperimentalConfig(**bound)) as prof:
    for _ in range(count // 10_000):
        for _ in range(10_000):
            x + x
        most = max(most, resident())
print((most - before) // 1024, end=" ")
if not keep:
    raise SystemExit
print(len(prof.events()), prof.dropped_events)
print(prof.key_averages().table().splitlines()[-1])
prof.export_chrome_trace(sys.argv[3])
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="needs /proc")
@pytest.mark.parametrize("keep", ["newest", "oldest"])
@pytest.mark.parametrize("setting, count", [("1", 300_000), ("0", 100_000)])
def test_a_bounded_profile_of_many_events(tmp_path, setting, count, keep):
    """It takes the memory of what it keeps, and counts the rest exactly.

    Without a bound the rows alone take 48 bytes each.
    """

    def run(keep: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-W", "ignore", "-c", _BOUNDED, str(count), keep, str(tmp_path / "t.json")]
        return subprocess.run(
            command, env={**os.environ, "MINDTORCH_NATIVE": setting}, capture_output=True, text=True, check=True
        )

    unbounded, done = run(""), run(keep)
    kibibytes, events, dropped = map(int, done.stdout.splitlines()[0].split())
    all_of_them = int(unbounded.stdout.split()[0])
    # half of it, for the allocator's sake
    assert all_of_them - kibibytes >= (count - 2 * 10_000 - 4096) * 48 // 1024 // 2
    assert (events, dropped) == (10_000, count - 10_000)
    assert done.stdout.splitlines()[1] == f"Dropped events: {count - 10_000}"
    trace = json.loads((tmp_path / "t.json").read_text())
    assert (
        trace["dropped_events"] == count - 10_000
        and sum(e["ph"] == "X" and e["cat"] == "cpu_op" for e in trace["traceEvents"]) == 10_000
    )


@pytest.mark.parametrize("wrong", [{"max_events": -1}, {"max_events": 2.5}, {"max_events": True}, {"keep": "some"}])
def test_wrong_bounds_are_refused(wrong):
    with pytest.raises(ValueError):
        _ExperimentalConfig(**wrong)

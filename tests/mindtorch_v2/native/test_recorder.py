"""The recorder in C and its fallback in Python: the same calls give the same rows.

What only one of them has is tested below.
"""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mindtorch_v2 as torch
from mindtorch_v2._dispatch.native_call import samples as array_samples
from mindtorch_v2._ops.table import find
from mindtorch_v2._storage import native
from mindtorch_v2.profiler import _ExperimentalConfig, profile, record_function
from mindtorch_v2.profiler.record import clock as clocks
from mindtorch_v2.profiler.record.descriptions import Metadata, Options
from mindtorch_v2.profiler.record.kinds import Kind
from mindtorch_v2.profiler.record.native_recorder import NativeRecorder
from mindtorch_v2.profiler.record.native_rows import ROW, split_rows
from mindtorch_v2.profiler.record.python_recorder import Recorder
from mindtorch_v2.profiler.record.row_format import SHAPES
from mindtorch_v2.profiler.record.window import Recording, Span, Window, recorded, stray_memory
from mindtorch_v2.profiler.store.build import build_store
from mindtorch_v2.profiler.store.event_store import EventStore

from ..profiler.helpers import names, store_of

ADD, MUL, CAT = find("add.Tensor"), find("mul.Tensor"), find("cat")
RECORDERS = [Recorder, pytest.param(NativeRecorder, marks=pytest.mark.skipif(native is None, reason="not built"))]
needs_native = pytest.mark.skipif(native is None, reason="the native recorder was not built or is switched off")


class TickingClock:
    def __init__(self) -> None:
        self.now = itertools.count(10, 10).__next__

    def epoch_offset(self) -> int:
        return 0


def record(kind: Any, work: Callable[[Any], None], options: Options | None = None) -> EventStore:
    """What a recorder of this kind makes of `work(recorder)`, as a store."""
    options = options or Options(record_shapes=True, profile_memory=True)
    with clocks.use(TickingClock()):
        recorder = kind()
        recorder.reset()
        recorder.bound(options.max_events, options.keep == "newest")
        recorder.set_details(SHAPES if options.record_shapes else 0)
        recorder.watches_memory = options.profile_memory
        buffer = recorder.adopt()
        span = Span(buffer.position())
        start = recorder.now()
        work(recorder)
        stop = recorder.now()
        span.stop = buffer.position()
        window = Window(
            1,
            start,
            stop,
            options,
            [recorded(buffer, [span])],
            stray_memory(recorder, 0),
            recorder.labels,
            recorder.inputs,
            recorder.modules,
            recorder.stacks,
            recorder.dropped,
        )
        store = build_store(Recording(Metadata(start, stop, options=options), window))
        recorder.watches_memory = False
    return store


def described(store: EventStore) -> list[Any]:
    rows = [
        (
            store.name_of(r),
            store.overload_of(r),
            store.inputs_of(r),
            *(int(store.columns[c][r]) for c in ("start_ns", "end_ns", "parent", "kind", "sequence_nr", "flags")),
        )
        for r in range(len(store))
    ]
    memory = [
        tuple(int(store.memory.columns[c][r]) for c in ("time_ns", "address", "nbytes", "row"))
        for r in range(len(store.memory))
    ]
    return [rows, memory, store.metadata.dropped_events]


_X, _Y = torch.ones(3, 4), torch.ones(4, 3).t()
_ARGUMENTS = [
    (),
    (_X, _Y, 1),
    (_X, 2, 1.5),
    ([_X, _Y], 0),
    (_X, None, True),
    (_X, (1, 2), "text"),
    (_X, 10**30),
    (_X, -0.5j),
    ([_X] * 40, 1),
    (torch.ones(()), torch.ones(0, 3)),
    (_X, torch.float32),
    (_X, _X.device),
    (np.float32(2), []),
]
_STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("op"), st.sampled_from([ADD, MUL, CAT]), st.sampled_from(_ARGUMENTS), st.integers(-1, 5)),
        st.tuples(
            st.just("node"),
            st.sampled_from(["AddBackward0", "autograd::engine::evaluate_function: AddBackward0", "Double"]),
            st.integers(-1, 5),
            st.booleans(),
        ),
        st.tuples(st.just("scope"), st.sampled_from(["a", "b"]), st.sampled_from([None, "text"])),
        st.tuples(st.sampled_from(["leave", "open", "close first", "close last", "memory", "function"])),
    ),
    max_size=60,
)


def play(recorder: Any, steps: list[Any]) -> None:
    handles: list[Any] = []
    seen = 1000
    for step in steps:
        what = step[0]
        if what == "op":
            recorder.enter_op(*step[1:])
        elif what == "node":
            recorder.enter_node(step[1], step[2], 0, (_X,), step[3])
        elif what == "scope":
            recorder.enter_scope(*step[1:])
        elif what == "leave":
            recorder.leave()
        elif what == "open":
            handles.append(recorder.open(Kind.SCOPE, "handle", None))
        elif what.startswith("close") and handles:
            recorder.close(handles.pop(0 if what == "close first" else -1))
        elif what == "function":
            recorder.enter_function("f", (_X, 1), {"k": 2})
        elif what == "memory":
            seen += 8
            recorder.allocated(seen, 16, "cpu", 0)
            recorder.freed(seen, 16, "cpu", 0)


@needs_native
@settings(max_examples=120, deadline=None)
@given(_STEPS)
def test_both_recorders_give_the_same(steps):
    assert described(record(NativeRecorder, lambda r: play(r, steps))) == described(
        record(Recorder, lambda r: play(r, steps))
    )


@needs_native
@settings(max_examples=40, deadline=None)
@given(_STEPS, st.sampled_from(["newest", "oldest"]), st.integers(1, 12))
def test_bounded_twins_keep_the_same_rows(steps, keep, limit):
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


def test_stopping_makes_nothing_and_what_follows_changes_nothing():
    x = torch.ones(2)
    with profile() as first:
        x + x
    assert first.profiler.has_results and not first.profiler.results.is_built
    with profile() as second:
        x * x
    assert [e.name for e in first.events()] == ["aten::add"] and [e.name for e in second.events()] == ["aten::mul"]


def test_memory_that_a_later_profile_reuses_is_no_longer_read():
    """Chunks of rows go from profile to profile: those of one that is alive, read or not, must not."""
    x = torch.ones(2)

    def made_with(name: str) -> profile:
        with profile() as prof:
            for _ in range(3):
                with record_function(name):
                    x + x
        return prof

    unread, read = made_with("first"), made_with("second")
    seen = names(store_of(read))
    made_with("third")  # dies here, and leaves its memory
    last = made_with("fourth")
    assert names(store_of(unread)) == ["first", "aten::add"] * 3
    assert names(store_of(read)) == seen == ["second", "aten::add"] * 3
    assert names(store_of(last)) == ["fourth", "aten::add"] * 3


# --- the native recorder alone
@needs_native
def test_rows_take_at_most_64_bytes_and_cross_chunks():
    recorder = NativeRecorder()
    recorder.reset()
    buffer = recorder.adopt()
    count = 100_000
    for number in range(count):
        recorder.enter_op(ADD, (), number)
        recorder.leave()
    assert ROW.itemsize == 48
    assert buffer.nbytes / count <= 64
    first, parts = buffer.row_table(0, count)
    assert first == 0 and len(parts) > 1
    assert np.array_equal(split_rows(parts)["sequence_nr"], np.arange(count))
    recorder.reset()


def pass_time(nanoseconds: int) -> None:
    end = time.perf_counter_ns() + nanoseconds
    while time.perf_counter_ns() < end:
        pass


@needs_native
def test_the_clock_agrees_with_pythons():
    recorder = NativeRecorder()
    pass_time(30_000_000)  # the counter's rate is told from so long a stretch
    recorder.reset()
    begun = time.perf_counter_ns()
    pass_time(20_000_000)
    before, now, after = time.perf_counter_ns(), recorder.now(), time.perf_counter_ns()
    # The rate was told from 30 ms between two readings, each a few microseconds wide at worst: 1 part in 1000 at the
    # very most.
    slack = (after - begun) // 1000
    assert before - slack <= now <= after + slack
    times = [recorder.now() for _ in range(1000)]
    assert times == sorted(times)


@needs_native
def test_wrong_calls_raise_and_leave_nothing_open():
    def work(recorder: Any) -> None:
        for call in (
            lambda: recorder.enter_op(ADD),
            lambda: recorder.enter_op(ADD, (), "x"),
            lambda: recorder.enter_node(1, 2),
            lambda: recorder.enter_scope(),
            lambda: recorder.renew([]),
            lambda: recorder.bind(3),
            lambda: split_rows([(bytearray(3), 0, 5)]),
        ):
            with pytest.raises((TypeError, ValueError)):
                call()

    assert len(record(NativeRecorder, work)) == 0


@needs_native
def test_arrays_of_another_layout_are_not_read():
    samples = array_samples()
    array, data, *rest = samples[0]
    assert native.setup(torch.Tensor, np.ndarray, [(array, data + 8, *rest)]) is False
    assert native.setup(torch.Tensor, np.ndarray, samples) is True


@needs_native
def test_storages_and_blocks_die_quietly():
    with profile(profile_memory=True) as prof:
        x = torch.ones(1000) + 1
        y = x.view(10, 100)
        del x
    with profile(profile_memory=True):
        del y  # what another profile saw come is not reported twice
    assert 4000 in prof.profiler.store.memory.nbytes.tolist()


@needs_native
def test_many_threads_at_once():
    x = torch.ones(4)
    with profile(
        record_shapes=True, profile_memory=True, experimental_config=_ExperimentalConfig(profile_all_threads=True)
    ) as prof:

        def work() -> None:
            for i in range(300):
                with record_function(f"scope {i % 7}"):
                    (x + x) * x

        threads = [threading.Thread(target=work) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    store = prof.profiler.store
    names = [store.name_of(r) for r in range(len(store))]
    assert names.count("aten::add") == names.count("aten::mul") == 1800
    for row, parent in enumerate(store.parent.tolist()):
        assert (parent < 0) == names[row].startswith("scope") and (
            parent < 0 or store.thread[row] == store.thread[parent]
        )


@needs_native
def test_deep_stacks_and_recursion():
    def down(n: int) -> Any:
        return torch.ones(1) + 1 if n == 0 else down(n - 1)

    with profile(with_stack=True) as prof:
        down(300)
    store = prof.profiler.store
    add = next(r for r in range(len(store)) if store.name_of(r) == "aten::add")
    assert sum(frame.endswith(": down") for frame in store.stack_of(add)) == 301


@needs_native
def test_a_profile_function_that_comes_and_goes_inside_is_survived():
    x = torch.ones(2)

    def noisy() -> None:
        sys.setprofile(lambda *args: None)
        x + x
        sys.setprofile(None)

    with profile(with_stack=True) as prof:
        noisy()
        x * x
    assert {"aten::add", "aten::mul"} <= {e.name for e in prof.events()}
    assert sys.getprofile() is None


def test_arguments_that_are_no_numbers_are_told_apart():
    x = torch.ones(2)

    with profile(record_shapes=True) as prof:
        for _ in range(2):  # described first, then found again
            torch.zeros(2, dtype=torch.float64)
            torch.zeros(2, dtype=torch.int32, device="cpu")
            torch.zeros(2, device="meta")
            x.clone(memory_format=torch.contiguous_format)
            x.clone(memory_format=torch.preserve_format)
    store = store_of(prof)
    rows = [row for row, name in enumerate(names(store)) if name in ("aten::zeros", "aten::clone")]
    numbers = [store.columns["inputs"][row] for row in rows]
    assert numbers[:5] == numbers[5:]
    assert [store.inputs_of(row).values for row in rows[:5]] == [
        ((2,), 7, None, None, False),
        ((2,), 3, None, None, False),
        ((2,), None, None, None, False),
        (None, 0),
        (None, 1),
    ]

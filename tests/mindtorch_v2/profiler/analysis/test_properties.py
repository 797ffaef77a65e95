"""Whatever is recorded, the numbers hold together: random trees, and random programs under a fake clock."""

from __future__ import annotations

import collections
import contextlib
import json
import pathlib
import tempfile
import threading
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import mindtorch_v2 as torch
from mindtorch_v2.profiler.analysis.validate import validate
from mindtorch_v2.profiler.export import chrome_trace
from mindtorch_v2.profiler.record import clock as clocks
from mindtorch_v2.profiler.record.kinds import Kind
from mindtorch_v2.profiler.results.event_list import build_events, key_averages

from ..conftest import TickingClock
from ..export.trace_rules import assert_trace_is_sound, load
from ..hand_made import E, M, make_store
from ..helpers import store_of

KINDS = [Kind.OP, Kind.OP, Kind.SCOPE, Kind.PYTHON, Kind.NODE, Kind.BACKWARD]
# A node is (name, kind, gap before, time of its own, children); times are laid out one after the other.
NODES = st.recursive(
    st.builds(
        lambda *a: (*a, []), st.sampled_from("abc"), st.sampled_from(KINDS), st.integers(0, 3), st.integers(0, 5)
    ),
    lambda inner: st.tuples(
        st.sampled_from("abc"),
        st.sampled_from(KINDS),
        st.integers(0, 3),
        st.integers(0, 5),
        st.lists(inner, max_size=4),
    ),
    max_leaves=25,
)


def laid_out(nodes: list[Any], thread: int, now: int = 0) -> tuple[list[E], int]:
    """The events of sibling nodes from `now` on, and when they end."""
    events = []
    for name, kind, gap, own, children in nodes:
        start = now + gap
        inner, end = laid_out(children, thread, start)
        now = end + own + 1
        events += [E(name, start, now, kind, thread, seq=own - 1, forward_thread=thread + 1), *inner]
    return events, now


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.lists(NODES, max_size=4), min_size=1, max_size=3),
    st.lists(st.tuples(st.integers(0, 40), st.integers(-5, 9)), max_size=6),
)
def test_random_trees(threads, blocks):
    events = [event for number, nodes in enumerate(threads) for event in laid_out(nodes, number)[0]]
    memory = [M(time, 1, nbytes) for time, nbytes in blocks if nbytes]
    store = make_store(events, memory, threads=len(threads), profile_memory=True)
    check_everything(store)


def check_everything(store) -> None:
    assert validate(store) == []
    events, rows = build_events(store), key_averages(store)
    for event in events:
        assert event.self_cpu_time_total >= 0
        for child in event.cpu_children:
            assert event["start_ns"] <= child["start_ns"] <= child["end_ns"] <= event["end_ns"]
            assert child.cpu_parent is event and child.thread == event.thread
    # without what was loaded
    roots = round(sum(e.cpu_time_total for e in events if e.cpu_parent is None and not e.is_async) * 1000)
    assert (
        round(sum(e.self_cpu_time_total for e in events) * 1000)
        == roots
        == sum(r["self_time_ns"] for r in rows._build_rows())
    )
    assert sum(e.self_cpu_memory_usage for e in events) == int(store.memory.nbytes.sum())
    counts = collections.Counter((e.name, e.is_user_annotation) for e in events)
    assert counts == {(r.key, r.is_user_annotation): r.count for r in rows}
    assert sum(event.self_cpu_memory_usage for event in events) == sum(row.self_cpu_memory_usage for row in rows)
    whole = rows.self_cpu_time_total
    assert all(max(r.covered_us, r.self_cpu_time_total) <= whole + 1e-6 for r in rows)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "t.json")
        chrome_trace.write(store, path)
        trace = load(path)
        assert_trace_is_sound(trace)
        first = path.read_bytes()
        chrome_trace.write(store, path)
        assert path.read_bytes() == first
    listed = collections.Counter(
        (e["name"].replace("#0", "*"), e["cat"] == "user_annotation")
        for e in trace["traceEvents"]
        if e.get("cat") in ("cpu_op", "user_annotation")
    )
    assert listed == collections.Counter(
        (e.trace_name.replace("#0", "*"), e.is_user_annotation) for e in events if e.trace_name is not None
    )


PROGRAMS = st.recursive(
    st.sampled_from(["add", "matmul", "raise", "backward", "step", "free"]),
    lambda inner: st.tuples(
        st.sampled_from(["scope", "scope aten::add", "thread", "forgotten"]), st.lists(inner, max_size=4)
    ),
    max_leaves=12,
)


def run(program: Any, prof: Any, kept: list[Any]) -> None:
    """Do one thing; errors of operators are swallowed, as a program would that goes on."""
    x = torch.ones(2, 2, requires_grad=True)
    if program == "add":
        kept.append(x + x)
    elif program == "matmul":
        torch.matmul(x, x)
    elif program == "raise":
        with contextlib.suppress(RuntimeError):
            torch.mm(x, torch.ones(3))
    elif program == "backward":
        (x * x).sum().backward()
    elif program == "step":
        prof.step()
    elif program == "free":
        kept.clear()
    else:
        run_inside(program, prof, kept)


def run_inside(program: tuple[str, list[Any]], prof: Any, kept: list[Any]) -> None:
    kind, parts = program

    def all_parts() -> None:
        for part in parts:
            run(part, prof, kept)

    if kind == "thread":
        worker = threading.Thread(target=all_parts)
        worker.start()
        worker.join()
    elif kind == "forgotten":
        torch.profiler.record_function("forgotten").__enter__()
        all_parts()
    else:
        with torch.profiler.record_function(kind.removeprefix("scope ")):
            all_parts()


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(PROGRAMS, max_size=5), st.booleans(), st.booleans())
def test_random_programs(programs, all_threads, with_stack):
    config = torch.profiler._ExperimentalConfig(profile_all_threads=all_threads)
    with clocks.use(TickingClock(7)):
        with torch.profiler.profile(
            record_shapes=True,
            profile_memory=True,
            with_stack=with_stack,
            with_modules=True,
            experimental_config=config,
        ) as prof:
            kept: list[Any] = []
            for program in programs:
                run(program, prof, kept)
        check_everything(store_of(prof))
    assert prof.validate() == []
    json.dumps(prof.key_averages()._build_rows())

"""Nesting, self time and what is listed, on stores made by hand."""

from __future__ import annotations

import numpy as np

from mindtorch_v2.profiler.analysis.tree import EventTree
from mindtorch_v2.profiler.record.kinds import Flag, Kind
from mindtorch_v2.profiler.results.event_list import build_events, key_averages

from ..hand_made import E, M, make_store


def rows(store):
    return [
        (e.name, e.cpu_parent.name if e.cpu_parent else None, e.self_cpu_time_total, e.cpu_time_total)
        for e in build_events(store)
    ]


def test_self_time_is_the_time_outside_children():
    store = make_store([E("a", 0, 10_000), E("b", 1_000, 3_000), E("c", 2_000, 2_500), E("d", 4_000, 5_000)])
    assert rows(store) == [("a", None, 7.0, 10.0), ("b", "a", 1.5, 2.0), ("c", "b", 0.5, 0.5), ("d", "a", 1.0, 1.0)]


def test_equal_times_nest():
    store = make_store([E("a", 0, 10_000), E("b", 0, 10_000)])
    assert rows(store) == [("a", None, 0.0, 10.0), ("b", "a", 10.0, 10.0)]


def test_threads_are_separate():
    store = make_store([E("a", 0, 10_000), E("b", 1_000, 2_000, thread=1)], threads=2)
    assert rows(store) == [("a", None, 10.0, 10.0), ("b", None, 1.0, 1.0)]


def test_same_named_only_child_is_taken_in_with_all_its_generations():
    store = make_store([E("A", 0, 10_000), E("A", 1_000, 9_000), E("A", 2_000, 8_000), E("x", 3_000, 4_000)])
    assert rows(store) == [("A", None, 9.0, 10.0), ("x", "A", 1.0, 1.0)]


def test_what_is_loaded_in_between_makes_nobody_a_sibling():
    """The first call of an operator is listed as later ones are."""
    inner = [E("A", 1_000, 9_000), E("loading: x", 2_000, 3_000, Kind.LOADING), E("x", 3_000, 4_000)]
    store = make_store([E("A", 0, 10_000), E("loading: A", 100, 600, Kind.LOADING), *inner])
    assert rows(store) == [("A", None, 7.5, 8.5), ("x", "A", 1.0, 1.0)]
    ahead = [E("loading: a", 1_500, 1_600, Kind.LOADING), E("A", 1_520, 1_580)]  # a call while something is loaded
    assert rows(make_store([E("A", 0, 10_000), *ahead])) == [("A", None, 9.9, 9.9)]


def test_same_named_siblings_are_kept():
    store = make_store([E("A", 0, 10_000), E("A", 1_000, 4_000), E("A", 5_000, 8_000)])
    assert rows(store) == [("A", None, 4.0, 10.0), ("A", "A", 3.0, 3.0), ("A", "A", 3.0, 3.0)]


def test_annotation_never_swallows_an_operator():
    store = make_store([E("aten::ones", 0, 10_000, Kind.SCOPE), E("aten::ones", 1_000, 9_000)])
    assert [(r.key, r.is_user_annotation, r.count) for r in key_averages(store)] == [
        ("aten::ones", True, 1),
        ("aten::ones", False, 1),
    ]


def test_annotation_swallows_its_repetition():
    store = make_store([E("d", 0, 10_000, Kind.SCOPE), E("d", 1_000, 9_000, Kind.SCOPE)])
    assert rows(store) == [("d", None, 10.0, 10.0)]


def test_python_calls_are_no_events_and_do_not_separate_them():
    store = make_store(
        [
            E("m.py(1): main", 0, 100_000, Kind.PYTHON),
            E("scope", 10_000, 90_000, Kind.SCOPE),
            E("m.py(5): f", 20_000, 80_000, Kind.PYTHON),
            E("aten::add", 30_000, 40_000),
        ],
        with_stack=True,
    )
    assert rows(store) == [("scope", None, 70.0, 80.0), ("aten::add", "scope", 10.0, 10.0)]


def test_python_call_does_not_hide_a_repetition():
    store = make_store([E("A", 0, 10_000), E("f.py(1): f", 1_000, 9_000, Kind.BUILTIN), E("A", 2_000, 8_000)])
    assert rows(store) == [("A", None, 10.0, 10.0)]


def test_asynchronous_events_take_no_part():
    store = make_store(
        [E("a", 0, 10_000), E("late", 5_000, 20_000, Kind.SCOPE, flags=Flag.ASYNC), E("b", 6_000, 7_000)]
    )
    assert rows(store) == [("a", None, 9.0, 10.0), ("late", None, 0.0, 15.0), ("b", "a", 1.0, 1.0)]


def test_unfinished_scope_keeps_its_children():
    store = make_store([E("open", 0, 10_000, Kind.SCOPE, flags=Flag.UNFINISHED), E("a", 1_000, 3_000)])
    assert rows(store) == [("open", None, 8.0, 10.0), ("a", "open", 2.0, 2.0)]


def test_steps_share_one_name():
    store = make_store([E("ProfilerStep#2", 0, 5_000, Kind.STEP), E("ProfilerStep#3", 5_000, 9_000, Kind.STEP)])
    assert [(e.name, e.trace_name) for e in build_events(store)] == [
        ("ProfilerStep*", "ProfilerStep#2"),
        ("ProfilerStep*", "ProfilerStep#3"),
    ]
    assert [(r.key, r.count, r.cpu_time_total) for r in key_averages(store)] == [("ProfilerStep*", 2, 9.0)]


def test_memory_goes_to_the_event_and_its_ancestors():
    """outer{empty(400 bytes) inner{empty(200); free 400}}; free 200."""
    store = make_store(
        [E("outer", 0, 100, Kind.SCOPE), E("empty", 10, 20), E("inner", 30, 90, Kind.SCOPE), E("empty", 40, 50)],
        [M(15, 1, 400), M(45, 2, 200), M(60, 1, -400), M(120, 2, -200)],
        profile_memory=True,
    )
    found = [(e.name, e.cpu_memory_usage, e.self_cpu_memory_usage) for e in build_events(store)]
    assert found == [
        ("outer", 200, 0),
        ("empty", 400, 400),
        ("inner", -200, -400),
        ("empty", 200, 200),
        ("[memory]", -200, -200),
    ]


def test_memory_of_what_is_taken_in_goes_to_the_parent():
    store = make_store([E("A", 0, 100), E("A", 10, 90)], [M(50, 1, 8)], profile_memory=True)
    assert [(e.cpu_memory_usage, e.self_cpu_memory_usage) for e in build_events(store)] == [(8, 8)]


def test_memory_in_a_python_call_outside_events_is_a_memory_event():
    store = make_store([E("f.py(1): f", 0, 100, Kind.PYTHON)], [M(50, 1, 8)], profile_memory=True)
    (event,) = build_events(store)
    assert (event.name, event.trace_name, event["kind"], event.cpu_memory_usage, event.cpu_time_total) == (
        "[memory]",
        None,
        "memory",
        8,
        0,
    )


def test_live_bytes_around_events():
    store = make_store(
        [E("a", 0, 100), E("b", 100, 200)], [M(50, 1, 8), M(150, 2, 24), M(160, 1, -8)], profile_memory=True
    )
    keys = ["cpu_memory_allocated_before", "cpu_memory_allocated_after", "cpu_memory_allocated_delta"]
    assert [[e[key] for key in keys] for e in build_events(store)] == [[0, 8, 8], [8, 24, 16]]


def test_empty_store():
    tree = EventTree(make_store([]))
    assert len(tree) == 0 and tree.self_ns.tolist() == [] and tree.flops.tolist() == []
    assert build_events(tree) == [] and key_averages(tree) == []


def test_bookkeeping_names_are_not_listed():
    store = make_store([E("a", 0, 100), E("aten::is_leaf", 10, 20), E("b", 12, 14)])
    assert rows(store) == [("a", None, 0.098, 0.1), ("b", "a", 0.002, 0.002)]


def test_columns_are_the_stores_own_when_all_rows_are_shown():
    store = make_store([E("a", 0, 100), E("b", 10, 20)])
    assert np.shares_memory(EventTree(store).start_ns, store.start_ns)

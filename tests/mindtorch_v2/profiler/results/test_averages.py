"""Grouping and the lists of averages."""

from __future__ import annotations

import copy
import pickle

import pytest

from mindtorch_v2.profiler.record.kinds import Kind
from mindtorch_v2.profiler.results.event_list import EventList, _KeyAverages, build_events, key_averages
from mindtorch_v2.profiler.results.function_event_avg import FunctionEventAvg

from ..hand_made import E, M, make_store, tensors

LINE = ["net.py(3): f", "net.py(9): main"]
OTHER = ["net.py(4): f", "net.py(9): main"]


@pytest.fixture
def store():
    return make_store(
        [
            E("scope", 0, 100_000, Kind.SCOPE, stack=["net.py(9): main"]),
            E("aten::mm", 10_000, 20_000, inputs=tensors((2, 3), (3, 4)), stack=LINE, overload=""),
            E("aten::mm", 30_000, 50_000, inputs=tensors((2, 3), (3, 4)), stack=OTHER, overload=""),
            E("aten::mm", 60_000, 90_000, inputs=tensors((5, 3), (3, 4)), stack=OTHER, overload="out"),
        ],
        record_shapes=True,
        with_flops=True,
        with_stack=True,
        capture_overload_names=True,
    )


def summary(rows):
    return [(r.key, r.count, r.cpu_time_total, r.self_cpu_time_total) for r in rows]


def test_by_name_in_the_order_of_first_appearance(store):
    rows = key_averages(store)
    assert summary(rows) == [("scope", 1, 100.0, 40.0), ("aten::mm", 3, 60.0, 60.0)]
    assert [(r.input_shapes, r.stack, r.overload_name) for r in rows] == [("", [], "")] * 2
    assert [r.flops for r in rows] == [0, 48 + 48 + 120]
    assert rows[1].cpu_time == 20.0


def test_by_shape(store):
    rows = key_averages(store, group_by_input_shape=True)
    assert [(r.key, r.count, r.input_shapes) for r in rows] == [
        ("scope", 1, []),
        ("aten::mm", 2, [[2, 3], [3, 4]]),
        ("aten::mm", 1, [[5, 3], [3, 4]]),
    ]


def test_by_stack(store):
    rows = key_averages(store, group_by_stack_n=1)
    assert [(r.key, r.count, r.stack) for r in rows] == [
        ("scope", 1, ["net.py(9): main"]),
        ("aten::mm", 1, LINE[:1]),
        ("aten::mm", 2, OTHER[:1]),
    ]
    assert [r.stack for r in key_averages(store, group_by_stack_n=5)][1:] == [LINE, OTHER]


def test_by_overload(store):
    rows = key_averages(store, group_by_overload_name=True)
    assert [(r.key, r.overload_name, r.count) for r in rows] == [
        ("scope", "", 1),
        ("aten::mm", "", 2),
        ("aten::mm", "out", 1),
    ]


@pytest.mark.parametrize(
    "by", [{}, {"by_shape": True}, {"by_stack": 1}, {"by_overload": True}, {"by_shape": True, "by_stack": 2}]
)
def test_the_list_of_events_groups_like_the_store(store, by):
    shape, stack, overload = by.get("by_shape", False), by.get("by_stack", 0), by.get("by_overload", False)
    expected = key_averages(store, shape, stack, overload)
    events = build_events(store)
    assert [vars_of(r) for r in events.key_averages(shape, stack, overload)] == [vars_of(r) for r in expected]
    for event in events:  # with values of their own, events are grouped one by one
        event.sequence_nr = -1
    assert [vars_of(r) for r in events.key_averages(shape, stack, overload)] == [vars_of(r) for r in expected]


def vars_of(row):
    return {
        name: getattr(row, name)
        for name in (
            "key",
            "count",
            "cpu_time_total",
            "self_cpu_time_total",
            "cpu_memory_usage",
            "flops",
            "input_shapes",
            "stack",
            "scope",
            "overload_name",
            "is_user_annotation",
            "node_id",
            "device_type",
            "is_async",
            "is_legacy",
            "is_remote",
            "use_device",
        )
    }


def test_the_same_shapes_with_other_values_are_one_group():
    store = make_store(
        [
            E("aten::sum", 0, 10, inputs=tensors((2,), values=(0,))),
            E("aten::sum", 10, 20, inputs=tensors((2,), values=(1,))),
        ],
        record_shapes=True,
    )
    assert [r.count for r in key_averages(store, group_by_input_shape=True)] == [2]


def test_first_event_lends_parent_and_children(store):
    scope, mm = key_averages(store)
    assert scope.cpu_parent is None and [e.name for e in scope.cpu_children] == ["aten::mm"] * 3
    assert mm.cpu_parent.name == "scope" and mm.cpu_children == []


def test_a_part_of_the_events(store):
    part = build_events(store)[1:3]
    assert isinstance(part, EventList) and summary(part.key_averages()) == [("aten::mm", 2, 30.0, 30.0)]


def test_total_average(store):
    rows = key_averages(store)
    total = rows.total_average()
    assert (total.key, total.count, total.self_cpu_time_total, total.cpu_time_total) == ("Total", 4, 100.0, 160.0)
    assert rows.self_cpu_time_total == 100.0
    of_events = build_events(store).total_average()
    assert type(of_events) is FunctionEventAvg
    assert (of_events.key, of_events.count, of_events.self_cpu_time_total, of_events.flops) == ("Total", 4, 100.0, 216)


def test_nothing_at_all():
    rows = key_averages(make_store([]))
    total = rows.total_average()
    assert rows == [] and rows.self_cpu_time_total == 0 and rows.table() == ""
    assert (total.key, total.count, total.cpu_time_total, total.cpu_time) == ("Total", 0, 0, 0.0)


def test_rows_as_dicts(store):
    (plain,) = (r for r in key_averages(store)._build_rows() if r["name"] == "aten::mm")
    assert plain == {
        "name": "aten::mm",
        "device_type": "CPU",
        "count": 3,
        "total_time_ns": 60_000,
        "self_time_ns": 60_000,
        "avg_time_ns": 20_000,
    }
    detailed = key_averages(store, group_by_input_shape=True, group_by_stack_n=1)._build_rows()[1]
    assert (detailed["input_shapes"], detailed["stack"]) == ([[2, 3], [3, 4]], LINE[:1])


def test_recursion_covers_time_once():
    store = make_store(
        [
            E("r", 0, 100_000, Kind.SCOPE),
            E("x", 1_000, 2_000),
            E("r", 10_000, 90_000, Kind.SCOPE),
            E("x", 20_000, 30_000),
        ]
    )
    row = next(r for r in key_averages(store) if r.key == "r")
    assert (row.cpu_time_total, row.covered_us) == (180.0, 100.0)
    table = key_averages(store).table()
    assert "100.00%" in table and "180.00%" not in table


def test_lists_keep_their_type(store):
    rows = key_averages(store)
    for made in (rows[:1], rows + rows, rows.copy(), rows * 2, copy.copy(rows)):
        assert type(made) is _KeyAverages and made.table()
    assert rows[0] is rows[:1][0]


def test_pickling(store):
    events = pickle.loads(pickle.dumps(build_events(store)))
    assert events.table() == build_events(store).table()
    assert events[1].cpu_parent.name == "scope" and events[1].input_shapes == [[2, 3], [3, 4]]
    assert pickle.loads(pickle.dumps(key_averages(store))).table() == key_averages(store).table()


def test_adding_rows(store):
    a, b = key_averages(store)[1], key_averages(store)[1]
    assert a.add(b) is a and (a.count, a.cpu_time_total, a.covered_us) == (6, 120.0, 120.0)
    a += b
    assert a.count == 9
    with pytest.raises(AssertionError, match="Expected keys to match, but got scope vs aten::mm"):
        a.add(key_averages(store)[0])
    with pytest.raises(AssertionError, match="Expected other to be a FunctionEvent or FunctionEventAvg"):
        a.add(3)


def test_defaults_of_a_new_row():
    row = FunctionEventAvg()
    assert (row.key, row.count, row.node_id, row.input_shapes, row.stack, row.cpu_children, row.cpu_parent) == (
        None,
        0,
        0,
        None,
        None,
        None,
        None,
    )
    assert not hasattr(row, "is_user_annotation")
    with pytest.raises(AttributeError, match="'FunctionEventAvg' object has no attribute 'cuda_time_total'"):
        row.cuda_time_total
    with pytest.raises(TypeError):
        row["key"]


def test_repr_of_a_row(store):
    assert repr(key_averages(store)[0]) == (
        "<FunctionEventAvg key=scope self_cpu_time=40.000us cpu_time=100.000us  self_cuda_time=0.000us "
        "cuda_time=0.000us "
        "input_shapes= cpu_memory_usage=0 cuda_memory_usage=0>"
    )


def test_memory_is_summed():
    store = make_store(
        [E("a", 0, 10), E("a", 10, 20)], [M(5, 1, 100), M(15, 1, -100), M(18, 1, 30)], profile_memory=True
    )
    (row,) = key_averages(store)
    assert (row.cpu_memory_usage, row.self_cpu_memory_usage) == (30, 30)

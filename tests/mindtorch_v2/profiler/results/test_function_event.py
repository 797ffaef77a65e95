"""Single events: views, events made by hand, and the small types around them."""

from __future__ import annotations

import copy
import gc
import pickle
import warnings
import weakref

import pytest

from mindtorch_v2.profiler.analysis.formatting import _format_memory, _format_time, _format_time_share, flops_scale
from mindtorch_v2.profiler.analysis.values import Interval, MemRecordsAcc, StringTable
from mindtorch_v2.profiler.record.enums import DeviceType
from mindtorch_v2.profiler.record.kinds import Kind
from mindtorch_v2.profiler.results.event_list import EventList, build_events
from mindtorch_v2.profiler.results.function_event import FunctionEvent
from mindtorch_v2.profiler.results.function_event_avg import FunctionEventAvg

from ..hand_made import E, make_store, tensors


def hand(name, start, end, **more):
    return FunctionEvent(
        more.pop("id", 0), name, more.pop("thread", 1), start, end, stack=more.pop("stack", []), **more
    )


def built(*events):
    made = EventList(events)
    made._build_tree()
    return [
        (e.name, e.cpu_parent.name if e.cpu_parent else None, e.self_cpu_time_total, e.cpu_time_total) for e in made
    ]


@pytest.mark.parametrize(
    "events, expected",
    [
        ([("A", 0, 10), ("B", 1, 3), ("C", 3, 4)], [("A", None, 7, 10), ("B", "A", 2, 2), ("C", "A", 1, 1)]),
        ([("A", 0, 10), ("B", 5, 15)], [("A", None, 10, 10), ("B", None, 10, 10)]),
        ([("A", 0, 10), ("B", 10, 12)], [("A", None, 10, 10), ("B", None, 2, 2)]),
        ([("A", 0, 10), ("B", 0, 10)], [("A", None, 0, 10), ("B", "A", 10, 10)]),
        ([("A", 0, 10), ("A", 1, 9)], [("A", None, 10, 10)]),
        ([("A", 0, 10), ("A", 1, 9), ("A", 2, 8), ("x", 3, 4)], [("A", None, 9, 10), ("x", "A", 1, 1)]),
        ([("A", 0, 10), ("A", 1, 4), ("A", 5, 8)], [("A", None, 4, 10), ("A", "A", 3, 3), ("A", "A", 3, 3)]),
        ([("A", 0, 10), ("B", 1, 20), ("C", 2, 3)], [("A", None, 10, 10), ("B", None, 18, 19), ("C", "B", 1, 1)]),
    ],
)
def test_trees_of_events_made_by_hand(events, expected):
    assert built(*(hand(*event) for event in events)) == expected


def test_other_threads_nodes_and_asynchronous_events_do_not_nest():
    assert built(hand("A", 0, 10), hand("B", 1, 9, thread=2)) == [("A", None, 10, 10), ("B", None, 8, 8)]
    assert built(hand("A", 0, 10), hand("B", 1, 9, node_id=3)) == [("A", None, 10, 10), ("B", None, 8, 8)]
    assert built(hand("A", 0, 10), hand("B", 1, 9, is_async=True)) == [("A", None, 10, 10), ("B", None, 0, 8)]


def test_key_averages_of_events_made_by_hand():
    events = EventList([hand("A", 0, 10), hand("B", 1, 3), hand("B", 4, 5)])
    with pytest.raises(AssertionError, match="Expected tree to be built before calling key_averages"):
        events.key_averages()
    events._build_tree()
    assert [(r.key, r.count, r.self_cpu_time_total) for r in events.key_averages()] == [("A", 1, 7), ("B", 2, 3)]


def test_defaults_of_an_event_made_by_hand():
    event = FunctionEvent(1, "a", 1, 0, 10)
    assert repr(event) == (
        "<FunctionEvent id=1 name=a overload_name=None device_type=DeviceType.CPU node_id=-1 cpu_time=10.000us "
        "start_us=0 end_us=10 "
        "cpu_children=[] None_time=0.000us name=a thread=1 input_shapes=None cpu_memory_usage=0 None_memory_usage=0 "
        "is_async=False "
        "is_remote=False seq_nr=-1 is_legacy=False>"
    )
    assert (event.device_resource_id, event.flops, event.stack, event.count, event.self_cpu_percent) == (
        1,
        None,
        None,
        1,
        -1,
    )


def test_device_times_of_events_made_by_hand():
    op = hand("op", 0, 100, use_device="cuda")
    op.append_kernel("gemm", 0, 60)
    kernel = hand("gemm", 10, 70, use_device="cuda", device_type=DeviceType.CUDA)
    assert (op.device_time_total, op.self_device_time_total) == (60, 60)
    assert (
        kernel.device_time_total,
        kernel.self_device_time_total,
        kernel.cpu_time_total,
        kernel.self_cpu_time_total,
    ) == (60, 60, 0, 0)
    with pytest.raises(AssertionError, match="Expected device_type to be CPU"):
        kernel.append_kernel("x", 0, 1)


@pytest.fixture
def events():
    return build_events(
        make_store(
            [
                E("outer", 1_000, 9_000, Kind.SCOPE, step=2, stack=["main"]),
                E(
                    "aten::cat",
                    2_000,
                    3_500,
                    seq=5,
                    step=3,
                    inputs=tensors((2, 3), values=(0, "text")),
                    stack=["f", "main"],
                ),
            ],
            start_ns=500,
            record_shapes=True,
            with_stack=True,
        )
    )


def test_attributes_of_a_view(events):
    op = events[1]
    assert (op.id, op.name, op.trace_name, op.thread, op.device_resource_id, op.device_index) == (
        2,
        "aten::cat",
        "aten::cat",
        1,
        7000,
        4242,
    )
    assert (op.time_range.start, op.time_range.end, op.time_range.elapsed_us()) == (1.5, 3.0, 1.5)
    assert (op.input_shapes, op.input_dtypes, op.concrete_inputs) == (
        [[2, 3], [], []],
        ["float", "Scalar", ""],
        [None, 0, None],
    )
    assert (op.structured_input_shapes, op.structured_input_strides) == ([[2, 3], [], []], [[3, 1], [], []])
    assert (op.sequence_nr, op.fwd_thread, op.scope, op.activity_type, op.stack) == (5, 0, 0, "cpu_op", ["f", "main"])
    assert (op.flow_id, op.flow_type, op.flow_start) == (0, 0, False)
    scope = events[0]
    assert (scope.scope, scope.activity_type, scope.is_user_annotation, scope.input_shapes) == (
        7,
        "user_annotation",
        True,
        [],
    )


def test_keys_of_a_view(events):
    op = events[1]
    assert {key: op[key] for key in op} == {
        "name": "aten::cat",
        "kind": "op",
        "device_type": "CPU",
        "step": 3,
        "thread_id": 7000,
        "start_ns": 2000,
        "end_ns": 3500,
        "duration_ns": 1500,
        "correlation_id": 2,
        "input_shapes": [[2, 3], [], []],
        "stack": ["f", "main"],
    }
    assert events[0]["kind"] == "scope" and "cpu_memory_allocated_before" not in op and op.get("nothing", 3) == 3
    with pytest.raises(KeyError):
        op["cpu_memory_allocated_before"]
    bare = build_events(make_store([E("a", 0, 1)]))[0]
    assert "stack" not in bare and "input_shapes" not in bare


def test_relatives_are_the_objects_in_the_list(events):
    assert events[1].cpu_parent is events[0] and events[0].cpu_children[0] is events[1]
    lonely = build_events(make_store([E("a", 0, 10), E("b", 1, 2)]))[1]  # the list is gone
    assert lonely.cpu_parent.name == "a" and lonely.cpu_parent == lonely.cpu_parent


def test_assignment_gives_a_view_its_own_values(events):
    events[1].name = "renamed"
    assert (events[1].name, events[1].input_shapes, events[1].cpu_time_total) == ("renamed", [[2, 3], [], []], 1.5)
    assert [r.key for r in events.key_averages()] == ["outer", "renamed"]


def test_no_cycles():
    gc.disable()
    try:
        events = build_events(make_store([E("a", 0, 10), E("b", 1, 2)]))
        rows = events.key_averages()
        _ = events[1].cpu_parent, events[0].cpu_children, rows[0].cpu_children, rows.table(), events.table()
        gone = weakref.ref(events)
        store = weakref.ref(events[0]._source)
        del events, rows, _
        assert gone() is None and store() is None
    finally:
        gc.enable()


def test_deprecated_names_warn(events):
    for name, text in (
        ("cuda_time", "please use `device_time`"),
        ("cuda_time_total", "Use `device_time_total`"),
        ("self_cuda_time_total", "Use `self_device_time_total`"),
        ("self_cuda_memory_usage", "Use `self_device_memory_usage`"),
        ("metadata_json", "Use `event_metadata`"),
    ):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            getattr(events[0], name)
        assert [text in str(w.message) and w.category is FutureWarning for w in caught] == [True]


def test_formats():
    assert [_format_time(t) for t in (0, 999.9996, 1000, 999999.9, 3.6e9, -5)] == [
        "0.000us",
        "1000.000us",
        "1.000ms",
        "1000.000ms",
        "3600.000s",
        "-5.000us",
    ]
    assert [_format_memory(n) for n in (0, 1023, 1048575, -2048, 5 << 40)] == [
        "0 B",
        "1023 B",
        "1024.00 KB",
        "-2.00 KB",
        "5120.00 GB",
    ]
    assert (_format_time_share(1, 4), _format_time_share(0, 0)) == ("25.00%", "NaN")
    with pytest.raises(AssertionError, match="Expected time_us == 0 but got 1"):
        _format_time_share(1, 0)
    assert [flops_scale(f) for f in ([999], [5e9, 2e3], [1e20], [0, 0.5])] == [
        (1.0, "FLOPs"),
        (1e-3, "KFLOPs"),
        (1e-15, "PFLOPs"),
        (1.0, "FLOPs"),
    ]


def test_small_types():
    assert (Interval(3, 10).start, Interval(3, 10).end, Interval(3, 10).elapsed_us()) == (3, 10, 7)
    table = StringTable()
    assert (table["aten::add"], table["_ZN2at6native3addEv"]) == ("aten::add", "at::native::add()")

    class Record:
        def __init__(self, time):
            self.start_ns = lambda: time

    records = MemRecordsAcc([(Record(5000), "c"), (Record(1000), "a"), (Record(2000), "b")])
    assert [r[1] for r in records.in_interval(1000, 5000)] == ["a", "b", "c"]
    assert [r[1] for r in records.in_interval(1500, 4999)] == ["b"]


EVENT_NAMES = [
    "id",
    "node_id",
    "name",
    "overload_name",
    "trace_name",
    "time_range",
    "thread",
    "fwd_thread",
    "kernels",
    "count",
    "cpu_children",
    "cpu_parent",
    "input_shapes",
    "concrete_inputs",
    "kwinputs",
    "stack",
    "scope",
    "use_device",
    "cpu_memory_usage",
    "device_memory_usage",
    "is_async",
    "is_remote",
    "sequence_nr",
    "device_type",
    "device_index",
    "device_resource_id",
    "is_legacy",
    "flops",
    "is_user_annotation",
    "is_python_function",
    "activity_type",
    "self_cpu_percent",
    "total_cpu_percent",
    "total_device_percent",
    "_metadata_json",
    "flow_id",
    "flow_type",
    "flow_start",
    "external_id",
    "linked_correlation_id",
    "event_metadata",
    "structured_input_shapes",
    "structured_input_strides",
    "input_dtypes",
    "python_id",
    "python_parent_id",
    "python_module_id",
]
GROUP_NAMES = [
    "key",
    "count",
    "node_id",
    "is_async",
    "is_remote",
    "use_device",
    "cpu_time_total",
    "device_time_total",
    "self_cpu_time_total",
    "self_device_time_total",
    "input_shapes",
    "overload_name",
    "stack",
    "scope",
    "cpu_memory_usage",
    "device_memory_usage",
    "self_cpu_memory_usage",
    "self_device_memory_usage",
    "cpu_children",
    "cpu_parent",
    "device_type",
    "is_legacy",
    "flops",
]


def test_vars_of_an_event_are_pytorchs_attributes():
    view = build_events(make_store([E("a", 0, 10, inputs=tensors((2, 3)))]))[0]
    for event in (view, hand("a", 0.0, 1.0)):
        assert list(vars(event)) == EVENT_NAMES
        assert all(vars(event)[name] == getattr(event, name) for name in EVENT_NAMES if name != "time_range")
    assert vars(vars(view)["time_range"]) == {"start": 0.0, "end": 0.01}


def test_vars_hold_what_was_assigned_and_survive_copies():
    event = build_events(make_store([E("a", 0, 10)]))[0]
    event.note, event.flops = "mine", 7
    for found in (event, copy.copy(event), pickle.loads(pickle.dumps(event))):
        assert vars(found)["note"] == found.note == "mine" and vars(found)["flops"] == 7 and vars(found)["name"] == "a"
    vars(event)["name"] = "other"
    assert event.name == "a"


def test_vars_of_a_group_are_pytorchs_attributes():
    groups = build_events(make_store([E("a", 0, 10), E("b", 2, 4)])).key_averages()
    assert [(vars(g)["key"], vars(g)["self_cpu_time_total"]) for g in groups] == [("a", 0.008), ("b", 0.002)]
    assert list(vars(groups[0])) == [*GROUP_NAMES, "is_user_annotation"]
    assert [child.name for child in vars(groups[0])["cpu_children"]] == ["b"]
    assert list(vars(FunctionEventAvg())) == GROUP_NAMES
    again = pickle.loads(pickle.dumps(groups[0]))
    assert vars(again)["cpu_time_total"] == 0.01 and again.cpu_children[0].name == "b"


def test_repr_leaves_the_terminal_alone():
    event = FunctionEvent(1, "a\x1b[31m\nb", 1, 0, 10)
    assert "name=a\\x1b[31m\\nb " in repr(event) and repr(event).isprintable()

"""Operators: sums, distributions, neighbours, shapes and lines."""

from __future__ import annotations

from mindtorch_v2.profiler.analysis.operators import line_times, operators
from mindtorch_v2.profiler.analysis.tree import EventTree
from mindtorch_v2.profiler.record.kinds import Kind

from ..hand_made import E, make_store, tensors


def _made():
    linear = tensors((2, 3), (3, 4))
    return make_store(
        [
            E("aten::linear", 0, 100, inputs=linear, stack=("mindtorch_v2/nn/x.py(1): forward", "train.py(9): step")),
            E("aten::addmm", 10, 60),
            E("aten::linear", 100, 130, inputs=tensors((5, 5), (5, 5)), stack=("eval.py(2): run",)),
            E("aten::addmm", 105, 115),
            E("aten::add", 140, 141),
        ],
        record_shapes=True,
        with_stack=True,
    )


def test_times_and_percentiles():
    found = {o.name: o for o in operators(_made())}
    linear = found["aten::linear"]
    assert (linear.calls, linear.total_ns, linear.own_ns) == (2, 130, 70)
    assert (linear.p50_ns, linear.p95_ns, linear.max_ns, linear.slowest_row) == (30, 100, 100, 0)
    assert [o.name for o in operators(_made())] == ["aten::linear", "aten::addmm", "aten::add"]


def test_neighbours_shapes_and_lines():
    found = {o.name: o for o in operators(_made(), details=5)}
    assert [(p.name, p.calls, p.total_ns) for p in found["aten::addmm"].callers] == [("aten::linear", 2, 60)]
    assert [(p.name, p.calls, p.total_ns, p.index) for p in found["aten::linear"].callees] == [
        ("aten::addmm", 2, 60, 1)
    ]
    assert [(p.name, p.total_ns) for p in found["aten::linear"].shapes] == [
        ("[[2, 3], [3, 4]]", 100),
        ("[[5, 5], [5, 5]]", 30),
    ]
    assert [(p.name, p.total_ns) for p in found["aten::linear"].lines] == [
        ("train.py(9): step", 100),
        ("eval.py(2): run", 30),
    ]


def test_lines_have_the_time_of_the_outermost_operators_once():
    """Backward functions are one inside the other, and an operator is both called by the user and by others."""
    line = ("train.py(9): step",)
    node = "autograd::engine::evaluate_function: AddmmBackward0"
    store = make_store(
        [
            E("aten::mm", 0, 40, stack=line),
            E("Optimizer.step#SGD.step", 40, 60, Kind.SCOPE, stack=line),
            E("aten::add_", 45, 55, stack=line),
            E(node, 100, 200, Kind.NODE, stack=line),
            E("AddmmBackward0", 110, 190, Kind.BACKWARD, stack=line),
            E("aten::mm", 120, 180, stack=line),
            E("aten::mm", 200, 207, stack=("eval.py(2): run",)),
        ],
        with_stack=True,
    )
    found = [(part.name, part.calls, part.total_ns) for part in line_times(EventTree(store))]
    assert found == [("train.py(9): step", 3, 150), ("eval.py(2): run", 1, 7)]
    assert line_times(EventTree(make_store([E("aten::mm", 0, 1)]))) == []


def test_a_store_without_events_has_no_operators():
    assert operators(make_store([])) == []


def test_sums_agree_with_key_averages():
    from mindtorch_v2.profiler.results.event_list import key_averages

    averages = {row.key: row for row in key_averages(_made(), False, 0, False)}
    for operator in operators(_made()):
        row = averages[operator.name]
        assert (operator.calls, operator.total_ns, operator.own_ns) == (
            row.count,
            round(row.cpu_time_total * 1000),
            round(row.self_cpu_time_total * 1000),
        )

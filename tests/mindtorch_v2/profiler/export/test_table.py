"""The table, line by line as PyTorch prints it."""

from __future__ import annotations

import json
import pathlib

import pytest

from mindtorch_v2.profiler.record.enums import DeviceType
from mindtorch_v2.profiler.results.event_list import EventList, build_events, key_averages
from mindtorch_v2.profiler.results.function_event import FunctionEvent

from ..hand_made import E, M, make_store, tensors

RECORDED = json.loads((pathlib.Path(__file__).parent / "torch_tables.json").read_text())


def build(case):
    made = EventList(**case["keywords"])
    for number, described in enumerate(case["events"]):
        arguments = {"stack": [], "id": number, "thread": 1, **described}
        kernels = arguments.pop("kernels", ())
        if "device_type" in arguments:
            arguments["device_type"] = DeviceType[arguments["device_type"]]
        event = FunctionEvent(**arguments)
        for kernel in kernels:
            event.append_kernel(*kernel)
        made.append(event)
    made._build_tree()
    return made


@pytest.mark.parametrize("case", RECORDED, ids=lambda case: case["name"])
def test_is_pytorchs_table_and_one_line_more(case):
    rows = build(case)
    rows = rows if case["averages"] is None else rows.key_averages(**case["averages"])
    lines = rows.table(**case["table"]).split("\n")
    assert lines[:-2] == case["lines"][:-1]
    assert lines[-2].startswith("Count: ") and " Total: " in lines[-2] and lines[-1] == ""


def sample():
    return make_store(
        [
            E("aten::mm", 0, 10_000, inputs=tensors((2, 3), (3, 4)), stack=["f.py(1): f", "f.py(9): main"]),
            E("aten::add", 10_000, 14_000, inputs=tensors((2, 3), (3,)), stack=["f.py(2): f"]),
        ],
        [M(5_000, 1, 96), M(12_000, 2, 1 << 20)],
        record_shapes=True,
        with_flops=True,
        with_stack=True,
        profile_memory=True,
    )


def test_last_line_counts_events_and_time():
    rows = key_averages(sample())
    assert rows.table().splitlines()[-1] == "Count: 2  Total: 14.000us"
    assert rows.table(time_unit="ms").splitlines()[-1] == "Count: 2  Total: 0.014ms"


def test_flops_and_sources_stand_under_their_titles():
    lines = key_averages(sample(), group_by_stack_n=2).table().splitlines()
    source, flops = lines[1].index("Source Location"), lines[1].index("Total FLOPs")
    assert lines[3][source:].startswith("f.py(1): f ") and lines[3].rstrip().endswith("48.000")
    assert lines[4][source:].startswith("f.py(9): main") and lines[4][flops:].strip() == ""


def test_views_print_like_events_with_values_of_their_own():
    events, own = build_events(sample()), build_events(sample())
    for event in own:
        event.flops = event.flops
    for options in ({}, {"sort_by": "flops"}, {"row_limit": 1, "top_level_events_only": True}):
        assert events.table(**options) == own.table(**options)


def test_text_of_a_list_is_its_table():
    rows = key_averages(sample())
    assert str(rows) == rows.table() and repr(rows).startswith("[<FunctionEventAvg key=aten::mm ")


def test_percentages_are_noted_on_printed_events():
    events = build_events(sample())
    events.table(row_limit=1)
    assert [(e.self_cpu_percent, e.total_cpu_percent) for e in events] == [("71.43%", "71.43%"), (-1, -1)]


def test_unknown_attribute():
    with pytest.raises(AttributeError, match="'FunctionEventAvg' object has no attribute 'nonsense'"):
        key_averages(sample()).table(sort_by="nonsense")


def test_device_data_without_a_device():
    event = FunctionEvent(1, "k", 1, 0, 10, device_type=DeviceType.CUDA, use_device="cuda")
    rows = EventList([FunctionEvent(1, "a", 1, 0, 10), event])
    with pytest.raises(RuntimeError, match="use_device is None, but there is device performance data."):
        rows.table()

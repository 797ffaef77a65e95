"""Record what PyTorch prints for lists of events made by hand: `python scripts/oracle/record_tables.py` where torch
is installed.

Writes tests/mindtorch_v2/profiler/export/torch_tables.json: events (arguments of FunctionEvent), calls of `table`,
and the texts.
"""

from __future__ import annotations

import json
import pathlib
from typing import Any

from torch.autograd.profiler_util import DeviceType, EventList, FunctionEvent

OUT = pathlib.Path(__file__).parents[2] / "tests/mindtorch_v2/profiler/export/torch_tables.json"

STACK = ["net/layers.py(31): forward", "net/model.py(7): forward", "train.py(12): <module>"]
PLAIN = [
    {"name": "scope", "start_us": 0, "end_us": 1500.5, "is_user_annotation": True, "scope": 7},
    {"name": "aten::linear", "start_us": 10, "end_us": 800, "input_shapes": [[2, 3], [4, 3], [4]]},
    {
        "name": "aten::addmm",
        "start_us": 20,
        "end_us": 700.25,
        "flops": 48,
        "input_shapes": [[4], [2, 3], [3, 4], [], []],
    },
    {"name": "aten::add", "start_us": 900, "end_us": 900.125, "flops": 8, "input_shapes": [[2, 4], [2, 4], []]},
    {"name": "aten::add", "start_us": 950, "end_us": 951, "flops": 8000000, "input_shapes": [[2000, 4000], [4000], []]},
    {"name": "a name that is longer than the column for names may ever be", "start_us": 1600, "end_us": 5000000},
]
MEMORY = [{**event, "cpu_memory_usage": n} for event, n in zip(PLAIN, (4096, 2048, 2048, 100, -1 << 31, 0))]
STACKS = [{**event, "stack": STACK[:n]} for event, n in zip(PLAIN, (1, 2, 3, 3, 0, 0))]
OVERLOADS = [{**event, "overload_name": "Tensor" if "add" in event["name"] else ""} for event in PLAIN]
UNFINISHED = [*PLAIN, {"name": "unclosed", "start_us": 3, "end_us": 1008, "is_async": True}]
NODES = [{**event, "node_id": 3} for event in PLAIN]
DEVICE = [
    {
        "name": "aten::mm",
        "start_us": 0,
        "end_us": 100,
        "use_device": "cuda",
        "device_memory_usage": 2048,
        "kernels": [["gemm", 0, 60]],
    },
    {"name": "cudaLaunchKernel", "start_us": 10, "end_us": 20, "use_device": "cuda"},
    {"name": "gemm", "start_us": 30, "end_us": 90, "use_device": "cuda", "device_type": "CUDA"},
]
ZERO = [{"name": "nothing", "start_us": 5, "end_us": 5}]

CASES: list[tuple[str, list[dict[str, Any]], dict[str, Any], dict[str, Any] | None, dict[str, Any]]] = [
    # name, events, EventList keywords, key_averages keywords or None, table keywords
    ("plain", PLAIN, {}, {}, {}),
    ("events", PLAIN, {}, None, {}),
    ("sorted", PLAIN, {}, {}, {"sort_by": "self_cpu_time_total"}),
    ("sorted_by_count", PLAIN, {}, {}, {"sort_by": "count", "row_limit": 2}),
    ("sorted_by_device", PLAIN, {}, {}, {"sort_by": "cuda_time_total"}),
    ("limit_none", PLAIN, {}, {}, {"row_limit": None}),
    ("limit_negative", PLAIN, {}, {}, {"row_limit": -3}),
    ("limit_zero", PLAIN, {}, {}, {"row_limit": 0}),
    (
        "widths",
        PLAIN,
        {},
        {"group_by_input_shapes": True},
        {"max_name_column_width": 20, "max_shapes_column_width": 12},
    ),
    (
        "no_limits_on_width",
        PLAIN,
        {},
        {"group_by_input_shapes": True},
        {"max_name_column_width": None, "max_shapes_column_width": None},
    ),
    ("header", PLAIN, {}, {}, {"header": "One step"}),
    ("empty_header", PLAIN, {}, {}, {"header": ""}),
    ("top_level", PLAIN, {}, {}, {"top_level_events_only": True, "row_limit": 1}),
    ("milliseconds", PLAIN, {}, {}, {"time_unit": "ms"}),
    ("seconds", PLAIN, {}, {}, {"time_unit": "s"}),
    ("microseconds", PLAIN, {}, {}, {"time_unit": "us"}),
    ("odd_unit", PLAIN, {}, {}, {"time_unit": "hours"}),
    ("flops", PLAIN, {"with_flops": True}, {}, {}),
    ("no_flops_counted", PLAIN[:2], {"with_flops": True}, {}, {}),
    ("memory", MEMORY, {"profile_memory": True}, {}, {}),
    (
        "memory_and_flops_by_shape",
        MEMORY,
        {"profile_memory": True, "with_flops": True},
        {"group_by_input_shapes": True},
        {},
    ),
    ("stacks", STACKS, {}, {"group_by_stack_n": 2}, {}),
    ("narrow_stacks", STACKS, {}, {"group_by_stack_n": 5}, {"max_src_column_width": 15}),
    ("stacks_of_events", STACKS, {}, None, {"header": "h", "top_level_events_only": True}),
    ("overloads", OVERLOADS, {}, {"group_by_overload_name": True}, {}),
    ("unfinished", UNFINISHED, {}, {}, {}),
    ("nodes", NODES, {}, {}, {}),
    ("device", DEVICE, {"use_device": "cuda"}, {}, {}),
    ("device_memory", DEVICE, {"use_device": "cuda", "profile_memory": True}, {}, {"sort_by": "self_cuda_time_total"}),
    ("zero", ZERO, {}, {}, {}),
]


def build(
    events: list[dict[str, Any]], keywords: dict[str, Any], event_list: Any, function_event: Any, device_type: Any
) -> Any:
    """The list of the described events, with its tree."""
    made = event_list(**keywords)
    for number, described in enumerate(events):
        arguments = {"stack": [], "id": number, "thread": 1, **described}
        kernels = arguments.pop("kernels", ())
        if "device_type" in arguments:
            arguments["device_type"] = getattr(device_type, arguments["device_type"])
        event = function_event(**arguments)
        for kernel in kernels:
            event.append_kernel(*kernel)
        made.append(event)
    made._build_tree()
    return made


def main() -> None:
    recorded = []
    for name, events, keywords, averages, table in CASES:
        rows = build(events, keywords, EventList, FunctionEvent, DeviceType)
        rows = rows if averages is None else rows.key_averages(**averages)
        recorded.append(
            {
                "name": name,
                "events": events,
                "keywords": keywords,
                "averages": averages,
                "table": table,
                "lines": rows.table(**table).split("\n"),
            }
        )
    OUT.write_text(json.dumps(recorded, indent=1) + "\n")


if __name__ == "__main__":
    main()

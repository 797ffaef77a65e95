"""The profiler: columns of the table, counts of events, fields of the trace, links from operators to kernels."""

from __future__ import annotations

import collections
import json
import os
import re
import tempfile
from typing import Any

KEPT = ("aten::mm", "aten::relu", "aten::add")


def fields(events: list[dict[str, Any]]) -> dict[str, Any]:
    """For each category of events: phases and the keys of the events and of their arguments."""
    seen: dict[str, dict[str, set[str]]] = collections.defaultdict(lambda: collections.defaultdict(set))
    for event in events:
        category = event.get("cat") or event["ph"]
        seen[category]["phases"].add(event["ph"])
        seen[category]["keys"].update(event)
        seen[category]["args"].update(event.get("args", {}))
    return {category: {name: sorted(values) for name, values in found.items()} for category, found in seen.items()}


def linked(events: list[dict[str, Any]]) -> dict[str, Any]:
    """How kernels hang together with the flows and the launching calls."""
    kernels = [e for e in events if e.get("cat") == "kernel"]
    flows = [e for e in events if e.get("cat") == "ac2g"]
    starts, ends = ({e["id"] for e in flows if e["ph"] == phase} for phase in "sf")
    return {
        "kernels": len(kernels),
        "kernels take time": all(e["dur"] > 0 for e in kernels),
        "flows": len(starts),
        "flows have both ends": starts == ends,
        "ends bind to the slice": all(e.get("bp") == "e" for e in flows if e["ph"] == "f"),
        "kernels sit on device 0": {e["pid"] for e in kernels} == {0},
        "a kernel for every flow": len(ends) == len(kernels),
    }


def columns(table: str) -> list[str]:
    """The headings of a printed table."""
    return re.split(r"\s{2,}", table.splitlines()[1].strip())


def run(torch: Any) -> dict[str, Any]:
    profiler = torch.profiler
    x = torch.ones(32, 32).npu()
    pinned = torch.ones(256).pin_memory()
    torch.relu(x @ x) + 1  # not the first launch is measured
    torch.npu.synchronize()
    activities = [profiler.ProfilerActivity.CPU, profiler.ProfilerActivity.NPU]
    with profiler.profile(activities=activities, record_shapes=True, profile_memory=True) as seen:
        with profiler.record_function("a region"):
            y = torch.relu(x.mm(x)) + 1
            pinned.to("npu", non_blocking=True)
        y.cpu()
        torch.npu.synchronize()
    averages = seen.key_averages()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trace.json")
        seen.export_chrome_trace(path)
        with open(path) as file:
            trace = json.load(file)
    events = trace["traceEvents"]
    rows = {a.key: a for a in averages}
    kernels = [e for e in seen.events() if str(e.device_type).endswith("NPU") or e.device_type == "NPU"]
    return {
        "supported": sorted(str(a) for a in profiler.supported_activities()),
        "columns": columns(averages.table()),
        "columns grouped by shape": columns(seen.key_averages(group_by_input_shape=True).table()),
        "footer": [line.split(":")[0] for line in averages.table().splitlines() if "time total" in line],
        "counts": {name: rows[name].count for name in KEPT if name in rows},
        "shapes": next(e.input_shapes for e in seen.events() if e.name == "aten::mm"),
        "device events": len(kernels) > 0,
        "device index": sorted({e.device_index for e in kernels}),
        "operators have device time": {name: rows[name].device_time_total > 0 for name in KEPT if name in rows},
        "trace": fields(events),
        "links": linked(events),
        "names of processes": sorted({e["args"]["labels"] for e in events if e["name"] == "process_labels"}),
        "names of device threads": sorted(
            {
                re.sub(r"\d+", "N", e["args"]["name"])
                for e in events
                if e["name"] == "thread_name" and "stream" in e["args"]["name"]
            }
        ),
        "device processes": sorted(
            {e["args"]["name"] for e in events if e["name"] == "process_name" and e["pid"] == 0}
        ),
    }

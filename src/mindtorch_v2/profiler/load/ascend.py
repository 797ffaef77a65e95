"""The dialect of torch_npu's trace_view.json: which processes are the device, and which operator launched its work.

Work on the device lies in a process called "Ascend Hardware" without a category; arrows `torch_to_npu` (and
`async_npu`) lead from the operator of the host to the beginning of the work. Tracks that only sum up others
("Overlap Analysis") are left out: they are computed from the rest.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from typing import Any

DEVICE = "npu"  # what such traces are of, by the name that torch_npu gives it
_HARDWARE = ("Ascend Hardware", "NPU")
_DERIVED = ("Overlap Analysis",)
_ARROWS = ("torch_to_npu", "async_npu")
_COPIES = ("MEMCPY", "SDMA", "PCIE_DMA")
_FIRST_ID = 1 << 40  # above the ids that writers give


def _process_names(events: Sequence[dict[str, Any]]) -> dict[Any, str]:
    return {
        e.get("pid"): str((e.get("args") or {}).get("name", ""))
        for e in events
        if e.get("ph") == "M" and e.get("name") == "process_name"
    }


def is_ascend(events: Sequence[dict[str, Any]]) -> bool:
    """Whether a trace comes from torch_npu or msprof."""
    return any(name.startswith(_HARDWARE[0]) for name in _process_names(events).values())


def attribute_work(events: list[dict[str, Any]], log: Counter[str]) -> list[dict[str, Any]]:
    """The events in the dialect that the loader knows: work on the device is a kernel or a copy on its stream, with
    the id of the operator that launched it.
    """
    names = _process_names(events)
    hardware = [pid for pid, name in names.items() if name.startswith(_HARDWARE)]
    derived = {pid for pid, name in names.items() if name.startswith(_DERIVED)}
    kept = [e for e in events if e.get("pid") not in derived]
    if len(kept) < len(events):
        log["tracks that sum up others (Overlap Analysis) were left out"] += 1
    launch_of_work = _launching_ids(kept, set(hardware))
    for event in kept:
        if event.get("ph") == "X" and event.get("pid") in hardware:
            _as_work(event, hardware.index(event["pid"]), launch_of_work)
    return kept


def _as_work(event: dict[str, Any], index: int, launch_of_work: dict[tuple[Any, Any, Any], int]) -> None:
    args = event.get("args") or {}
    task = str(args.get("Task Type", "")) + str(event.get("name", ""))
    event["cat"] = "gpu_memcpy" if any(word in task.upper() for word in _COPIES) else "kernel"
    launch_id = launch_of_work.get((event["pid"], event.get("tid"), event.get("ts")))
    event["args"] = {
        **args,
        "device": _whole(args.get("Device Id"), index),
        "stream": _whole(args.get("Stream Id"), event.get("tid", 0)),
    }
    if launch_id is not None:
        event["args"]["External id"] = launch_id


def _whole(value: Any, default: Any) -> Any:
    if isinstance(value, str) and value.strip().lstrip("-").isdigit():
        return int(value)
    return value if isinstance(value, int) else default


def _launching_ids(events: Sequence[dict[str, Any]], hardware: set[Any]) -> dict[tuple[Any, Any, Any], int]:
    """The id of the launching operator for each beginning of work: (process, track, time)."""
    slices: dict[tuple[Any, Any], list[dict[str, Any]]] = {}
    for event in events:
        if event.get("ph") == "X" and event.get("pid") not in hardware and "ts" in event:
            slices.setdefault((event["pid"], event.get("tid")), []).append(event)
    for lane in slices.values():
        lane.sort(key=lambda e: (e["ts"], -e.get("dur", 0)))
    starts = {key: [e["ts"] for e in lane] for key, lane in slices.items()}
    begun = {_arrow_key(e): e for e in events if e.get("ph") == "s" and _is_arrow(e)}
    found: dict[tuple[Any, Any, Any], int] = {}
    for event in events:
        if event.get("ph") != "f" or not _is_arrow(event) or (start := begun.get(_arrow_key(event))) is None:
            continue
        operator = _innermost(slices, starts, start)
        if operator is not None:
            args = operator["args"] = operator.get("args") or {}
            launch_id = args.setdefault("External id", _FIRST_ID + len(found))
            found[event.get("pid"), event.get("tid"), event.get("ts")] = launch_id
    return found


def _is_arrow(event: dict[str, Any]) -> bool:
    return event.get("name") in _ARROWS or event.get("cat") in _ARROWS


def _arrow_key(event: dict[str, Any]) -> tuple[Any, Any]:
    return event.get("cat"), event.get("id")


def _innermost(
    slices: dict[tuple[Any, Any], list[dict[str, Any]]], starts: dict[tuple[Any, Any], list[Any]], at: dict[str, Any]
) -> dict[str, Any] | None:
    """The innermost slice of the arrow's track that covers its beginning."""
    key = (at.get("pid"), at.get("tid"))
    lane = slices.get(key, [])
    index = bisect_right(starts.get(key, []), at["ts"]) - 1
    for i in range(index, max(index - 200, -1), -1):
        if lane[i]["ts"] + lane[i].get("dur", 0) >= at["ts"]:
            return lane[i]
    return None

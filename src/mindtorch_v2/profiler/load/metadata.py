"""The window of a trace as a whole: its device, options and times."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from ..record.descriptions import Metadata, Options, ThreadInfo
from .collected import EXACT_BELOW, Collected
from .memory import BLOCKS_KEY
from .threads import process_name

_OWN_KEYS = frozenset(
    {
        "schemaVersion",
        "deviceProperties",
        "trace_id",
        "host_name",
        "displayTimeUnit",
        "baseTimeNanoseconds",
        "traceName",
        "use_device",
        "dropped_events",
        "profile_memory",
        "with_stack",
        "record_shapes",
        "with_modules",
        "with_flops",
        BLOCKS_KEY,
    }
)


def device_name(raw: Collected, has_device_rows: bool) -> str | None:
    """What PyTorch calls the device: also that of AMD is "cuda"."""
    given = raw.head.get("use_device")
    if isinstance(given, str):
        return given
    for category in sorted(raw.categories):
        device = category.lower().partition("_")[0]
        if device in ("xpu", "mtia", "hpu", "privateuse1"):
            return "privateuseone" if device == "privateuse1" else device
    return "cuda" if has_device_rows else None


def make_metadata(
    raw: Collected,
    columns: dict[str, np.ndarray],
    process: Any,
    use_device: str | None,
    has_stacks: bool,
    threads: list[ThreadInfo],
) -> Metadata:
    head = raw.head
    times = [columns["start_ns"], columns["end_ns"], raw.memory_time, raw.window]
    known = np.concatenate(times) if any(len(part) for part in times) else np.zeros(1, np.int64)
    base, dropped = head.get("baseTimeNanoseconds"), head.get("dropped_events")
    options = Options(
        record_shapes=bool(head.get("record_shapes")) or raw.inputs.has_shapes,
        with_flops=bool(head.get("with_flops")),
        profile_memory=bool(head.get("profile_memory")) or len(raw.memory_time) > 0,
        with_stack=bool(head.get("with_stack")) or has_stacks,
        verbose=bool(raw.stacks),
        with_modules=bool(head.get("with_modules")) or bool(raw.modules),
    )
    return Metadata(
        start_ns=int(known.min()),
        stop_ns=int(known.max()),
        epoch_offset_ns=base if type(base) is int and abs(base) < 1 << 62 else 0,
        pid=process if type(process) is int and abs(process) < EXACT_BELOW else 0,
        process_name=process_name(raw, process),
        host_name=str(head.get("host_name", "")),
        trace_id=str(head.get("trace_id", "")),
        use_device=use_device,
        options=options,
        is_foreign=True,
        user={key: json.dumps(value, default=str) for key, value in head.items() if key not in _OWN_KEYS},
        device_properties=json.dumps(head.get("deviceProperties", []), default=str),
        dropped_events=dropped if type(dropped) is int else 0,
        other_processes={
            str(thread.process): process_name(raw, thread.process) for thread in threads if thread.process
        },
    )

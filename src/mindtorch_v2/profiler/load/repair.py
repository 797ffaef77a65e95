"""Traces that need repair before they can be read: of torch_npu, of writers of invalid JSON, and of programs that
were killed.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, NamedTuple

from ..store.event_store import EventStore
from ..store.files import ProfileFileError, collector_paused
from .ascend import DEVICE, attribute_work, is_ascend
from .build import build
from .collector import Collector
from .tolerant import events_of, head_of, read_text

_SAFE = 1 << 53
_TRACE_FILES = ("trace_view.json", "*.pt.trace.json", "*.pt.trace.json.gz")
_ASCEND_FOLDER = "ASCEND_PROFILER_OUTPUT"


class Repaired(NamedTuple):
    """A store, and what had to be done to read it: one sentence each, with how often."""

    store: EventStore
    repairs: list[str]


def find_trace(folder: str | os.PathLike[str]) -> str:
    """The one trace in a folder that torch_npu or a TensorBoard handler wrote; ProfileFileError where there is none,
    or several.
    """
    root = Path(folder)
    found = [p for pattern in _TRACE_FILES for p in (*root.glob(pattern), *root.glob(f"{_ASCEND_FOLDER}/{pattern}"))]
    found = found or sorted(root.glob(f"*/{_ASCEND_FOLDER}/trace_view.json"))
    if not found:
        raise ProfileFileError(folder, "is a folder without a trace (trace_view.json or *.pt.trace.json)")
    if len(found) > 1:
        raise ProfileFileError(
            folder, f"is a folder with {len(found)} traces; name one of them, for instance {str(found[0])!r}"
        )
    return str(found[0])


def load_repaired(path: str | os.PathLike[str], error: ProfileFileError) -> Repaired:
    """The store of a trace that the strict reader refused with `error`, which is raised where nothing can be read."""
    log: Counter[str] = Counter()
    with collector_paused():
        text = read_text(path, log)
        if not text.lstrip().startswith(("{", "[")):
            raise error
        head = head_of(text)
        events = list(_whole(_normal(events_of(text, log), log)))
        if is_ascend(events):
            events = attribute_work(events, log)
            head.setdefault("use_device", DEVICE)
        collector = Collector()
        collector.head.update(head)
        taken = _take(collector, events, log)
        if not taken:
            raise error
        try:
            store = build(collector.collected())
        except (OverflowError, TypeError, ValueError) as problem:
            raise ProfileFileError(path, f"cannot be repaired: its numbers make no sense ({problem})") from problem
    return Repaired(store, [f"{count:,} x {what}" if count > 1 else what for what, count in log.items() if count])


def _take(collector: Collector, events: Iterable[dict[str, Any]], log: Counter[str]) -> int:
    taken = 0
    for event in events:
        try:
            collector.take(event)
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
            log["events without a name, a time or a thread were left out"] += 1
        else:
            taken += event["ph"] == "X"
    return taken


def _normal(events: Iterable[dict[str, Any]], log: Counter[str]) -> Iterator[dict[str, Any]]:
    """Events whose times are numbers, and whose ids identify something in every reader."""
    for event in events:
        if any(isinstance(event.get(key), (dict, list)) for key in ("ph", "pid", "tid", "id", "name", "cat")):
            log["events whose names or ids are lists or objects were left out"] += 1
            continue
        for key in ("ts", "dur"):
            if key not in event:
                continue
            value = event[key]
            log["times were text"] += isinstance(value, str)
            event[key] = _exact(value)
            if event[key] is None:
                del event[key]
                log["times that are not numbers were left out"] += 1
        if event.get("dur", 0) < 0:
            event["dur"] = 0
            log["negative durations were set to 0"] += 1
        if any(isinstance(event.get(key), int) and abs(event[key]) >= _SAFE for key in ("pid", "tid", "id")):
            log["ids of processes, threads or arrows were above 2^53, where JSON readers round"] += 1
        yield event


def _exact(value: Any) -> int | Decimal | None:
    """A time as a number that can be added to others without rounding, whether it was text or a number; None for what
    is neither."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    try:
        number = Decimal(value.strip() if isinstance(value, str) else repr(value))
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def _whole(events: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Beginnings and ends (phases B and E) joined to whole slices; a beginning without an end is left out."""
    open_events: dict[tuple[Any, Any], list[dict[str, Any]]] = {}
    for event in events:
        phase = event.get("ph")
        lane = open_events.setdefault((event.get("pid"), event.get("tid")), []) if phase in ("B", "E") else []
        if phase == "B":
            lane.append(event)
        elif phase == "E":
            if lane:
                begun = lane.pop()
                yield {
                    **begun,
                    "ph": "X",
                    "dur": event["ts"] - begun["ts"],
                    "args": {**(begun.get("args") or {}), **(event.get("args") or {})},
                }
        elif phase not in ("b", "e", "n"):
            yield event

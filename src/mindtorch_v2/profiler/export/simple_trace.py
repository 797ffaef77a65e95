"""The small form of a Chrome trace that a list of events writes by itself."""
from __future__ import annotations

import json
import os
from collections.abc import Iterable
from typing import Any

from .atomic import atomic_writer


def write_simple_trace(path: str | os.PathLike[str], events: Iterable[Any]) -> None:
    """A JSON array with one slice per event, in microseconds since the start of the window."""
    with atomic_writer(path) as out:
        separator = "["
        for event in events:
            slice_ = {"name": event.trace_name, "ph": "X", "ts": event.time_range.start, "dur": event.time_range.elapsed_us(),
                      "tid": event.thread, "pid": "CPU functions", "args": {}}
            out.write(separator + json.dumps(slice_))
            separator = ",\n"
        out.write("]" if separator != "[" else "[]")

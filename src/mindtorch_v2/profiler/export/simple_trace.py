"""The small form of a Chrome trace that a list of events writes by itself."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from itertools import count
from typing import Any

from .atomic import atomic_writer
from .tracks import FIRST_EXTRA_TID


def write_simple_trace(path: str | os.PathLike[str], events: Iterable[Any]) -> None:
    """A JSON array with one slice per event, in microseconds since the start of the window. Viewers drop slices that
    overlap partly on one track: those of asynchronous scopes and of tasks that take turns get further tracks.
    """
    listed = list(events)
    tracks = _tracks(listed)
    with atomic_writer(path) as out:
        separator = "["
        for event, track in zip(listed, tracks):
            slice_ = {
                "name": event.trace_name,
                "ph": "X",
                "ts": event.time_range.start,
                "dur": event.time_range.elapsed_us(),
                "tid": track,
                "pid": "CPU functions",
                "args": {},
            }
            out.write(separator + json.dumps(slice_))
            separator = ",\n"
        out.write("]" if separator != "[" else "[]")


def _tracks(events: Sequence[Any]) -> list[int]:
    """Per event: its thread, or where it overlaps partly with an event there the first further track on which it
    does not.
    """
    tracks = [event.thread for event in events]
    further = count(FIRST_EXTRA_TID)
    # thread -> its tracks, each with the ends of what is open there
    of_thread: dict[int, list[tuple[int, list[float]]]] = {}
    for i in sorted(range(len(events)), key=lambda i: (events[i].time_range.start, -events[i].time_range.end)):
        start, end = events[i].time_range.start, events[i].time_range.end
        known = of_thread.setdefault(tracks[i], [(tracks[i], [])])
        for track, ends in known:  # noqa: B007 - used below
            while ends and ends[-1] <= start:
                ends.pop()
            if not ends or end <= ends[-1]:
                break
        else:
            track, ends = next(further), []
            known.append((track, ends))
        ends.append(end)
        tracks[i] = track
    return tracks

"""speedscope's file: one evented profile per track."""

from __future__ import annotations

import json
import os

from ..store.event_store import EventStore
from .atomic import atomic_writer
from .slices import boundaries, tracks

SCHEMA = "https://www.speedscope.app/file-format-schema.json"
_CHUNK = 4096


def write(store: EventStore, path: str | os.PathLike[str]) -> None:
    """Writes the profile; times are nanoseconds from the beginning of the window."""
    origin = int(store.start_ns[0]) if len(store) else 0
    with atomic_writer(path, compressed=False) as out:
        frames = [{"name": text} for text in store.strings]
        out.write(
            f'{{"$schema":{json.dumps(SCHEMA)},"exporter":"mindprof","name":{json.dumps(store.metadata.process_name)},'
        )
        out.write(f'"shared":{{"frames":{json.dumps(frames)}}},"profiles":[')
        for i, track in enumerate(tracks(store)):
            end = int(store.end_ns[track.rows].max()) - origin
            head = {
                "type": "evented",
                "name": track.name,
                "unit": "nanoseconds",
                "startValue": int(store.start_ns[track.rows[0]]) - origin,
                "endValue": end,
            }
            out.write(("," if i else "") + json.dumps(head)[:-1] + ',"events":[')
            pending, first = [], True
            names = store.name
            for time, begins, row in boundaries(store, track):
                pending.append(f'{{"type":"{"O" if begins else "C"}","frame":{names[row]},"at":{time - origin}}}')
                if len(pending) == _CHUNK:
                    out.write(("" if first else ",") + ",".join(pending))
                    pending, first = [], False
            out.write(("" if first or not pending else ",") + ",".join(pending) + "]}")
        out.write("]}\n")

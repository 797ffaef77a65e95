"""Events as beginnings and ends, track by track, in an order in which every end closes the newest open beginning."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ..analysis.lanes import depths_of, nests_on_its_track, tracks_of
from ..store.event_store import EventStore


class Track(NamedTuple):
    """A track: its name, "thread", "task", "stream" or "async", the index of its thread in the store (-1 for none),
    and its rows.
    """

    name: str
    kind: str
    thread: int
    rows: np.ndarray


def tracks(store: EventStore) -> list[Track]:
    """The tracks that have events. Streams whose work overlaps, and asynchronous events, are spread over several."""
    track, infos = tracks_of(store)
    nests = nests_on_its_track(store)
    depth = np.where(nests, 0, depths_of(store, track)) if len(store) else np.zeros(0, np.int64)
    found = []
    for code in np.unique(track.astype(np.int64) * 4096 + depth).tolist():
        which, level = divmod(code, 4096)
        rows = np.flatnonzero((track == which) & (depth == level))
        name = infos[which]["name"] + (f" ({level + 1})" if level else "")
        found.append(Track(name, infos[which]["kind"], which if which < len(store.threads) else -1, rows))
    return found


def boundaries(store: EventStore, track: Track) -> Iterator[tuple[int, bool, int]]:
    """(time, whether it begins, row) of a track's events, in order."""
    start, end, parent = store.start_ns, store.end_ns, store.parent
    nested = track.kind in ("thread", "task")
    inside = np.zeros(len(store) + 1, bool)
    inside[track.rows] = True
    open_rows: list[int] = []
    for row, begin, above in zip(track.rows.tolist(), start[track.rows].tolist(), parent[track.rows].tolist()):
        while above >= 0 and nested and not inside[above]:
            above = int(parent[above])
        while open_rows and (open_rows[-1] != above if nested else end[open_rows[-1]] <= begin):
            closed = open_rows.pop()
            yield int(end[closed]), False, closed
        yield begin, True, row
        open_rows.append(row)
    while open_rows:
        closed = open_rows.pop()
        yield int(end[closed]), False, closed

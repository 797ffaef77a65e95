"""Where events are drawn: tracks, one per thread, task and stream, and how deep each event lies on its own."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..record.kinds import DEVICE_KINDS, Flag
from ..store.distinct import distinct
from ..store.event_store import EventStore

_IS_DEVICE = np.isin(np.arange(256), [int(kind) for kind in DEVICE_KINDS])


def tracks_of(store: EventStore) -> tuple[np.ndarray, list[dict[str, Any]]]:
    """The track of each row, and the tracks: one per thread, task and stream, and one for what does not nest on its
    thread.
    """
    apart = (store.flags & np.uint8(Flag.ASYNC) != 0) & ~_IS_DEVICE[store.kind]
    processes = sorted({thread.process for thread in store.threads if thread.device < 0}) or [0]
    loose = np.array([processes.index(thread.process) if thread.device < 0 else 0 for thread in store.threads] or [0])
    track = np.where(apart, len(store.threads) + loose[store.thread], store.thread) if len(store) else store.thread
    names = {process: _process_prefix(store, process) for process in processes}
    infos: list[dict[str, Any]] = []
    for thread in store.threads:
        if thread.device >= 0:
            infos.append({"name": f"device {thread.device}: {thread.name}", "kind": "stream"})
        else:
            infos.append(
                {
                    "name": names[thread.process]
                    + (f"task {thread.name}" if thread.task else _with_id(thread.name or "thread", thread.os_id)),
                    "kind": "task" if thread.task else "thread",
                }
            )
    return track, [*infos, *({"name": names[process] + "asynchronous", "kind": "async"} for process in processes)]


def _with_id(name: str, os_id: int) -> str:
    """Traces often name a thread by its id already."""
    return name if str(os_id) in name else f"{name} ({os_id})"


def _process_prefix(store: EventStore, process: int) -> str:
    """What tells the tracks of one process from those of others."""
    return f"{store.metadata.other_processes.get(str(process), process)}: " if process else ""


def depths_of(store: EventStore, track: np.ndarray) -> np.ndarray:
    """How deep each row lies on its track: as recorded where rows nest, else the first free depth."""
    parent = np.where((store.parent >= 0) & (np.append(track, -1)[store.parent] == track), store.parent, -1)
    depth = np.zeros(len(store), np.int64)
    inside = np.flatnonzero(parent >= 0)
    at = parent[inside]
    while len(inside):
        depth[inside] += 1
        at = parent[at]
        still = at >= 0
        inside, at = inside[still], at[still]
    loose = _IS_DEVICE[store.kind] | (track >= len(store.threads))
    for one in distinct(track[loose]).tolist() if len(track) else ():
        rows = np.flatnonzero(loose & (track == one))
        if (store.start_ns[rows][1:] < np.maximum.accumulate(store.end_ns[rows])[:-1]).any():
            depth[rows] = _first_free(store.start_ns[rows].tolist(), store.end_ns[rows].tolist())
    return np.minimum(depth, 4095)


def _first_free(start: list[int], end: list[int]) -> list[int]:
    """Greedy: each interval on the lowest level where nothing runs; for tracks with overlaps only."""
    levels: list[int] = []
    found = []
    for begin, finish in zip(start, end):
        level = next((i for i, until in enumerate(levels) if until <= begin), len(levels))
        if level == len(levels):
            levels.append(finish)
        else:
            levels[level] = finish
        found.append(level)
    return found


def nests_on_its_track(store: EventStore) -> np.ndarray:
    """The mask of rows that lie inside or beside the others of their thread: those of the host that are not
    asynchronous.
    """
    return (store.flags & np.uint8(Flag.ASYNC) == 0) & ~_IS_DEVICE[store.kind]

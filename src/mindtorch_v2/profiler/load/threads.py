"""The threads of a trace: its tracks, their names and ids, and the process that was profiled."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from ..record.descriptions import ThreadInfo
from ..record.kinds import Kind
from .collected import EXACT_BELOW, IS_DEVICE, IS_PYTHON, Collected

_FIRST_EXTRA_TID = 0x70000000
_ASYNCHRONOUS = re.compile(r"asynchronous \d+")
_TASK = re.compile(r"task (.*) \(thread (\d+)\)", re.DOTALL)
_THREAD_NAME = re.compile(r"thread \d+ \((.*)\)", re.DOTALL)


def is_asynchronous(raw: Collected, track: tuple[Any, Any, bool]) -> bool:
    """Whether a track holds what did not nest on its thread."""
    owner, tid, on_device = track
    return (
        not on_device
        and isinstance(tid, int)
        and tid >= _FIRST_EXTRA_TID
        and _ASYNCHRONOUS.fullmatch(raw.names.get(("thread_name", owner, tid), "")) is not None
    )


def profiled_process(raw: Collected, columns: dict[str, np.ndarray]) -> Any:
    """The process that was profiled: the one with most events of the host."""
    host = ~IS_DEVICE[columns["kind"]]
    known = host & (columns["kind"] != Kind.OTHER) & (columns["kind"] != Kind.OVERHEAD)
    events = np.bincount(columns["track"][known if known.any() else host], minlength=len(raw.tracks))
    counts: dict[Any, int] = {}
    for i in np.flatnonzero(events).tolist():
        owner = raw.tracks[i][0]
        counts[owner] = counts.get(owner, 0) + int(events[i])
    return max(counts, key=counts.__getitem__) if counts else None


def make_threads(raw: Collected, columns: dict[str, np.ndarray], process: Any) -> tuple[list[ThreadInfo], np.ndarray]:
    """The threads, and where each track's stands among them; what did not nest belongs to the first."""
    first = np.full(len(raw.tracks), np.iinfo(np.int64).max)
    np.minimum.at(first, columns["track"], columns["start_ns"])
    order = np.lexsort((first, np.array([track[2] for track in raw.tracks], bool))).tolist() if raw.tracks else []
    kept = [i for i in order if not is_asynchronous(raw, raw.tracks[i])] or order[:1]
    ids = _forward_ids(columns, len(raw.tracks))
    free = iter(sorted(set(range(1, len(kept) + len(ids) + 1)) - set(ids.values())))
    main_label = process_name(raw, process)
    threads = []
    for i in kept:
        owner, tid, on_device = raw.tracks[i]
        os_id = tid if type(tid) is int and abs(tid) < EXACT_BELOW else i
        label = raw.names.get(("thread_name", owner, tid), "").strip()
        found = _THREAD_NAME.fullmatch(label)
        name = found.group(1) if found else label or (f"stream {tid}" if on_device else str(tid))
        name = "MainThread" if name == main_label else name
        device = -1 if not on_device else owner if type(owner) is int and 0 <= owner < EXACT_BELOW else 0
        threads.append(
            ThreadInfo(ids.get(i) or next(free), os_id, name, device, process=_other_process(raw.tracks[i], process))
        )
    threads = _with_tasks(raw, kept, threads)
    lookup = np.zeros(len(raw.tracks) + 1, np.int64)
    lookup[kept] = np.arange(len(kept))
    return threads or [ThreadInfo(1, 0, "MainThread")], lookup


def _other_process(track: tuple[Any, Any, bool], process: Any) -> int:
    """The id of the process that a track of the host belongs to, where that is another than the profiled one; else
    0.
    """
    owner, _, on_device = track
    is_id = type(owner) is int and 0 < owner < EXACT_BELOW
    return int(owner) if is_id and not on_device and owner != process else 0


def _with_tasks(raw: Collected, kept: list[int], threads: list[ThreadInfo]) -> list[ThreadInfo]:
    """The threads, where those that are tasks of others have their ids."""
    known = {(thread.process, thread.os_id): thread for thread in threads if thread.device < 0}
    made = []
    for i, thread in zip(kept, threads):
        found = _TASK.fullmatch(raw.names.get(("thread_name", *raw.tracks[i][:2]), ""))
        if found is not None and thread.os_id >= _FIRST_EXTRA_TID and thread.device < 0:
            tid = int(found.group(2))
            owner = known.setdefault((thread.process, tid), thread._replace(os_id=tid))
            thread = owner._replace(name=found.group(1), task=thread.os_id - _FIRST_EXTRA_TID + 1)
        made.append(thread)
    return made


def _forward_ids(columns: dict[str, np.ndarray], tracks: int) -> dict[int, int]:
    """The ids that backward functions know threads by, as far as sequence numbers tell which thread is meant."""
    sequence, forward = columns["sequence_nr"], columns["forward_thread"]
    found: dict[int, int] = {}
    backward = np.flatnonzero((forward > 0) & (sequence >= 0))
    ids, which = np.unique(forward[backward], return_inverse=True)
    candidates = np.flatnonzero((sequence >= 0) & (forward == 0))
    if not len(ids) or not len(candidates):
        return found
    # A backward thread's id votes, by each sequence number that it comes with, for the track that has this one most
    # often.
    known, rank = np.unique(sequence[candidates], return_inverse=True)
    best, times = _most_frequent(rank, columns["track"][candidates], np.ones(len(rank), np.int64), tracks)
    position = np.minimum(np.searchsorted(known, sequence[backward]), len(known) - 1)
    met = known[position] == sequence[backward]
    voter, voted = np.divmod(np.unique(which[met] * len(known) + position[met]), len(known))
    tracks_of, _ = _most_frequent(voter, best[voted], times[voted], tracks)
    for i, track in zip(np.unique(voter).tolist(), tracks_of.tolist()):
        found.setdefault(track, int(ids[i]))
    return found


def _most_frequent(
    group: np.ndarray, value: np.ndarray, weight: np.ndarray, values: int
) -> tuple[np.ndarray, np.ndarray]:
    """Per group, in order, the value (below `values`) with the largest sum of weights, and that sum."""
    pairs, which = np.unique(group.astype(np.int64) * values + value, return_inverse=True)
    sums = np.bincount(which, weight).astype(np.int64)
    order = np.lexsort((-sums, pairs // values))
    first = order[np.unique((pairs // values)[order], return_index=True)[1]]
    return pairs[first] % values, sums[first]


def process_name(raw: Collected, process: Any) -> str:
    return raw.names.get(("process_name", process, 0), "python")


def parents_around_tasks(columns: dict[str, np.ndarray], threads: list[ThreadInfo], nests: np.ndarray) -> np.ndarray:
    """Parents, also of what tasks began with: the innermost event that their thread had open meanwhile."""
    start, end, parent, kinds = (columns[n] for n in ("start_ns", "end_ns", "parent", "kind"))
    made = np.append(parent, -1)
    tasks = np.array([thread.task for thread in threads])[columns["thread"]]
    ids = np.array([thread.id for thread in threads])[columns["thread"]]
    roots = np.flatnonzero(nests & (tasks > 0) & (parent < 0))
    for thread_id in np.unique(ids[roots]).tolist():
        around = np.flatnonzero(nests & (tasks == 0) & (ids == thread_id) & ~IS_PYTHON[kinds])
        for row in roots[ids[roots] == thread_id].tolist() if len(around) else []:
            position = int(np.searchsorted(start[around], start[row], "right")) - 1
            found = int(around[position]) if position >= 0 else -1
            while found >= 0 and (end[found] < end[row] or IS_PYTHON[kinds[found]]):
                found = int(parent[found])
            made[row] = found if found < row else -1
    return made[:-1]

"""How long each event ran itself, where tasks take turns on a thread."""

from __future__ import annotations

import numpy as np

from ..store.distinct import distinct


def running_times(start: np.ndarray, end: np.ndarray, parent: np.ndarray, thread: np.ndarray) -> np.ndarray:
    """Nanoseconds per event (in the order of (start, -end)); events whose thread is -1 are left out and have none.

    The time from each beginning or end on a thread to the next belongs to what has begun, or to what encloses what
    has ended, whichever task that is; where nothing does, to the outermost event that is open for longest. So the
    times of a thread add up to the time that any of its events covers.
    """
    own = np.zeros(len(start), np.int64)
    for one in distinct(thread[thread >= 0]).tolist():
        events = np.flatnonzero(thread == one)
        begun, instants = events[end[events] > start[events]], events[end[events] == start[events]]
        time = np.concatenate([start[begun], end[begun], start[instants]])
        inner = np.concatenate([begun, parent[begun], parent[instants]])
        # At one moment ends come first, inner ones before outer ones; then what begins, outer before inner.
        phase = np.concatenate([np.ones(len(begun)), np.zeros(len(begun)), np.ones(len(instants))])
        order = np.lexsort((np.concatenate([begun, -begun, instants]), phase, time))
        time, inner = time[order][:-1], inner[order][:-1]
        nothing = inner < 0
        inner[nothing] = _outermost_open(start, end, begun[parent[begun] < 0], time[nothing])
        lasts = np.diff(np.append(time, end[events].max()))
        own += np.bincount(inner[inner >= 0], weights=lasts[inner >= 0], minlength=len(own)).astype(np.int64)
    return own


def _outermost_open(start: np.ndarray, end: np.ndarray, roots: np.ndarray, times: np.ndarray) -> np.ndarray:
    """Per time: which of the roots is open then and ends last, or -1."""
    if not len(roots):
        return np.full(len(times), -1)
    reach = np.maximum.accumulate(end[roots])
    furthest = np.maximum.accumulate(np.where(end[roots] == reach, np.arange(len(roots)), 0))
    index = np.searchsorted(start[roots], times, "right") - 1
    found = roots[furthest[np.maximum(index, 0)]]
    return np.where((index >= 0) & (end[found] > times), found, -1)

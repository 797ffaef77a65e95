"""Where the time of one rank goes, seen from the job: every nanosecond of a step is computation, input, communication
that nothing hid, or something else (Python, an idle device)."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np

from ..analysis.phases import Phase, pieces, sums_by_step
from ..analysis.steps import Steps
from ..store.event_store import EventStore


class Part(IntEnum):
    """What an instant of a rank's step was spent on."""

    COMPUTE = 0
    COMMUNICATION = 1  # in a collective, and nothing was computed meanwhile
    INPUT = 2  # waiting for the data loader
    OTHER = 3


_OF_PHASE = np.full(len(Phase), int(Part.OTHER))
_OF_PHASE[[Phase.FORWARD, Phase.BACKWARD, Phase.OPTIMIZER, Phase.COPIES]] = Part.COMPUTE
_OF_PHASE[Phase.DATA] = Part.INPUT


class RankTime(NamedTuple):
    """Nanoseconds by step (rows) and Part (columns), each row the length of its step; and by collective what nothing
    hid."""

    steps: Steps
    nanoseconds: np.ndarray
    exposed_ns: np.ndarray


def rank_time(store: EventStore, steps: Steps, rows: np.ndarray, related: np.ndarray) -> RankTime:
    """`rows` are the collectives in the order of start, `related` the mask of all rows that are not computation."""
    start, end = store.start_ns[rows], store.end_ns[rows]
    cuts, phase = pieces(store, steps, left_out=related, extra=[start, end])
    part = _OF_PHASE[phase]
    owner = _owners(cuts, start, end)
    part = np.where((part == Part.OTHER) & (owner >= 0), int(Part.COMMUNICATION), part)
    lengths = np.append(np.diff(cuts), 0)
    exposed = (part == Part.COMMUNICATION) & _inside(cuts, steps)
    by_collective = np.bincount(owner[exposed], weights=lengths[exposed], minlength=len(rows)).astype(np.int64)
    return RankTime(steps, sums_by_step(cuts, part, steps, len(Part)), by_collective)


def _owners(cuts: np.ndarray, start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Per piece of time that begins at a cut: the collective that it counts for, of several at once the one that ends
    first; else -1."""
    owner = np.full(len(cuts), -1)
    for i in np.argsort(
        -end, kind="stable"
    ).tolist():  # one that ends earlier takes its pieces from those that end later
        first, last = np.searchsorted(cuts, (start[i], end[i]))
        owner[first:last] = i
    return owner


def _inside(cuts: np.ndarray, steps: Steps) -> np.ndarray:
    """Per piece: whether it lies in a step."""
    change = np.zeros(len(cuts) + 1, np.int64)
    np.add.at(change, np.searchsorted(cuts, steps.start_ns), 1)
    np.add.at(change, np.searchsorted(cuts, steps.end_ns), -1)
    return np.cumsum(change)[:-1] > 0

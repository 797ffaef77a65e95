"""The steps of a profile: what a training loop repeats, found from whatever the profile recorded of it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..record.kinds import WORKING_KINDS, Kind
from ..store.event_store import EventStore
from .entries import STEP_PREFIX

OPTIMIZER_PREFIX = "Optimizer.step#"
_OUTLIER_SPREADS = 5.0  # a step is an outlier if it is this many median deviations from the median...
_TAIL_SHARE = 0.05  # of the other steps' length: less is what a loop leaves after its last `prof.step()`
_MOST_OPTIMIZERS = 4  # of one class that take turns
_REGULAR = 0.9  # of the calls that must repeat what was there a turn ago
_OUTLIER_SHARE = 0.2  # ...and differs from it by at least this share


class Steps(NamedTuple):
    """The steps in the order of time: arrays of equal length, and where they were found.

    source     "profiler" (`prof.step()`), "optimizer" (between the ends of `Optimizer.step`; the first one began at an
               unknown time and is left out), or "window" (no steps: one that is the whole recording)
    """

    number: np.ndarray
    start_ns: np.ndarray
    end_ns: np.ndarray
    source: str
    thread: int  # index of the thread that the loop ran on

    @property
    def duration_ns(self) -> np.ndarray:
        return self.end_ns - self.start_ns

    def outliers(self) -> np.ndarray:
        """The mask of steps that took much longer or shorter than the median. Fewer than five steps have none."""
        lengths = self.duration_ns.astype(float)
        if len(lengths) < 5:
            return np.zeros(len(lengths), bool)
        middle = float(np.median(lengths))
        away = np.abs(lengths - middle)
        spread = float(np.median(away))
        return (away > _OUTLIER_SPREADS * spread) & (away > _OUTLIER_SHARE * middle)


def find_steps(store: EventStore) -> Steps:
    """The steps of a store: marked ones (but for what a loop leaves open after its last `prof.step()`), else one per
    call of the optimizer that stepped most often, else the whole window. Where several optimizers of one class take
    turns, a step is one turn of all.
    """
    host = store.device_type == 0
    marked = _without_an_empty_tail(store, np.flatnonzero((store.kind == Kind.STEP) & host))
    if len(marked):
        names = [store.strings[i] for i in store.name[marked].tolist()]
        numbers = [_number_in(name, i) for i, name in enumerate(names)]
        thread = int(store.thread[marked[0]])
        return Steps(np.array(numbers), store.start_ns[marked], store.end_ns[marked], "profiler", thread)
    stepped = _optimizer_rows(store, host)
    ends = store.end_ns[stepped]
    turn = _calls_in_a_turn(store, stepped)
    ends = ends[turn - 1 :: turn]
    if len(ends) > 1:
        return Steps(np.arange(1, len(ends)), ends[:-1], ends[1:], "optimizer", int(store.thread[stepped[0]]))
    start, stop = window_of(store)
    return Steps(np.zeros(1, np.int64), np.array([start]), np.array([stop]), "window", main_thread(store))


def _without_an_empty_tail(store: EventStore, marked: np.ndarray) -> np.ndarray:
    """The rows of steps without a last, short one in which no operator ran."""
    if len(marked) < 2:
        return marked
    lengths = store.end_ns[marked] - store.start_ns[marked]
    begins = store.start_ns[np.isin(store.kind, [int(k) for k in WORKING_KINDS])]
    is_empty = not ((begins >= store.start_ns[marked[-1]]) & (begins < store.end_ns[marked[-1]])).any()
    return marked[:-1] if is_empty and lengths[-1] < _TAIL_SHARE * np.median(lengths[:-1]) else marked


def _calls_in_a_turn(store: EventStore, stepped: np.ndarray) -> int:
    """How many optimizers of the same class take turns, as those of a GAN do: the shortest period of what the calls
    (rows of the store, in order) and the backward passes before them consist of. What else is between them says
    nothing: a program that reads its loss every third time has one optimizer."""
    if not len(stepped):
        return 1
    here = store.thread == store.thread[stepped[0]]
    begins = store.start_ns[here & (store.kind == Kind.OP)]
    nodes = store.start_ns[store.kind == Kind.NODE]
    inside = np.searchsorted(begins, store.end_ns[stepped]) - np.searchsorted(begins, store.start_ns[stepped])
    passed = np.diff(np.searchsorted(nodes, store.end_ns[stepped]), prepend=0)
    made = np.stack([inside, passed], 1)
    for turn in range(1, min(_MOST_OPTIMIZERS, len(made) // 3) + 1):
        again = made[2 * turn :] == made[turn:-turn]  # not the first turn, in which optimizers make their state
        if again.all(1).mean() >= _REGULAR:
            return turn
    return 1


def window_of(store: EventStore) -> tuple[int, int]:
    """From the first to the last event, in nanoseconds of the profile's clock; the recording's own bounds where
    there are none.
    """
    if not len(store):
        return store.metadata.start_ns, max(store.metadata.stop_ns, store.metadata.start_ns)
    return int(store.start_ns[0]), int(store.end_ns.max())


def main_thread(store: EventStore) -> int:
    """The index of the host's thread whose outermost events took most time."""
    outermost = (store.parent < 0) & (store.device_type == 0)
    if not outermost.any():
        return 0
    took = np.bincount(store.thread[outermost], weights=(store.end_ns - store.start_ns)[outermost])
    return int(np.argmax(took))


def _optimizer_rows(store: EventStore, host: np.ndarray) -> np.ndarray:
    names = [i for i, text in enumerate(store.strings) if text.startswith(OPTIMIZER_PREFIX)]
    if not names:
        return np.zeros(0, np.int64)
    rows = np.flatnonzero(np.isin(store.name, names) & host & (store.kind == Kind.SCOPE))
    if not len(rows):
        return rows
    own = np.array([thread.process == 0 for thread in store.threads])[store.thread[rows]]
    rows = rows[own] if own.any() else rows  # processes that the program started have steps of their own
    rows = rows[store.name[rows] == np.argmax(np.bincount(store.name[rows]))]
    return rows[store.thread[rows] == np.argmax(np.bincount(store.thread[rows]))]


def _number_in(name: str, default: int) -> int:
    text = name[len(STEP_PREFIX) :]
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else default

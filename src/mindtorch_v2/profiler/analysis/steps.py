"""The steps of a profile: what a training loop repeats, found from whatever the profile recorded of it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..record.kinds import Kind
from ..store.event_store import EventStore
from .entries import STEP_PREFIX

OPTIMIZER_PREFIX = "Optimizer.step#"
_OUTLIER_SPREADS = 5.0  # a step is an outlier if it is this many median deviations from the median...
_OUTLIER_SHARE = 0.2  # ...and differs from it by at least this share


class Steps(NamedTuple):
    """The steps in the order of time: arrays of equal length, and where they were found.

    source     "profiler" (`prof.step()`), "optimizer" (between the ends of `Optimizer.step`), or "window" (no steps:
    one that is the
               whole recording)
    complete   per step: whether its beginning was recorded. The first of "optimizer" began at an unknown time, so
    comparisons leave it out
    """

    number: np.ndarray
    start_ns: np.ndarray
    end_ns: np.ndarray
    source: str
    complete: np.ndarray
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
    """The steps of a store: marked ones, else one per call of the optimizer that stepped most often, else the whole
    window.
    """
    host = store.device_type == 0
    marked = np.flatnonzero((store.kind == Kind.STEP) & host)
    if len(marked):
        names = [store.strings[i] for i in store.name[marked].tolist()]
        numbers = [_number_in(name, i) for i, name in enumerate(names)]
        return Steps(
            np.array(numbers),
            store.start_ns[marked],
            store.end_ns[marked],
            "profiler",
            np.ones(len(marked), bool),
            int(store.thread[marked[0]]),
        )
    start, stop = window_of(store)
    stepped = _optimizer_rows(store, host)
    if len(stepped):
        ends = store.end_ns[stepped]
        begins = np.append(start, ends[:-1])
        complete = np.append(False, np.ones(len(ends) - 1, bool))
        return Steps(np.arange(len(ends)), begins, ends, "optimizer", complete, int(store.thread[stepped[0]]))
    return Steps(
        np.zeros(1, np.int64), np.array([start]), np.array([stop]), "window", np.ones(1, bool), main_thread(store)
    )


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

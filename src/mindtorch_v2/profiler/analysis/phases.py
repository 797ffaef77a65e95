"""Where the time of each step goes: every nanosecond of the wall clock belongs to exactly one phase.

Without a device the clock is that of the thread that runs the loop: an instant belongs to the innermost event there.
With one it is the device's: while it works, the instant belongs to the phase of the operator that launched the work,
and while it does not, to what the host was doing instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import NamedTuple

import numpy as np

from ..record.kinds import ANNOTATION_KINDS, LAUNCHING_KINDS, PYTHON_KINDS, WORK_KINDS, WORKING_KINDS, Flag, Kind
from ..store.event_store import EventStore
from .steps import Steps, find_steps

COPY_NAMES = frozenset({"aten::copy_", "aten::_to_copy", "aten::_copy_from", "aten::_copy_from_and_resize"})


class Phase(IntEnum):
    """What an instant of a step was spent on."""

    FORWARD = 0  # operators, outside all that follows
    BACKWARD = 1  # the autograd engine and what it calls
    OPTIMIZER = 2  # Optimizer.step and zero_grad, with their Python
    DATA = 3  # waiting for the data loader
    COPIES = 4  # copies and casts; on a device: between host and device
    DEVICE_IDLE = 5  # the device had nothing to do while the host was in an operator, or in the runtime
    PYTHON = 6  # Python between operators
    UNACCOUNTED = 7  # nothing was recorded then, or only what is not a part of the program


LABELS = ("forward", "backward", "optimizer", "data", "copies", "device idle", "Python", "unaccounted")


class Phases(NamedTuple):
    """Nanoseconds by step (rows) and phase (columns). Each row sums to the length of its step exactly."""

    steps: Steps
    nanoseconds: np.ndarray

    def total(self) -> dict[str, int]:
        """Nanoseconds of each phase over all steps, in the order of `Phase`."""
        return dict(zip(LABELS, self.nanoseconds.sum(0).tolist()))


class RowPhases(NamedTuple):
    """Per row of a store: the phase of its own time, and whether it is only between operators (an enclosing scope or
    Python).
    """

    phase: np.ndarray
    between: np.ndarray


def phases(store: EventStore, steps: Steps | None = None) -> Phases:
    """The phases of each step."""
    steps = find_steps(store) if steps is None else steps
    cuts, phase = pieces(store, steps)
    return Phases(steps, sums_by_step(cuts, phase, steps, len(Phase)))


def pieces(
    store: EventStore, steps: Steps, left_out: np.ndarray | None = None, extra: Sequence[np.ndarray] = ()
) -> tuple[np.ndarray, np.ndarray]:
    """Times, in order, between which nothing changes, and the phase that begins at each.

    Rows of the mask `left_out` count as nothing that was recorded; `extra` are further times to cut at.
    """
    rows = row_phases(store)
    if left_out is not None:
        rows = rows._replace(phase=np.where(left_out, np.int8(Phase.UNACCOUNTED), rows.phase))
    times, current = _innermost(store, steps.thread)
    host = np.append(rows.phase, Phase.UNACCOUNTED)[current]
    elsewhere = _engine_rows(store, steps.thread)
    is_work = np.isin(store.kind, [int(k) for k in WORK_KINDS])
    on_device = np.flatnonzero(is_work if left_out is None else is_work & ~left_out)
    cuts = _distinct(
        [
            times,
            steps.start_ns,
            steps.end_ns,
            store.start_ns[elsewhere],
            store.end_ns[elsewhere],
            store.start_ns[on_device],
            store.end_ns[on_device],
            *extra,
        ]
    )
    position = np.searchsorted(times, cuts, "right") - 1
    phase = np.where(position >= 0, np.append(host, Phase.UNACCOUNTED)[position], Phase.UNACCOUNTED)
    if not _records_python(store):
        phase = _gaps_are_python(store, steps.thread, cuts, phase)
    idle = np.isin(phase, (Phase.PYTHON, Phase.UNACCOUNTED))
    phase = np.where(idle & _coverage(cuts, store, elsewhere), Phase.BACKWARD, phase)
    if len(on_device):
        phase = _seen_from_device(store, rows.phase, on_device, cuts, phase)
    return cuts, phase


def _distinct(times: list[np.ndarray]) -> np.ndarray:
    """All different times in order. By sorting: the times are nearly in order already."""
    ordered = np.sort(np.concatenate(times), kind="stable")
    return ordered[np.append(True, ordered[1:] != ordered[:-1])] if len(ordered) else ordered


def row_phases(store: EventStore) -> RowPhases:
    """The phase that each row's own time belongs to. An optimizer's, a data loader's and a backward node's reaches
    all that they call; copies are copies wherever they run.
    """
    kind, strings = store.kind, store.strings
    by_name = np.full(len(strings) + 1, -1, np.int8)
    for i, text in enumerate(strings):
        if text.startswith(("Optimizer.step#", "Optimizer.zero_grad#")):
            by_name[i] = Phase.OPTIMIZER
        elif text.startswith("enumerate(DataLoader)#"):
            by_name[i] = Phase.DATA
        elif text in COPY_NAMES:
            by_name[i] = Phase.COPIES
    engine = np.isin(kind, (Kind.NODE, Kind.BACKWARD))
    context = np.where(engine, np.int8(Phase.BACKWARD), by_name[store.name]) if len(store) else np.zeros(0, np.int8)
    given = context >= 0
    source = _nearest(store.parent, given)
    context = np.append(context, np.int8(-1))[source]
    works = np.isin(kind, [int(k) for k in (*WORKING_KINDS, *LAUNCHING_KINDS, Kind.OTHER)])
    between = np.isin(kind, [int(k) for k in (*PYTHON_KINDS, *ANNOTATION_KINDS)])
    is_python = np.isin(kind, [int(k) for k in PYTHON_KINDS])
    marks_python = (kind == Kind.STEP) & (
        _nearest(store.parent, is_python) >= 0
    )  # a step inside a function is its Python
    python = (between & (kind != Kind.STEP)) | marks_python
    own = np.where(works, Phase.FORWARD, np.where(python, Phase.PYTHON, Phase.UNACCOUNTED))
    return RowPhases(np.where(context >= 0, context, own).astype(np.int8), between & (context < 0))


def _nearest(parent: np.ndarray, marked: np.ndarray) -> np.ndarray:
    """Per row: itself if it is marked, else its nearest marked ancestor, else -1."""
    jump = np.append(np.where(marked, np.arange(len(parent)), parent), -1)
    while True:
        further = jump[jump]
        if np.array_equal(further, jump):
            return jump[:-1]
        jump = further


def _on_thread(store: EventStore, thread: int) -> np.ndarray:
    """The mask of rows of the same thread of the system: tasks that take turns on it have indices of their own."""
    ids = np.array([info.id if info.device < 0 else -1 - i for i, info in enumerate(store.threads)] or [0])
    return ids[store.thread] == ids[thread] if len(store) else np.zeros(0, bool)


def _innermost(store: EventStore, thread: int) -> tuple[np.ndarray, np.ndarray]:
    """Times at which another row of the thread becomes the innermost, and that row (-1 for none)."""
    rows = np.flatnonzero(
        _on_thread(store, thread)
        & (store.flags & np.uint8(Flag.ASYNC) == 0)
        & (store.device_type == 0)
        & (store.end_ns > store.start_ns)
    )
    times = np.concatenate([store.start_ns[rows], store.end_ns[rows]])
    then = np.concatenate([rows, store.parent[rows]])
    # At one moment rows end before others begin; of those that end the inner ones come first, of those that begin the
    # outer ones.
    order = np.lexsort((np.concatenate([rows, -rows]), np.repeat([1, 0], len(rows)), times))
    return times[order], then[order]


def _records_python(store: EventStore) -> bool:
    return bool(np.isin(store.kind, (int(Kind.PYTHON), int(Kind.BUILTIN))).any())


def _gaps_are_python(store: EventStore, thread: int, cuts: np.ndarray, phase: np.ndarray) -> np.ndarray:
    """Where Python was not recorded, the time between two events of the loop's thread is that of its Python, or of
    waiting in it.
    """
    rows = np.flatnonzero(
        _on_thread(store, thread) & (store.kind != Kind.STEP) & ~np.isin(store.kind, (Kind.LOADING, Kind.OVERHEAD))
    )
    if not len(rows):
        return phase
    first, last = store.start_ns[rows].min(), store.end_ns[rows].max()
    loading = np.flatnonzero(np.isin(store.kind, (Kind.LOADING, Kind.OVERHEAD)))
    between = (phase == Phase.UNACCOUNTED) & (cuts >= first) & (cuts < last) & ~_coverage(cuts, store, loading)
    return np.where(between, Phase.PYTHON, phase)


def _engine_rows(store: EventStore, thread: int) -> np.ndarray:
    """Nodes of the autograd engine that ran on other threads than the loop's."""
    return np.flatnonzero((store.kind == Kind.NODE) & (store.thread != thread) & (store.device_type == 0))


def _coverage(cuts: np.ndarray, store: EventStore, rows: np.ndarray) -> np.ndarray:
    """Per piece of time that begins at a cut: whether one of the rows covers it."""
    change = np.zeros(len(cuts) + 1, np.int64)
    np.add.at(change, np.searchsorted(cuts, store.start_ns[rows]), 1)
    np.add.at(change, np.searchsorted(cuts, store.end_ns[rows]), -1)
    return np.cumsum(change)[:-1] > 0


def _seen_from_device(
    store: EventStore, row_phase: np.ndarray, work: np.ndarray, cuts: np.ndarray, phase: np.ndarray
) -> np.ndarray:
    """The same pieces of time where a device works: what it works on, or what keeps it from working."""
    phase = np.where(np.isin(phase, (Phase.DATA, Phase.PYTHON, Phase.UNACCOUNTED)), phase, Phase.DEVICE_IDLE)
    is_copy = store.kind[work] != Kind.KERNEL
    of_launch = np.append(row_phase, Phase.FORWARD)[store.launcher[work]]
    of_launch = np.where(np.isin(of_launch, (Phase.BACKWARD, Phase.OPTIMIZER)), of_launch, Phase.FORWARD)
    order = [(Phase.COPIES, is_copy)] + [
        (p, ~is_copy & (of_launch == p)) for p in (Phase.OPTIMIZER, Phase.BACKWARD, Phase.FORWARD)
    ]
    for label, mask in order:  # a kernel beside a copy hides the copy
        if mask.any():
            phase = np.where(_coverage(cuts, store, work[mask]), label, phase)
    return phase


def sums_by_step(cuts: np.ndarray, label: np.ndarray, steps: Steps, labels: int) -> np.ndarray:
    """The lengths of the pieces summed by step and label (0 to `labels`). Both ends of every step are among the
    cuts."""
    lengths = np.append(np.diff(cuts), 0)
    sums = np.zeros((len(steps.number), labels), np.int64)
    first, last = np.searchsorted(cuts, steps.start_ns), np.searchsorted(cuts, steps.end_ns)
    for p in range(labels):
        running = np.append(0, np.cumsum(np.where(label == p, lengths, 0)))
        sums[:, p] = running[last] - running[first]
    return sums

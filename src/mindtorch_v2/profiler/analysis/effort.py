"""What the steps of a run cost where nothing disturbed them, beside a fixed piece of work on the same machine."""

from __future__ import annotations

import numpy as np

from .diff_features import Features
from .statistics import Effort

_FEWEST = 8  # readings, of which the quicker ones say something


def effort_of(run: Features) -> Effort | None:
    """None where the run has too few readings: a trace, a program without steps or with very few. None, too, where a
    device works, whose speed they say nothing of.

    Steps that are longer than the time between two readings are counted in processor time: they are interrupted, and
    most of what they take on a busy machine is waiting. Shorter ones are mostly not interrupted, and each of them is
    known where processor time is that of several.
    """
    speed = run.store.metadata.speed
    if len(speed) <= _FEWEST or run.tree.has_device_entries:
        return None
    time_ns, work_ns, process_ns = np.array(speed, np.int64).T
    begun = np.diff(np.searchsorted(run.steps.start_ns, time_ns))  # steps between two readings
    used = np.diff(process_ns) - 2 * work_ns[:-1]
    single = (begun == 1) & (used > 0)
    if int(single.sum()) >= max(_FEWEST, len(run.times) // 2):
        return Effort(used[single].astype(float), work_ns.astype(float), True)
    return Effort(run.times, work_ns.astype(float), False) if len(run.times) >= _FEWEST else None


def efforts_of(before: Features, after: Features) -> tuple[Effort, Effort] | None:
    """Those of two runs, where they can be compared: the same interpreter on the same kind of processor, and the same
    kind of time."""
    if before.store.metadata.yardstick != after.store.metadata.yardstick:
        return None
    a, b = effort_of(before), effort_of(after)
    return (a, b) if a is not None and b is not None and a.is_processor_time == b.is_processor_time else None

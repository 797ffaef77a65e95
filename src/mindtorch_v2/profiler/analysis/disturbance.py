"""How much slower a run may have been because its machine did other work meanwhile."""

from __future__ import annotations

import numpy as np

from ..record.machine_load import DELAY, OTHERS, SLICES
from .diff_features import Features

_QUARTERS = 4
_LEAST_RUNNING = 0.1
_FEW = 0.5  # of the steps: fewer interruptions than that do not move the median, nor the quicker steps


def disturbance(run: Features) -> float:
    """How many times as long as alone the steps of a run may have taken; 1 where nothing disturbed them.

    A profile says what else its machine did. A process on the other half of a core takes up to half of its speed, for
    as much of the time as others were running. Where the thread was interrupted in every other step or more, all steps
    may be longer by the time that it was not let run. A trace says nothing of this: there, the slower parts of the run
    are compared with its quicker ones."""
    load = run.store.metadata.machine_load
    if DELAY in load and OTHERS in load:
        return (1 + load[OTHERS]) * interruption(run)
    return _drift(run.times)


def interruption(run: Features) -> float:
    """How many times as long its steps may be because the thread was not let run in the midst of them: waits that are
    in the steps, but in few of their parts. 1 where too few steps were interrupted to move the median."""
    load = run.store.metadata.machine_load
    is_known = DELAY in load and load.get(SLICES, 0.0) >= _FEW * len(run.times)
    return 1 / max(1 - load[DELAY], _LEAST_RUNNING) if is_known else 1.0


def _drift(times: np.ndarray) -> float:
    """The slowest quarter of the run in relation to the quickest, by medians."""
    if len(times) < 4 * _QUARTERS:
        return 1.0
    middles = [float(np.median(block)) for block in np.array_split(times, _QUARTERS)]
    return max(max(middles) / max(min(middles), 1.0), 1.0)

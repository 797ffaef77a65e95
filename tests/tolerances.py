"""Tolerances that follow from the arithmetic, so that they hold on every processor.

Two correct implementations of a formula differ by rounding: a few units in the last place for each operation,
magnified by the condition number of what follows. Both factors are stated or measured here; nothing is copied from
what a machine printed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

# Rounding errors of n additions grow like sqrt(n), not like n: they point both ways (Higham and Mary, 2019). With this
# factor in front, the bound fails for one sum in 2 exp(-6**2 / 2), one in thirty million.
CONFIDENCE = 6.0
LONGEST_SUM = 1024  # the most terms that one element of the small models in the tests adds up
NUDGES = 4


def rounding_of_sum(terms: int, magnitude: np.ndarray | float, dtype: np.typing.DTypeLike) -> np.ndarray:
    """How far a sum of `terms` numbers in `dtype`, in any order, may be from the exact one; `magnitude` is the sum
    of their absolute values.

    Dividing it by the sum's own absolute value gives the usual condition number.
    """
    unit = float(np.finfo(dtype).eps) / 2
    return np.asarray(CONFIDENCE * math.sqrt(terms) * unit * np.abs(magnitude), np.float64)


def nudged(values: np.ndarray, number: int) -> np.ndarray:
    """`values` with every element moved by one unit in the last place, up, down or not at all; each `number` gives
    other directions.
    """
    turns = np.random.default_rng(number).integers(-1, 2, values.shape)
    return np.where(turns == 0, values, np.nextafter(values, np.where(turns > 0, np.inf, -np.inf).astype(values.dtype)))


def rounding_of_run(run: Callable[[int], Sequence[float]], dtype: np.typing.DTypeLike = np.float32) -> np.ndarray:
    """How far two correct implementations of a long computation may be apart, one bound for each of its results.

    `run(0)` is the computation, `run(k)` the same from a start that is nudged by one unit in the last place (see
    `nudged`): what comes out differently is the condition number times one unit. The rounding of a sum of n terms is
    sqrt(n) such units.
    """
    base = np.asarray(run(0), np.float64)
    moved = np.max([np.abs(np.asarray(run(k), np.float64) - base) for k in range(1, NUDGES + 1)], axis=0)
    return CONFIDENCE * math.sqrt(LONGEST_SUM) * (moved + float(np.finfo(dtype).eps) * np.abs(base))

"""The distinct values of an array, without what `numpy.unique` imports for masked arrays at its first call."""

from __future__ import annotations

import numpy as np


def distinct(values: np.ndarray) -> np.ndarray:
    """The values of a vector, each once, in ascending order."""
    ordered = np.sort(values)
    return ordered[np.append(True, ordered[1:] != ordered[:-1])] if len(ordered) else ordered

"""Columns of equal values, which take no memory."""

from __future__ import annotations

from typing import Any

import numpy as np


def constant(value: Any, length: int, dtype: Any) -> np.ndarray:
    """A read-only column whose values are all the same: it takes no memory."""
    return np.broadcast_to(np.array(value, dtype), (length,))


def is_constant(column: np.ndarray) -> bool:
    """Whether a column is known to hold one value only. False says nothing."""
    return column.strides == (0,) and len(column) > 0

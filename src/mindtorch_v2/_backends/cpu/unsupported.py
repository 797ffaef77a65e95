"""PyTorch's error for a type that a kernel does not support."""

from __future__ import annotations

import numpy as np

from ... import _dtype as dt


def type_word(array: np.ndarray) -> str:
    """The name of an array's element type in PyTorch's errors: Float, Long, ..."""
    return dt.BY_NUM[array.dtype.num].word


def not_implemented(name: str, array: np.ndarray) -> NotImplementedError:
    """The error to raise; `name` is that of PyTorch's kernel, such as "gcd_cpu"."""
    return NotImplementedError(f"\"{name}\" not implemented for '{type_word(array)}'")

"""Checks that kernels of several families make, and the wording of their errors."""

from __future__ import annotations

import numpy as np

from .unsupported import not_implemented, type_word

__all__ = ["INTS", "check_range", "not_implemented", "outside", "refuse_types", "type_word"]

INTS = (np.dtype(np.int64), np.dtype(np.int32))


def refuse_types(name: str, a: np.ndarray, kinds: str) -> None:
    """Raises if the array's type is of one of these numpy kinds (b, i, u, f, c); `name` is that of PyTorch's kernel."""
    if a.dtype.kind in kinds:
        raise not_implemented(name, a)


def outside(index: np.ndarray, size: int, lowest: int = 0) -> int | None:
    """The first index that is not in lowest..size-1, or None."""
    if index.size == 0:
        return None
    if lowest == 0:  # seen as unsigned, a negative index is out of range too
        if np.maximum.reduce(index.view(f"u{index.itemsize}"), axis=None) < size:
            return None
    elif np.minimum.reduce(index, axis=None) >= lowest and np.maximum.reduce(index, axis=None) < size:
        return None
    flat = index.ravel()
    return int(flat[np.argmax((flat < lowest) | (flat >= size))])


def check_range(
    index: np.ndarray, dim: int, size: int, error: type[Exception] = RuntimeError, prefix: str = "", lowest: int = 0
) -> None:
    """Raises with PyTorch's text if an index is not in lowest..size-1."""
    bad = outside(index, size, lowest)
    if bad is not None:
        raise error(f"{prefix}index {bad} is out of bounds for dimension {dim} with size {size}")

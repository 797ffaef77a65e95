"""Kernels of membership, and tables of indices."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import _dtype as dt
from ..._dispatch.registry import kernel
from .errors import type_word


@kernel("isin.Tensor_Tensor", "isin.Scalar_Tensor")
def isin(elements: Any, test_elements: np.ndarray, assume_unique: bool, invert: bool) -> Any:
    elements = np.asarray(elements)
    if elements.dtype.kind in "bc" or test_elements.dtype.kind in "bc":
        word = type_word(elements if elements.dtype.kind in "bc" else test_elements)
        raise RuntimeError(f"Unsupported input type encountered for isin(): {word}")
    return np.isin(elements, test_elements, assume_unique=False, invert=invert)


def _triangle(lower: bool, row: int, col: int, offset: int, dtype: dt.dtype | None) -> Any:
    for word, n in (("row", row), ("col", col)):
        if n < 0:
            raise RuntimeError(f"{word} must be non-negative, got{n}")
    positions = np.tril_indices(row, offset, col) if lower else np.triu_indices(row, offset, col)
    return np.stack(positions).astype(np.int64 if dtype is None else dtype.np)


kernel("tril_indices")(lambda row, col, offset, dtype, *position: _triangle(True, row, col, offset, dtype))
kernel("triu_indices")(lambda row, col, offset, dtype, *position: _triangle(False, row, col, offset, dtype))

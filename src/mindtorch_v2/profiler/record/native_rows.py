"""Columns from the rows that the native recorder keeps in chunks."""

from __future__ import annotations

from typing import Any

import numpy as np

from .columns import constant

# A row as recorder.h declares it.
ROW = np.dtype(
    [
        ("start_ns", "i8"),
        ("end_ns", "i8"),
        ("sequence_nr", "i8"),
        ("label", "i4"),
        ("parent", "i4"),
        ("inputs", "i4"),
        ("stack", "i4"),
        ("module", "i4"),
        ("forward_thread", "i4"),
    ]
)


def split_rows(parts: list[tuple[Any, int, int]]) -> dict[str, np.ndarray]:
    """The columns of (chunk, first row, rows). A column of equal values takes no memory; many are of that kind:
    without stacks, shapes or modules most of them.
    """
    tables = [np.frombuffer(chunk, ROW, count, first * ROW.itemsize) for chunk, first, count in parts if count]
    total = sum(len(table) for table in tables)
    return {name: _column([table[name] for table in tables], total) for name in ROW.names or ()}


def _column(parts: list[np.ndarray], total: int) -> np.ndarray:
    if not parts:
        return np.zeros(0, np.int64)
    first = parts[0][0]
    if parts[0][-1] == first and all((part == first).all() for part in parts):
        return constant(first, total, first.dtype)
    made = np.empty(total, first.dtype)
    at = 0
    for part in parts:
        made[at : at + len(part)] = part
        at += len(part)
    return made

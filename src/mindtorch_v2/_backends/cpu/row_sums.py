"""Adding rows, or single elements, to positions given by an index that may repeat.

`np.add.at` is fast on flat arrays only. Where much is added, rows are therefore gathered group by group: first all
groups' first row, then all second rows, and so on, which adds whole blocks at a time; a group with many rows is
summed at once.
"""

from __future__ import annotations

import numpy as np

from ..._native import accelerated

_LARGE = 16  # rows; larger groups are summed one by one


def add_rows(out: np.ndarray, index: np.ndarray, rows: np.ndarray) -> None:
    """out[index[i]] += rows[i] for 2-dimensional arrays; `out` is changed. Indices are in range and not negative."""
    if rows.size:
        _add_rows(out, 0, index, rows, 1)


@accelerated("index_add_")
def _add_rows(out: np.ndarray, dim: int, index: np.ndarray, rows: np.ndarray, alpha: int) -> None:
    """`add_rows` with the arguments of the native kernel; `dim` is 0 and `alpha` 1."""
    width = rows.shape[1]
    # Measured: an element costs 2 ns more one by one; grouping costs 40 us and 100 ns per row before it pays.
    if 2 * rows.size < 40_000 + 100 * len(rows) or rows.dtype.kind not in "fc":
        add_flat(out, (index[:, None] * width + np.arange(width)).reshape(-1) if width > 1 else index, rows)
    else:
        _add_grouped(out, index, rows)


def add_flat(out: np.ndarray, positions: np.ndarray, values: np.ndarray) -> None:
    """out.flat[positions[i]] += values.flat[i]; `out` is changed."""
    flat = np.ascontiguousarray(values).reshape(-1)
    if out.flags.c_contiguous:
        np.add.at(out.reshape(-1), positions, flat)
    else:
        copy = out.reshape(-1)
        np.add.at(copy, positions, flat)
        out[...] = copy.reshape(out.shape)


def _add_grouped(out: np.ndarray, index: np.ndarray, rows: np.ndarray) -> None:
    order = np.argsort(index, kind="stable")
    ranked = index.take(order)
    starts = np.concatenate(([0], np.flatnonzero(ranked[1:] != ranked[:-1]) + 1))
    if starts.size == index.size:
        out[index] += rows
        return
    counts = np.diff(starts, append=ranked.size)
    largest_first = np.argsort(-counts, kind="stable")
    starts, falling = starts[largest_first], -counts[largest_first]
    sums = rows.take(order.take(starts), axis=0)
    large = int(np.searchsorted(falling, -_LARGE))
    for i in range(large):
        begin = starts[i]
        sums[i] = np.add.reduce(rows.take(order[begin : begin - falling[i]], axis=0), axis=0)
    for k in range(1, _LARGE):
        active = int(np.searchsorted(falling, -k))  # groups that have a row number k
        if active <= large:
            break
        sums[large:active] += rows.take(order.take(starts[large:active] + k), axis=0)
    out[ranked.take(starts)] += sums

"""The memory of a trace: records in the events that they happened in, and what traces of this profiler know of
blocks.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..record.enums import DeviceType
from ..record.kinds import Category, Flag
from ..store.event_store import HeldTable, MemoryTable
from ..store.fields import HELD_FIELDS

BLOCKS_KEY = "memoryBlocks"
_SCRATCH = ("time_ns", "address", "nbytes", "total", "device_type", "device_index", "block", "pid", "tid")


def innermost_rows(columns: dict[str, np.ndarray], thread: np.ndarray, time: np.ndarray) -> np.ndarray:
    """Per moment on a thread: the innermost event there that was open, or -1."""
    row = np.full(len(time), -1)
    end, parent = np.append(columns["end_ns"], 0), np.append(columns["parent"], -1)
    mine = np.flatnonzero((columns["flags"] & Flag.ASYNC) == 0)
    # the last row of the same thread that began before: threads and ranks of times as one integer
    if len(mine) and len(time):
        moments = np.unique(np.concatenate([columns["start_ns"][mine], time]))
        keys = columns["thread"][mine] * len(moments) + np.searchsorted(moments, columns["start_ns"][mine])
        mine = mine[np.argsort(keys, kind="stable")]
        index = np.searchsorted(np.sort(keys), thread * len(moments) + np.searchsorted(moments, time), side="right") - 1
        last = mine[np.maximum(index, 0)]
        row = np.where((index >= 0) & (columns["thread"][last] == thread), last, -1)
    while (over := (row >= 0) & (end[row] < time)).any():
        row = np.where(over, parent[row], row)
    return row


def block_ids(head: dict[str, Any], records: int) -> np.ndarray | None:
    """The id of the block of each memory record, in the order of the file; None where the trace has none."""
    saved = _saved(head)
    return None if saved is None else _integers(saved.get("blocks"), records)


def held_blocks(head: dict[str, Any]) -> HeldTable | None:
    """The blocks that were alive when the recording began and ended; None where the trace does not tell."""
    saved = _saved(head)
    if saved is None:
        return None
    columns = _columns(saved.get("held"), tuple(f.name for f in HELD_FIELDS))
    _check_range(columns["category"], len(Category), "purpose")
    _check_range(columns["device_type"], len(DeviceType), "device")
    return HeldTable(columns)


def scratch_memory(
    head: dict[str, Any], columns: dict[str, np.ndarray], threads: dict[tuple[Any, Any], int]
) -> MemoryTable | None:
    """Kernels' scratch memory; `threads` are those of (process, thread id). None where the trace does not tell."""
    saved = _saved(head)
    if saved is None:
        return None
    found = _columns(saved.get("scratch"), _SCRATCH)
    _check_range(found["device_type"], len(DeviceType), "device")
    thread = np.array(
        [threads.get(track, 0) for track in zip(found.pop("pid").tolist(), found.pop("tid").tolist())], np.int64
    )
    return MemoryTable({**found, "thread": thread, "row": innermost_rows(columns, thread, found["time_ns"])})


def _saved(head: dict[str, Any]) -> dict[str, Any] | None:
    saved = head.get(BLOCKS_KEY)
    return saved if isinstance(saved, dict) else None


def _integers(values: Any, length: int) -> np.ndarray:
    if not isinstance(values, list) or len(values) != length or not all(type(value) is int for value in values):
        raise ValueError(f"{BLOCKS_KEY} is damaged")
    return np.array(values, np.int64)


def _columns(saved: Any, names: tuple[str, ...]) -> dict[str, np.ndarray]:
    if not isinstance(saved, dict) or not isinstance(saved.get(names[0]), list):
        raise ValueError(f"{BLOCKS_KEY} is damaged")
    return {name: _integers(saved.get(name), len(saved[names[0]])) for name in names}


def _check_range(values: np.ndarray, size: int, what: str) -> None:
    if len(values) and not 0 <= values.min() <= values.max() < size:
        raise ValueError(f"a block of memory has an unknown {what}")

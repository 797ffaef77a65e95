"""The references and owned tensors of a recording as tables: rows as indices of the store, and blocks that were
not at hand while recording.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ..record.owned import Owned
from ..record.references import argument_and_device, joined_references
from ..record.window import Window, positions
from .lifetimes import Lifetimes
from .thread_rows import ThreadRows

_OWNED_COLUMNS = (
    "time_ns",
    "owner",
    "owner_class",
    "is_optimizer",
    "role",
    "parameter",
    "tensor",
    "block",
    "address",
    "device",
)


def tensor_rows(threads: list[ThreadRows], window: Window) -> tuple[tuple[np.ndarray, np.ndarray], np.ndarray]:
    """The references of kept rows and where those stand in the joined table, and where rows of owned tensors do."""
    kept = np.cumsum(
        [0, *(int(thread.keep.sum()) for thread in threads)]
    )  # rows of the joined table before each thread
    return _references(threads, kept, window), _owned_rows(threads, kept, window)


def _joined_rows(thread: ThreadRows, before: int, rows: np.ndarray) -> np.ndarray:
    """Where rows of one thread stand in the joined table, after `before` rows of others; -1 for those not kept."""
    joined = np.append(np.where(thread.keep, np.cumsum(thread.keep) - 1 + before, -1), -1)
    return joined[positions(thread.columns["row"], rows)]


def _references(threads: list[ThreadRows], before: np.ndarray, window: Window) -> tuple[np.ndarray, np.ndarray]:
    """The references of kept rows, and where those rows stand in the joined table."""
    tables, rows = [joined_references([])], [np.zeros(0, np.int64)]
    if window.options.record_shapes and window.options.profile_memory:
        for thread, first in zip(threads, before):
            table = thread.thread.references()
            joined = _joined_rows(thread, int(first), table["row"])
            tables.append(table[joined >= 0])
            rows.append(joined[joined >= 0])
    return np.concatenate(tables), np.concatenate(rows)


def _owned_rows(threads: list[ThreadRows], before: np.ndarray, window: Window) -> np.ndarray:
    """Per owned tensor of the window: where its row stands in the joined table, or -1."""
    owned = window.owned if window.options.with_stack else ()
    of_thread: dict[int, list[int]] = {}
    for index, row in enumerate(owned):
        of_thread.setdefault(row.thread, []).append(index)
    made = np.full(len(owned), -1, np.int64)
    for thread, first in zip(threads, before):
        mine = of_thread.get(thread.thread.info.id)
        if mine is not None:
            made[mine] = _joined_rows(thread, int(first), np.array([owned[i].row for i in mine], np.int64))
    return made


def blocks_at(address: np.ndarray, device_type: np.ndarray, time: np.ndarray, known: Lifetimes) -> np.ndarray:
    """The index among the lifetimes of the block that began at each address and lived at each time; -1 for none."""
    if not len(address) or not len(known.block):
        return np.full(len(address), -1, np.int64)
    addresses, rank = np.unique(known.address, return_inverse=True)
    width = len(known.block) + 1
    keys = rank * width + np.arange(len(known.block))  # they stand in the order in which they began
    order = np.argsort(keys)
    there = np.minimum(np.searchsorted(addresses, address), len(addresses) - 1)
    since = np.searchsorted(known.born_ns, time, "right")  # how many had begun by then
    found = np.searchsorted(keys[order], there * width + since) - 1
    block = order[np.maximum(found, 0)]
    lived = (
        (found >= 0)
        & (known.address[block] == address)
        & (known.died_ns[block] >= time)
        & (known.device_type[block] == device_type)
    )
    return np.where(lived, block, -1)


def reference_columns(made: np.ndarray, rows: np.ndarray, time: np.ndarray, known: Lifetimes) -> dict[str, np.ndarray]:
    """The columns of the reference table; `rows` are rows of the store, `time` is when each event began."""
    argument, device_type = argument_and_device(made["origin"])
    found = blocks_at(made["address"], device_type, time, known)
    block = np.where(made["block"] > 0, made["block"], np.append(known.block, 0)[found])
    index = np.append(known.device_index, -1)[found]
    order = np.argsort(rows, kind="stable")
    columns = {
        "row": rows,
        "argument": argument,
        "tensor": made["tensor"],
        "block": block,
        "address": made["address"],
        "device_type": device_type,
        "device_index": np.where(device_type == 0, -1, index),
    }
    return {name: column[order] for name, column in columns.items()}


def owned_columns(
    rows: Sequence[Owned], row_indices: np.ndarray, inputs: np.ndarray, strings: Callable[[str], int], known: Lifetimes
) -> dict[str, np.ndarray]:
    """The columns of the table of owned tensors; `row_indices` are their rows of the store, `strings(text)` is the id
    of a string.
    """
    column = {name: np.array([getattr(row, name) for row in rows], np.int64) for name in _OWNED_COLUMNS}
    device = column.pop("device")
    device_type = device >> 16
    found = blocks_at(column["address"], device_type, column["time_ns"], known)
    column["block"] = np.where(column["block"] > 0, column["block"], np.append(known.block, 0)[found])
    return {
        **column,
        "row": row_indices,
        "inputs": inputs,
        "class_name": np.array([strings(row.class_name) for row in rows], np.int64),
        "name": np.array([strings(row.name) if row.name else -1 for row in rows], np.int64),
        "device_type": device_type,
        "device_index": np.where(device_type == 0, -1, device & 0xFFFF),
    }

"""The memory of a recording as tables: what tensors took and gave back, kernels' scratch memory, and the blocks that
were alive.
"""

from __future__ import annotations

import numpy as np

from ..record.descriptions import Options
from ..record.kinds import WORKING_KINDS
from ..record.row_format import MEMORY_FIELDS, TENSORS
from ..record.window import Window
from .distinct import distinct
from .event_store import HeldTable, MemoryTable
from .lifetimes import block_lifetimes


def with_strays(window: Window, memory: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Adds frees by threads that are not recorded, of blocks that recorded ones allocated; in the order of time."""
    if not window.options.profile_memory:
        return {n: c[:0] for n, c in memory.items()}
    table = window.stray()
    known = np.concatenate(
        [memory["block"], *([h.block for h in found] for _, at_end, found in window.held if not at_end)]
    )
    wanted = np.where(table["block"] > 0, np.isin(table["block"], known), np.isin(table["address"], memory["address"]))
    wanted &= table["time_ns"] <= window.stop_ns
    added = {n: np.append(memory[n], table[n][wanted]) for n in MEMORY_FIELDS}
    added["thread"] = np.append(memory["thread"], np.zeros(int(wanted.sum()), np.int64))
    order = np.argsort(added["time_ns"], kind="stable")
    # not what happened during the stop
    order = order[: np.searchsorted(added["time_ns"][order], window.stop_ns, side="right")]
    return {n: c[order].astype(np.int64) for n, c in added.items()}


def sorted_by_holder(
    memory: dict[str, np.ndarray], held: HeldTable
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """The records of memory that tensors took, and of kernels' own that ended."""
    of_tensors = (memory["device"] & TENSORS) > 0
    memory = {**memory, "device": memory["device"] & ~TENSORS}
    born, block = memory["nbytes"] > 0, memory["block"]
    own = distinct(block[born & ~of_tensors & (block > 0) & ~np.isin(block, held.block)])
    kernels = np.isin(block, own) if len(own) else np.zeros(len(block), bool)
    has_end = np.isin(block, block[~born & kernels]) if len(own) else kernels
    tensors = ~kernels & (memory["nbytes"] != 0)
    return {n: c[tensors] for n, c in memory.items()}, {n: c[kernels & has_end] for n, c in memory.items()}


def within_operators(scratch: MemoryTable, columns: dict[str, np.ndarray]) -> MemoryTable:
    """Leaves out what outlives the operator that allocated it, for no tensor: constants of a module that is loaded,
    tables that kernels keep, the state of random generators. That is neither a tensor's memory nor scratch.
    """
    parent, end = np.append(columns["parent"], -1), np.append(columns["end_ns"], 0)
    works = np.append(np.isin(columns["kind"], WORKING_KINDS), False)
    known = block_lifetimes(scratch, HeldTable())
    until, at = np.zeros(len(known.record), np.int64), scratch.row[known.record]
    while (at >= 0).any():
        until = np.where(works[at], np.maximum(until, end[at]), until)
        at = parent[at]
    kept = (known.end >= 0) & (known.died_ns <= until)
    records = np.sort(np.concatenate([known.record[kept], known.end[kept]]))
    return MemoryTable({n: c[records] for n, c in scratch.columns.items()})


def bounded_memory(memory: dict[str, np.ndarray], options: Options) -> tuple[dict[str, np.ndarray], int]:
    """The memory records (in the order of time) that the window's bound leaves, and how many it does not."""
    excess = max(0, len(memory["row"]) - options.max_events) if options.max_events else 0
    if not excess:
        return memory, 0
    part = slice(excess, None) if options.keep == "newest" else slice(None, options.max_events)
    return {n: c[part] for n, c in memory.items()}, excess


def held_table(window: Window) -> HeldTable:
    """What tensors held when the window began, was resumed, and ended."""
    rows = [(time, at_end, *block) for time, at_end, found in window.held for block in found]
    if not rows:
        return HeldTable()
    time, at_end, block, address, nbytes, device, category = np.array(rows, np.int64).T
    device_type, index = device >> 16, device & 0xFFFF
    return HeldTable(
        {
            "time_ns": time,
            "at_end": at_end,
            "block": block,
            "address": address,
            "nbytes": nbytes,
            "device_type": device_type,
            "device_index": np.where(device_type == 0, -1, index),
            "category": category,
        }
    )


def memory_table(memory: dict[str, np.ndarray]) -> MemoryTable:
    device_type, index = memory["device"] >> 16, memory["device"] & 0xFFFF
    columns = {n: memory[n] for n in ("time_ns", "address", "nbytes", "row", "thread", "block")}
    columns |= {"device_type": device_type, "device_index": np.where(device_type == 0, -1, index)}
    total = np.zeros(len(device_type), np.int64)
    known = block_lifetimes(MemoryTable(columns), HeldTable())
    there_before = memory["nbytes"] < 0  # what is freed without having begun
    there_before[known.end[known.end >= 0]] = False
    for device in distinct(memory["device"]) if len(total) else ():
        mine = memory["device"] == device
        total[mine] = np.cumsum(memory["nbytes"][mine]) - memory["nbytes"][mine & there_before].sum()
    return MemoryTable({**columns, "total": total})

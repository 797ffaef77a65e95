"""All ranks' events in one store, on the reference's clock: each rank is a process of its own, named after it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..record.descriptions import ThreadInfo
from ..store.event_store import EventStore, Table
from ..store.join import concat
from ..store.processes import IDS_APART, shifted_columns, shifted_window


def merge_stores(stores: Sequence[tuple[int, int, EventStore]]) -> EventStore:
    """One store of several: (rank, nanoseconds to add to the store's times, store) each. Streams of rank N are on
    device N."""
    parts, names, base = [], {}, 0
    for rank, shift, store in stores:
        pid = _process(rank)
        names[str(pid)] = f"rank {rank}"
        parts.append(_shift_store(store, rank, pid, shift, base))
        base += max((thread.id for thread in store.threads), default=0)
    joined = concat(parts)
    first = stores[0][2].metadata
    return joined.with_metadata(
        pid=0,
        process_name="all ranks",
        epoch_offset_ns=first.epoch_offset_ns,
        options=first.options,
        use_device=first.use_device,
        other_processes=names,
        is_foreign=True,
        user={},
    )


def _process(rank: int) -> int:
    """A process id that shows the rank, and that no real process has."""
    return (1 << 24) + rank


def _shift_store(store: EventStore, rank: int, pid: int, shift: int, base: int) -> EventStore:
    threads = [_thread(thread, rank, pid, base) for thread in store.threads]
    return store.replaced(
        shifted_columns(store, shift, base, rank),
        threads=threads,
        metadata=shifted_window(store, shift),
        memory=_shift_table(store.memory, shift, rank),
        scratch=_shift_table(store.scratch, shift, rank),
        held=_shift_table(store.held, shift, rank),
        references=_shift_table(store.references, shift, rank),
        owned=_shift_table(store.owned, shift, rank),
    )


def _shift_table(table: Table, shift: int, rank: int) -> Table:
    columns = dict(table.columns)
    if "time_ns" in columns:
        columns["time_ns"] = columns["time_ns"] + shift
    for name in ("block", "tensor"):
        if name in columns:
            columns[name] = np.where(columns[name] > 0, columns[name] + rank * IDS_APART, columns[name])
    return type(table)(columns)


def _thread(thread: ThreadInfo, rank: int, pid: int, base: int) -> ThreadInfo:
    if thread.device >= 0:
        return thread._replace(id=thread.id + base, device=rank, name=f"rank {rank} {thread.name}")
    return thread._replace(id=thread.id + base, process=pid)

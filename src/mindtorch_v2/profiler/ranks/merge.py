"""All ranks' events in one store, on the reference's clock: each rank is a process of its own, named after it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..record.descriptions import ThreadInfo
from ..store.event_store import EventStore, MemoryTable
from ..store.join import concat


def merge_stores(stores: Sequence[tuple[int, int, EventStore]]) -> EventStore:
    """One store of several: (rank, nanoseconds to add to the store's times, store) each. Streams of rank N are on
    device N."""
    parts, names, base = [], {}, 0
    for rank, shift, store in stores:
        pid = _process(rank)
        names[str(pid)] = f"rank {rank}"
        parts.append(_shift_store(store, rank, pid, shift, base))
        base += max((thread.number for thread in store.threads), default=0)
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
    columns = dict(store.columns)
    for name in ("start_ns", "end_ns"):
        columns[name] = columns[name] + shift
    for name in ("forward_thread", "end_thread"):
        columns[name] = np.where(columns[name] > 0, columns[name] + base, columns[name])
    times = {**store.memory.columns, "time_ns": store.memory.time_ns + shift}
    meta = replace(store.metadata, start_ns=store.metadata.start_ns + shift, stop_ns=store.metadata.stop_ns + shift)
    threads = [_thread(thread, rank, pid, base) for thread in store.threads]
    return EventStore(
        columns,
        strings=store.strings,
        inputs=store.inputs,
        threads=threads,
        modules=store.modules,
        stacks=store.stacks,
        memory=MemoryTable(times),
        metadata=meta,
    )


def _thread(thread: ThreadInfo, rank: int, pid: int, base: int) -> ThreadInfo:
    if thread.device >= 0:
        return thread._replace(number=thread.number + base, device=rank, name=f"rank {rank} {thread.name}")
    return thread._replace(number=thread.number + base, process=pid)

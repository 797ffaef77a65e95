"""The events of a program's processes in one store: each has its own tracks, and all are on the first one's clock."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..record.descriptions import Metadata
from .event_store import EventStore, HeldTable, MemoryTable, OwnedTable, ReferenceTable
from .join import concat

# Ids of nodes, launches, blocks and tensors are counted by each process: they are moved apart by so much.
IDS_APART = 1 << 40


def joined_processes(own: EventStore, others: Sequence[EventStore]) -> EventStore:
    """The events of a process and of those that it started. Memory is that of the first: what the others allocate
    belongs to address spaces of their own."""
    parts, names = [own], {}
    base = max((thread.id for thread in own.threads), default=0)
    for index, other in enumerate(others, 1):
        names[str(other.metadata.pid)] = f"{other.metadata.process_name} {other.metadata.pid}"
        parts.append(_shift_store(other, clock_shift(own.metadata, other.metadata), base, index))
        base += max((thread.id for thread in other.threads), default=0)
    meta = own.metadata
    dropped = sum(part.metadata.dropped_events for part in parts)
    return concat(parts).with_metadata(
        **{**vars(meta), "other_processes": {**meta.other_processes, **names}, "dropped_events": dropped}
    )


def clock_shift(own: Metadata, other: Metadata) -> int:
    """Nanoseconds to add to the times of a process of this machine to have those of another one: none where both read
    one clock, else what their distances from Unix time say."""
    if "CLOCK_MONOTONIC" in time.get_clock_info("perf_counter").implementation:
        return 0
    return other.epoch_offset_ns - own.epoch_offset_ns


def shifted_columns(store: EventStore, shift: int, base: int, process: int) -> dict[str, np.ndarray]:
    """A store's columns with times moved by `shift` ns, ids of threads by `base`, and ids to those of `process`."""
    columns = dict(store.columns)
    for name in ("start_ns", "end_ns"):
        columns[name] = columns[name] + shift
    for name in ("forward_thread", "end_thread"):
        columns[name] = np.where(columns[name] > 0, columns[name] + base, columns[name])
    for name in ("sequence_nr", "correlation"):
        columns[name] = np.where(columns[name] >= 0, columns[name] + process * IDS_APART, columns[name])
    return columns


def shifted_window(store: EventStore, shift: int) -> Metadata:
    """A store's metadata with its window moved by `shift` ns."""
    meta = store.metadata
    return replace(meta, start_ns=meta.start_ns + shift, stop_ns=meta.stop_ns + shift)


def _shift_store(store: EventStore, shift: int, base: int, process: int) -> EventStore:
    pid = store.metadata.pid
    threads = [thread._replace(id=thread.id + base, process=thread.process or pid) for thread in store.threads]
    return store.replaced(
        shifted_columns(store, shift, base, process),
        threads=threads,
        metadata=shifted_window(store, shift),
        memory=MemoryTable(),
        scratch=MemoryTable(),
        held=HeldTable(),
        references=ReferenceTable(),
        owned=OwnedTable(),
    )

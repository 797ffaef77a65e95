"""The events of a program's processes in one store: each has its own tracks, and all are on the first one's clock."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from ..record.descriptions import Metadata
from .event_store import EventStore, HeldTable, MemoryTable, OwnedTable, ReferenceTable
from .join import concat

_SEQUENCES = 1 << 40  # ids of autograd nodes are counted by each process: they are moved apart by so much


def joined_processes(own: EventStore, others: Sequence[EventStore]) -> EventStore:
    """The events of a process and of those that it started. Memory is that of the first: what the others allocate
    belongs to address spaces of their own."""
    parts, names = [own], {}
    base = max((thread.number for thread in own.threads), default=0)
    for index, other in enumerate(others, 1):
        names[str(other.metadata.pid)] = f"{other.metadata.process_name} {other.metadata.pid}"
        parts.append(_shift_times(other, clock_shift(own.metadata, other.metadata), base, index))
        base += max((thread.number for thread in other.threads), default=0)
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


def _shift_times(store: EventStore, shift: int, base: int, index: int) -> EventStore:
    columns = dict(store.columns)
    for name in ("start_ns", "end_ns"):
        columns[name] = columns[name] + shift
    for name in ("forward_thread", "end_thread"):
        columns[name] = np.where(columns[name] > 0, columns[name] + base, columns[name])
    for name in ("sequence_nr", "correlation"):
        columns[name] = np.where(columns[name] >= 0, columns[name] + index * _SEQUENCES, columns[name])
    pid = store.metadata.pid
    threads = [thread._replace(number=thread.number + base, process=thread.process or pid) for thread in store.threads]
    moved = EventStore(
        columns,
        strings=store.strings,
        inputs=store.inputs,
        threads=threads,
        modules=store.modules,
        stacks=store.stacks,
        memory=MemoryTable(),
        scratch=MemoryTable(),
        held=HeldTable(),
        references=ReferenceTable(),
        owned=OwnedTable(),
        metadata=store.metadata,
    )
    return moved.with_metadata(start_ns=store.metadata.start_ns + shift, stop_ns=store.metadata.stop_ns + shift)

"""Makes a store of what a trace said: who encloses whom, who launched what, which threads there are."""

from __future__ import annotations

import numpy as np

from ..record.descriptions import ModuleInfo
from ..record.enums import DeviceType
from ..record.kinds import Flag
from ..record.row_format import type_code
from ..store.checks import checked_amounts
from ..store.event_store import EventStore, MemoryTable, in_order
from .collected import IS_DEVICE, Collected
from .dialects import resolve_categories, with_addresses
from .links import call_stacks, launchers, steps, with_backward, with_loading
from .memory import block_ids, held_blocks, innermost_rows, scratch_memory
from .metadata import device_name, make_metadata
from .nesting import nest
from .threads import is_asynchronous, make_threads, parents_around_tasks, profiled_process


def build(raw: Collected) -> EventStore:
    """The store. Rows that are not inside another although they begin there, as far as the trace's resolution tells,
    are asynchronous; all others nest by time. ValueError where times or sizes are no profile's.
    """
    columns = {**raw.rows, "start_ns": raw.start, "end_ns": raw.end, "parent": np.full(len(raw.start), -1)}
    resolve_categories(raw, columns)
    process = profiled_process(raw, columns)
    (columns,) = in_order(columns)
    threads, thread_of_track = make_threads(raw, columns, process)
    asynchronous = np.array([is_asynchronous(raw, track) for track in raw.tracks] + [False])[columns["track"]]
    kinds = columns["kind"]
    nests = ~IS_DEVICE[kinds] & ~asynchronous
    columns["end_ns"], columns["parent"], loose = nest(columns, nests, raw.resolution_ns - 1 and raw.resolution_ns)
    columns["flags"] = np.where(columns["unfinished"] != 0, int(Flag.UNFINISHED), 0) | np.where(
        loose | asynchronous, int(Flag.ASYNC), 0
    )
    columns["end_thread"] = np.where(asynchronous, -1, 0)
    columns["kind"] = with_backward(kinds, columns, raw.strings)
    columns["launcher"] = launchers(columns)
    use_device = device_name(raw, bool(IS_DEVICE[kinds].any()))
    device = type_code(use_device or "")
    columns["device_type"] = np.where(IS_DEVICE[kinds], device, 0)
    columns["step"] = steps(columns, list(raw.strings))
    stacks = call_stacks(raw, columns)
    columns["thread"] = thread_of_track[columns.pop("track")]
    if any(thread.task for thread in threads):
        columns["parent"] = parents_around_tasks(columns, threads, nests & ~loose)
    columns = {name: values for name, values in columns.items() if name not in ("external", "unfinished")}
    memory = _memory(raw, columns, thread_of_track)
    track_threads = {
        track[:2]: int(thread) for track, thread in zip(raw.tracks, thread_of_track.tolist()) if not track[2]
    }
    scratch = scratch_memory(raw.head, columns, track_threads)
    scratch_row = np.zeros(0, np.int64) if scratch is None else scratch.row
    # Ends that were cut off may have changed the order.
    columns, memory["row"], scratch_row = in_order(columns, memory["row"], scratch_row)
    modules = [ModuleInfo(0, path, "", -1) for path in raw.modules]
    strings = list(raw.strings)
    columns["kind"] = with_loading(columns["kind"], columns["name"], strings)
    store = EventStore(
        columns,
        strings=strings,
        inputs=raw.inputs,
        threads=threads,
        modules=modules,
        stacks=stacks,
        memory=MemoryTable(memory) if len(raw.memory_time) else None,
        held=held_blocks(raw.head),
        scratch=None if scratch is None else MemoryTable({**scratch.columns, "row": scratch_row}),
        metadata=make_metadata(raw, columns, process, use_device, len(stacks) > 0, threads),
    )
    return checked_amounts(store)


def _memory(raw: Collected, columns: dict[str, np.ndarray], thread_of_track: np.ndarray) -> dict[str, np.ndarray]:
    """Memory records in the order of time, each in the innermost event of its thread that was open."""
    blocks = block_ids(raw.head, len(raw.memory_time))
    order = np.argsort(raw.memory_time, kind="stable")
    time = raw.memory_time[order]
    address, nbytes, total, device_type, device_index, track = raw.memory[:, order]
    if len(time) and not (device_type.min() >= 0 and device_type.max() < len(DeviceType)):
        raise ValueError("a memory record is on an unknown device")
    thread = thread_of_track[track]
    address = with_addresses(address, nbytes, device_type, device_index)
    row = innermost_rows(columns, thread, time)
    total = np.where(total >= 0, total, np.cumsum(nbytes))
    return {
        "time_ns": time,
        "address": address,
        "nbytes": nbytes,
        "total": total,
        "device_type": device_type,
        "device_index": device_index,
        "row": row,
        "thread": thread,
        "block": 0 * time if blocks is None else blocks[order],
    }

"""PyTorch's memory snapshot: a pickle of plain values that https://pytorch.org/memory_viz and
`torch.cuda._memory_viz` open.
"""

from __future__ import annotations

import os
import pickle
import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..._files import atomic_file
from ..analysis.memory import find_blocks
from ..store.event_store import EventStore
from ..store.lifetimes import FOREVER

_FRAME = re.compile(r"(.*)\((\d+)\): (.*)", re.DOTALL)
_SEGMENT_GAP = 1 << 21  # blocks this near to each other become one segment
_NO_POOL = (0, 0)


def write(store: EventStore, path: str | os.PathLike[str]) -> None:
    """Writes the snapshot: the history of allocations, and what lived when the recording ended. ValueError where memory
    was not recorded."""
    if not len(store.memory):
        raise ValueError("the profile holds no memory records; record with profile_memory=True")
    with atomic_file(path) as out:
        out.write(pickle.dumps(snapshot(store), protocol=4))


def snapshot(store: EventStore) -> dict[str, Any]:
    """The snapshot as plain values. The CPU's memory becomes that of device 0 where no device has any."""
    every = sorted(set(zip(store.memory.device_type.tolist(), store.memory.device_index.tolist())))
    devices = [device for device in every if device[0] != 0] or every[:1]
    traces: list[list[dict[str, Any]]] = [
        [] for _ in range(max((max(index, 0) for _, index in devices), default=0) + 1)
    ]
    segments = []
    for kind, index in devices:
        device_index = max(index, 0)
        traces[device_index], blocks = _history(store, kind, index)
        segments += _segments(blocks, device_index)
    return {"segments": segments, "device_traces": traces, "allocator_settings": {}, "external_annotations": []}


def _history(
    store: EventStore, kind: int, index: int
) -> tuple[list[dict[str, Any]], list[tuple[int, int, list[dict[str, Any]]]]]:
    """Allocations and frees in the order of time, and (address, size, frames) of what is left."""
    blocks = find_blocks(store, kind, index)
    offset = store.metadata.epoch_offset_ns
    frames: dict[int, list[dict[str, Any]]] = {}
    events: list[tuple[int, int, dict[str, Any]]] = []
    left = []
    rows = zip(
        blocks.born_ns.tolist(),
        blocks.died_ns.tolist(),
        blocks.nbytes.tolist(),
        blocks.row.tolist(),
        blocks.address.tolist(),
    )
    for born, died, nbytes, row, address in rows:
        if row not in frames:
            frames[row] = _frames(store, row)
        common = {"addr": address & 0x7FFFFFFFFFFFFFFF, "size": nbytes, "stream": 0, "frames": frames[row]}
        events.append((born, 1, {"action": "alloc", **common, "time_us": (born + offset) // 1000}))
        if died < FOREVER:
            for action in ("free_requested", "free_completed"):
                events.append(
                    (died, 0 if died > born else 2, {"action": action, **common, "time_us": (died + offset) // 1000})
                )
        else:
            left.append((common["addr"], nbytes, frames[row]))
    events.sort(key=lambda item: item[:2])
    return [event for _, _, event in events], left


def _frames(store: EventStore, row: int) -> list[dict[str, Any]]:
    """The operator and the Python calls that led to an allocation, innermost first."""
    if row < 0:
        return []
    found = [{"filename": "??", "line": 0, "name": store.name_of(row)}]
    for frame in store.stack_of(row):
        parts = _FRAME.fullmatch(frame)
        found.append(
            {"filename": parts.group(1), "line": int(parts.group(2)), "name": parts.group(3)}
            if parts
            else {"filename": "??", "line": 0, "name": frame}
        )
    return found


def _segments(blocks: list[tuple[int, int, list[dict[str, Any]]]], device: int) -> list[dict[str, Any]]:
    """What lives, in segments of neighbours."""
    if not blocks:
        return []
    blocks = sorted(blocks, key=lambda block: block[0])
    ends = np.array([address + size for address, size, _ in blocks])
    apart = np.flatnonzero(np.array([b[0] for b in blocks[1:]]) - ends[:-1] > _SEGMENT_GAP) + 1
    made = []
    for first, last in zip([0, *apart.tolist()], [*apart.tolist(), len(blocks)]):
        members = blocks[first:last]
        used = sum(size for _, size, _ in members)
        start = members[0][0]
        made.append(
            {
                "device": device,
                "address": start,
                "total_size": max(int(ends[first:last].max()) - start, used),
                "allocated_size": used,
                "active_size": used,
                "requested_size": used,
                "stream": 0,
                "segment_type": "large",
                "segment_pool_id": _NO_POOL,
                "is_expandable": False,
                "frames": [],
                "blocks": list(_cover_segment(members)),
            }
        )
    return made


def _cover_segment(members: list[tuple[int, int, list[dict[str, Any]]]]) -> Iterator[dict[str, Any]]:
    """The blocks of a segment, and between them blocks of nothing: a segment is covered wholly."""
    at = members[0][0]
    for address, size, frames in members:
        if address > at:
            yield {"address": at, "size": address - at, "requested_size": 0, "state": "inactive", "frames": []}
        yield {"address": address, "size": size, "requested_size": size, "state": "active_allocated", "frames": frames}
        at = max(at, address + size)

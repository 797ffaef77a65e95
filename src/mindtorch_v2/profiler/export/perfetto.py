"""Perfetto's own format: a trace of protocol buffers, which opens faster and is smaller than JSON.

Names and categories are interned; arrows connect launches with their work and backward functions with the operators
that recorded them; memory is a counter.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import numpy as np

from ..._files import atomic_file
from ..analysis.flows import find_flows
from ..analysis.tree import EventTree
from ..analysis.values import plain_shapes
from ..record.kinds import ACTIVITY_NAMES, Kind
from ..store.event_store import EventStore
from .progress import Progress
from .protobuf import data, fixed64, integer, text, varint
from .slices import Track, boundaries, tracks

# Ids of the fields of perfetto's messages.
_PACKET, _TIMESTAMP, _SEQUENCE, _EVENT, _INTERNED, _SEQUENCE_FLAGS, _DESCRIPTOR = 1, 8, 10, 11, 12, 13, 60
_UUID, _NAME, _PROCESS, _THREAD, _PARENT, _COUNTER = 1, 2, 3, 4, 5, 8
_TYPE, _TRACK_UUID, _NAME_IID, _CATEGORY_IIDS, _ANNOTATIONS, _COUNTER_VALUE, _FLOWS, _ENDING_FLOWS = (
    9,
    11,
    10,
    3,
    4,
    30,
    47,
    48,
)
_BEGIN, _END, _VALUE = 1, 2, 4
_CLEARED, _NEEDS_STATE = 1, 2
_UNIT_BYTES = 3
_PROCESS_UUID, _FIRST_TRACK, _FIRST_COUNTER = 1, 1000, 1 << 32
_ONE_SEQUENCE = integer(_SEQUENCE, 1) + integer(_SEQUENCE_FLAGS, _NEEDS_STATE)


def write(store: EventStore, path: str | os.PathLike[str]) -> None:
    """Writes the trace; the file appears when it is complete."""
    with atomic_file(path) as out, Progress(f"writing {os.path.basename(os.fspath(path))}", 2 * len(store)) as progress:
        pending: list[bytes] = []
        for packet in _packets(store):
            pending.append(data(_PACKET, packet))
            if len(pending) == 8192:
                out.write(b"".join(pending))
                progress.advance(len(pending))
                pending = []
        out.write(b"".join(pending))


def _packets(store: EventStore) -> Iterator[bytes]:
    meta = store.metadata
    listed = tracks(store)
    process = integer(1, max(meta.pid, 1)) + text(6, meta.process_name)
    yield data(_DESCRIPTOR, integer(_UUID, _PROCESS_UUID) + data(_PROCESS, process))
    for i, track in enumerate(listed):
        yield data(_DESCRIPTOR, _track_descriptor(store, track, _FIRST_TRACK + i))
    yield _interned_packet(store)
    flows = _flows(store)
    categories = [ACTIVITY_NAMES.get(kind, "cpu_op") for kind in range(len(Kind))]
    category_ids = {name: i + 1 for i, name in enumerate(dict.fromkeys(categories))}
    for i, track in enumerate(listed):
        yield from _events(store, track, _FIRST_TRACK + i, [category_ids[name] for name in categories], flows)
    yield from _memory(store)


def _track_descriptor(store: EventStore, track: Track, uuid: int) -> bytes:
    head = integer(_UUID, uuid) + integer(_PARENT, _PROCESS_UUID)
    info = store.threads[track.thread] if track.thread >= 0 else None
    if info is None or track.kind != "thread":
        return head + text(_NAME, track.name)
    name = info.name if info.name != "MainThread" else store.metadata.process_name
    return integer(_UUID, uuid) + data(
        _THREAD, integer(1, max(store.metadata.pid, 1)) + integer(2, info.os_id & 0x7FFFFFFF) + text(5, name)
    )


def _interned_packet(store: EventStore) -> bytes:
    """Names and categories, which events refer to by id."""
    categories = dict.fromkeys(ACTIVITY_NAMES.get(kind, "cpu_op") for kind in range(len(Kind)))
    made = b"".join(data(1, integer(1, i + 1) + text(2, name)) for i, name in enumerate(categories))
    made += b"".join(data(2, integer(1, i + 1) + text(2, name)) for i, name in enumerate(store.strings))
    return integer(_SEQUENCE, 1) + integer(_SEQUENCE_FLAGS, _CLEARED) + data(_INTERNED, made)


def _events(
    store: EventStore,
    track: Track,
    uuid: int,
    categories: list[int],
    flows: tuple[dict[int, list[int]], dict[int, list[int]]],
) -> Iterator[bytes]:
    offset = store.metadata.epoch_offset_ns
    where = integer(_TRACK_UUID, uuid)
    ends = data(_EVENT, integer(_TYPE, _END) + where) + _ONE_SEQUENCE
    heads: dict[tuple[int, int], bytes] = {}
    names, kinds, inputs = store.name, store.kind, store.columns["inputs"]
    shapes: dict[int, bytes] = {}
    outgoing, incoming = flows
    for time, begins, row in boundaries(store, track):
        stamp = integer(_TIMESTAMP, time + offset)
        if not begins:
            yield stamp + ends
            continue
        key = (int(names[row]), int(kinds[row]))
        head = heads.get(key)
        if head is None:
            head = heads[key] = (
                integer(_TYPE, _BEGIN)
                + where
                + integer(_NAME_IID, key[0] + 1)
                + integer(_CATEGORY_IIDS, categories[key[1]])
            )
        described = int(inputs[row])
        body = head
        if described >= 0:
            if described not in shapes:
                shapes[described] = data(
                    _ANNOTATIONS, text(10, "Input Dims") + text(6, str(plain_shapes(store.inputs[described].shapes)))
                )
            body = body + shapes[described]
        for flow in outgoing.get(row, ()):
            body += fixed64(_FLOWS, flow)
        for flow in incoming.get(row, ()):
            body += fixed64(_ENDING_FLOWS, flow)
        yield stamp + varint(_EVENT << 3 | 2) + varint(len(body)) + body + _ONE_SEQUENCE


def _flows(store: EventStore) -> tuple[dict[int, list[int]], dict[int, list[int]]]:
    """Ids of the arrows that leave and reach each row."""
    tree = EventTree(store)
    pairs = find_flows(tree)
    launched = np.flatnonzero((store.launcher >= 0) & (store.kind != Kind.DEVICE_SCOPE))
    sources = np.concatenate([store.launcher[launched], tree.rows_of(pairs.forward)]).tolist()
    targets = np.concatenate([launched, tree.rows_of(pairs.backward)]).tolist()
    outgoing: dict[int, list[int]] = {}
    incoming: dict[int, list[int]] = {}
    for i, (source, target) in enumerate(zip(sources, targets)):
        outgoing.setdefault(source, []).append(i + 1)
        incoming.setdefault(target, []).append(i + 1)
    return outgoing, incoming


def _memory(store: EventStore) -> Iterator[bytes]:
    """Live bytes of each device as a counter."""
    memory, offset = store.memory, store.metadata.epoch_offset_ns
    devices = sorted(set(zip(memory.device_type.tolist(), memory.device_index.tolist())))
    for i, (kind, index) in enumerate(devices):
        uuid = _FIRST_COUNTER + i
        name = "memory" if kind == 0 else f"memory of device {index}"
        yield data(
            _DESCRIPTOR,
            integer(_UUID, uuid)
            + integer(_PARENT, _PROCESS_UUID)
            + text(_NAME, name)
            + data(_COUNTER, integer(3, _UNIT_BYTES)),
        )
        here = (memory.device_type == kind) & (memory.device_index == index)
        for time, total in zip(memory.time_ns[here].tolist(), memory.total[here].tolist()):
            event = integer(_TYPE, _VALUE) + integer(_TRACK_UUID, uuid) + integer(_COUNTER_VALUE, total)
            yield integer(_TIMESTAMP, time + offset) + data(_EVENT, event) + _ONE_SEQUENCE

"""Stores made by hand, to the nanosecond: what a recording of the given events would have left."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from mindtorch_v2.profiler.record.descriptions import InputDescription, Metadata, ModuleInfo, Options, ThreadInfo
from mindtorch_v2.profiler.record.kinds import Flag, Kind
from mindtorch_v2.profiler.store.event_store import EventStore, MemoryTable, StackTable

NO_PARENT = -1


@dataclass
class E:
    """One event. Its parent is the innermost event of its thread around it."""

    name: str
    start: int
    end: int
    kind: Kind = Kind.OP
    thread: int = 0
    step: int = 0
    seq: int = -1
    forward_thread: int = 0
    inputs: InputDescription | None = None
    stack: Sequence[str] = ()  # innermost first
    module: int = -1
    overload: str | None = None
    flags: int = 0


@dataclass
class M:
    """One memory record, inside the innermost event of its thread at that time."""

    time: int
    address: int
    nbytes: int
    thread: int = 0


@dataclass
class _Builder:
    strings: dict[str, int] = field(default_factory=dict)
    inputs: dict[InputDescription, int] = field(default_factory=dict)
    nodes: dict[tuple[int, int], int] = field(default_factory=dict)

    def string(self, text: str) -> int:
        return self.strings.setdefault(text, len(self.strings))

    def stack(self, frames: Sequence[str]) -> int:
        node = -1
        for frame in reversed(frames):
            node = self.nodes.setdefault((node, self.string(frame)), len(self.nodes))
        return node


def _parents(events: Sequence[E]) -> list[int]:
    found, open_rows = [], {}
    for row, event in enumerate(events):
        stack = open_rows.setdefault(event.thread, [])
        if event.flags & Flag.ASYNC:
            found.append(NO_PARENT)
            continue
        while stack and not (event.start < events[stack[-1]].end or event.start == event.end == events[stack[-1]].end):
            stack.pop()
        found.append(stack[-1] if stack else NO_PARENT)
        stack.append(row)
    return found


def _row_at(events: Sequence[E], record: M) -> int:
    inside = [
        row
        for row, event in enumerate(events)
        if event.thread == record.thread and event.start <= record.time <= event.end and not event.flags & Flag.ASYNC
    ]
    return inside[-1] if inside else -1


def _records(events: Sequence[E], memory: Sequence[M]) -> dict[str, list[int]]:
    """The columns of memory records, in the order of time."""
    return {
        "time_ns": [m.time for m in memory],
        "address": [m.address for m in memory],
        "nbytes": [m.nbytes for m in memory],
        "total": list(itertools.accumulate(m.nbytes for m in memory)),
        "row": [_row_at(events, m) for m in memory],
        "thread": [m.thread for m in memory],
    }


def make_store(
    events: Sequence[E],
    memory: Sequence[M] = (),
    modules: Sequence[ModuleInfo] = (),
    threads: int = 1,
    stop_ns: int | None = None,
    user: dict[str, str] | None = None,
    **options: Any,
) -> EventStore:
    """The store of events, which are sorted first.

    Further keywords are options ("record_shapes") or metadata ("pid").
    """
    events = sorted(events, key=lambda e: (e.start, -e.end))
    memory = sorted(memory, key=lambda m: m.time)
    builder = _Builder()
    columns = {
        "start_ns": [e.start for e in events],
        "end_ns": [e.end for e in events],
        "name": [builder.string(e.name) for e in events],
        "parent": _parents(events),
        "thread": [e.thread for e in events],
        "kind": [int(e.kind) for e in events],
        "step": [e.step for e in events],
        "sequence_nr": [e.seq for e in events],
        "forward_thread": [e.forward_thread for e in events],
        "inputs": [
            -1 if e.inputs is None else builder.inputs.setdefault(e.inputs, len(builder.inputs)) for e in events
        ],
        "stack": [builder.stack(e.stack) for e in events],
        "module": [e.module for e in events],
        "overload": [-1 if e.overload is None else builder.string(e.overload) for e in events],
        "flags": [int(e.flags) for e in events],
    }
    wanted = {name: options.pop(name) for name in list(options) if name in Options.__dataclass_fields__}
    last = max([e.end for e in events] + [m.time for m in memory], default=0)
    metadata = Metadata(
        **{
            "start_ns": 0,
            "stop_ns": last if stop_ns is None else stop_ns,
            "pid": 4242,
            "host_name": "host",
            "trace_id": "ID",
            "user": user or {},
            "options": Options(**wanted),
            **options,
        }
    )
    return EventStore(
        columns,
        strings=list(builder.strings),
        inputs=list(builder.inputs),
        modules=modules,
        metadata=metadata,
        threads=[ThreadInfo(n + 1, 7000 + n, "MainThread" if n == 0 else f"worker {n}") for n in range(threads)],
        stacks=StackTable(
            {"parent": [p for p, _ in builder.nodes], "frame": [f for _, f in builder.nodes]} if builder.nodes else None
        ),
        memory=MemoryTable(_records(events, memory) if memory else None),
    )


def tensors(*shapes: tuple[int, ...], values: tuple[Any, ...] = ()) -> InputDescription:
    """Arguments: float tensors of these shapes, then plain values."""
    scalars = tuple(
        "ScalarList" if isinstance(v, tuple) else "" if isinstance(v, str) or v is None else "Scalar" for v in values
    )
    return InputDescription(
        shapes=shapes + ((),) * len(values),
        strides=tuple(_strides(s) for s in shapes) + ((),) * len(values),
        types=("float",) * len(shapes) + scalars,
        values=(None,) * len(shapes) + values,
    )


def _strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= size
    return tuple(reversed(strides))

"""What a session recorded, copied out of the recorder's buffers when the window ends; columns are made when someone
asks for them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from .columns import constant, is_constant
from .descriptions import Metadata, Options, ThreadInfo
from .interning import InputTable, Labels, ModuleTable
from .live_blocks import LiveBlock
from .native_recorder import NativeBuffer, NativeRecorder, joined_memory
from .native_rows import split_rows
from .owned import Owned
from .references import joined_references, references_from
from .row_format import CUT_FIELDS, DETAIL_FIELDS, END_FIELDS, MEMORY_FIELDS, ROW_FIELDS, Position
from .thread_buffer import ThreadBuffer

NO_END = np.iinfo(np.int64).min


@dataclass
class Span:
    """What one thread recorded between two moments."""

    start: Position
    carried: tuple[int, ...] = ()  # Python frames that ran already; they count from the window's start
    stop: Any = None  # a Position once the span has ended


@dataclass
class Recorded:
    """One thread's part of a window: a copy of what it recorded, not yet turned into columns."""

    info: ThreadInfo
    spans: list[Span]
    detached: dict[int, int]  # rows closed by another thread -> that thread's id
    # row, start_ns, end_ns (NO_END while open), label, parent (a row), ...
    columns: Callable[[], dict[str, np.ndarray]]
    memory: Callable[[], dict[str, np.ndarray]]  # MEMORY_FIELDS, with `row` as a row
    references: Callable[[], np.ndarray]  # of references.REFERENCE
    # (row, lane): from which row on it ran in which task's lane
    switches: list[tuple[int, int]] = field(default_factory=list)
    tasks: dict[int, str] = field(default_factory=dict)  # lane -> the task's name
    calls_only: bool = False  # only its Python calls are recorded


@dataclass
class Window:
    """Everything that a session's events are made of. The tables may grow while it is kept, but do not change."""

    owner: int  # id that marks this session's own steps
    start_ns: int
    stop_ns: int
    options: Options
    threads: list[Recorded]
    stray: Callable[[], dict[str, np.ndarray]]  # frees by threads that are not recorded: MEMORY_FIELDS
    labels: Labels
    inputs: InputTable
    modules: ModuleTable
    stacks: Any
    refused: int = 0  # rows and memory records that were not taken in
    steps: list[tuple[int, int]] = field(default_factory=list)  # (time, step number), ascending
    device: Any = None  # what ran on devices, where that was asked for
    # (time, at the end, what tensors held then)
    held: list[tuple[int, bool, list[LiveBlock]]] = field(default_factory=list)
    owned: Sequence[Owned] = ()  # the tensors of modules and optimizers


def _matrix(flat: Sequence[int], width: int) -> np.ndarray:
    return np.fromiter(flat, np.int64, len(flat)).reshape(-1, width)


def recorded(buffer: Any, spans: list[Span], calls_only: bool = False) -> Recorded:
    """Copies what a window needs of a buffer. Quick: nothing is done per event."""
    detached = dict(buffer.detached)
    take = _from_native if isinstance(buffer, NativeBuffer) else _from_python
    columns, memory, references = take(buffer, spans)
    tasks = {lane.id: lane.name for lane in buffer.lanes[1:]}
    switches = buffer.switches()
    return Recorded(buffer.info, spans, detached, columns, memory, references, switches, tasks, calls_only)


def _from_native(buffer: Any, spans: list[Span]) -> tuple[Callable[[], Any], ...]:
    first = min([spans[0].start.row, *(row for s in spans for row in s.carried)])
    first_id, parts = buffer.row_table(first, spans[-1].stop.row)
    memories = [part for s in spans for part in buffer.memory_table(s.start.memory_at, s.stop.memory_at)[1]]
    given = buffer.reference_table(spans[0].start.references_at, spans[-1].stop.references_at)[1]

    def columns() -> dict[str, np.ndarray]:
        made = split_rows(parts)
        return {"row": np.arange(first_id, first_id + len(made["label"]), dtype=np.int32), **made}

    return columns, lambda: joined_memory(memories), lambda: joined_references(given)


def _from_python(buffer: ThreadBuffer, spans: list[Span]) -> tuple[Callable[[], Any], ...]:
    start = Position(0, 0, 0, 0, 0, 0, 0) if any(s.carried for s in spans) else spans[0].start
    released = buffer.released
    rows, details = (
        buffer.rows[max(0, start.rows_at - released[0]) :],
        buffer.details[max(0, start.details_at - released[1]) :],
    )
    ends = buffer.ends[max(0, start.ends_at - released[2]) :]
    cuts = list(buffer.cuts)
    memories: list[int] = []
    for span in spans:
        memories += buffer.memory[
            max(0, span.start.memory_at - released[3]) : max(0, span.stop.memory_at - released[3])
        ]
    given = buffer.references[max(0, spans[0].start.references_at - released[4]) :]

    def columns() -> dict[str, np.ndarray]:
        table = _matrix(rows, len(ROW_FIELDS))
        if np.any(table[1:, 0] < table[:-1, 0]):  # a finaliser recorded something between two steps of a row
            table = table[np.argsort(table[:, 0], kind="stable")]
        made = {name: table[:, i] for i, name in enumerate(ROW_FIELDS)}
        made["parent"] = _decoded(made["parent"])
        extra = _matrix(details, len(DETAIL_FIELDS))
        for i, name in enumerate(DETAIL_FIELDS[1:], 1):
            made[name] = spread(made["row"], extra[:, 0], extra[:, i], 0 if name == "forward_thread" else -1)
        done = _matrix(ends, len(END_FIELDS))
        made["end_ns"] = spread(made["row"], done[:, 0], done[:, 1], NO_END)
        _cut(made, _matrix(cuts, len(CUT_FIELDS)))
        return made

    def memory() -> dict[str, np.ndarray]:
        table = _matrix(memories, len(MEMORY_FIELDS))
        made = {name: table[:, i] for i, name in enumerate(MEMORY_FIELDS)}
        made["row"] = _decoded(made["row"])
        return made

    return columns, memory, lambda: references_from(given)


def _cut(columns: dict[str, np.ndarray], cuts: np.ndarray) -> None:
    """Ends Python calls where events began that outlived them, and gives these their parents. In the order in which the
    calls ended: a cut holds where the call is the event's parent."""
    rows, parent = columns["row"], columns["parent"]
    calls, events, above = _decoded(cuts).T
    found = zip(calls.tolist(), positions(rows, calls).tolist(), positions(rows, events).tolist(), above.tolist())
    for call, call_at, event_at, parent_of_call in found:
        if event_at >= 0 and parent[event_at] == call:
            parent[event_at] = parent_of_call
            if call_at >= 0:
                columns["end_ns"][call_at] = columns["start_ns"][event_at]


def stray_memory(recorder: Any, first: int) -> Callable[[], dict[str, np.ndarray]]:
    """Copies the frees by threads that are not recorded, from the given id on."""
    if isinstance(recorder, NativeRecorder):
        _, parts = recorder.stray_table(first)
        return lambda: joined_memory(parts)
    flat = recorder.stray_memory[first * len(MEMORY_FIELDS) :]

    def from_python() -> dict[str, np.ndarray]:
        table = _matrix(flat, len(MEMORY_FIELDS))
        return {name: table[:, i] for i, name in enumerate(MEMORY_FIELDS)}

    return from_python


def _decoded(rows: np.ndarray) -> np.ndarray:
    """Row ids as they stand on the stack of open rows: those with a handle are stored as -2 - id."""
    return np.where(rows < -1, -2 - rows, rows)


def positions(ids: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """The indices of rows with these ids among ascending ids; -1 for those that do not."""
    if not len(ids):
        return np.full(len(rows), -1, np.int64)
    if is_constant(rows) and rows[0] < 0:
        return constant(-1, len(rows), np.int32)
    if ids[-1] - ids[0] == len(ids) - 1:  # no gaps
        index = rows - rows.dtype.type(ids[0]) if ids[0] else rows
        if len(index) and (index.min() < -1 or index.max() >= len(ids)):
            index = np.where((index >= 0) & (index < len(ids)), index, -1)
        return index
    found = np.minimum(np.searchsorted(ids, rows), len(ids) - 1)
    return np.where((rows >= 0) & (ids[found] == rows), found, -1)


def spread(ids: np.ndarray, rows: np.ndarray, values: np.ndarray, missing: int) -> np.ndarray:
    """A column that has the values at the given rows."""
    index = positions(ids, rows)
    column = np.full(len(ids), missing, np.int64)
    column[index[index >= 0]] = values[index >= 0]
    return column


class Recording(NamedTuple):
    """A window that has ended: what is known of it, and its rows (None in a forked child, where nothing was
    recorded).
    """

    metadata: Metadata
    window: Window | None

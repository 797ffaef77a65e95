"""The trace file that Perfetto, chrome://tracing, TensorBoard and HolisticTraceAnalysis read: Kineto's dialect.

Field by field it is described in docs/trace-format.md. Events are formatted from columns, one kind of line per
group, and written in chunks, so that a trace of any size needs little memory.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np

from ... import _accelerators
from ..analysis.tree import EventTree
from ..record.kinds import Kind
from ..store.event_store import EventStore, kept_ancestors
from . import memory_blocks
from .arguments import compact, json_string
from .atomic import atomic_writer
from .progress import Progress
from .rows import SEPARATOR, Micro, Number, Pick, Segment, Texts, When, format_rows, microseconds
from .trace_slices import Slices, number_segment
from .tracks import Tracks

SPAN_NAME = "PyTorch Profiler"  # tools recognise traces of training by it
_SORT_LAST = 536870912
_SORT_DEVICES = 5_000_000
_BASE_SECONDS = 7889238  # a quarter of a year: times since a multiple of it are short and exact in a double
_CHUNK = 4096  # lines: about a megabyte, which stays in the processor's cache
_OWN_KEYS = frozenset(
    {
        "schemaVersion",
        "deviceProperties",
        "trace_id",
        "host_name",
        "displayTimeUnit",
        "use_device",
        "dropped_events",
        "baseTimeNanoseconds",
        "traceEvents",
        "traceName",
        memory_blocks.KEY,
    }
)
_FLAGS = ("profile_memory", "with_stack", "record_shapes", "with_modules", "with_flops")


def write(source: EventStore | EventTree, path: str | os.PathLike[str]) -> None:
    """Write the trace of a store; compressed if the name ends in ".gz". The file appears when it is complete."""
    tree = EventTree.of(source)
    # its events are written again as they were, also those that lists do not show
    if tree.store.metadata.is_foreign:
        tree = EventTree(tree.store, collapsed=False)
    trace = _Trace(tree)
    name = os.fspath(path) if isinstance(path, str) else str(path)
    with atomic_writer(path) as out, Progress(f"writing {os.path.basename(name)}", trace.size) as progress:
        out.write("{\n")
        for key, text in trace.head():
            out.write(f" {json_string(key)}: {text},\n")
        for text in memory_blocks.pieces(
            trace.store, trace.shift_ns, trace.tracks.pids_of_threads(np.arange(len(trace.store.threads)))
        ):
            out.write(text)
        out.write(' "traceEvents": [\n')
        separator = b""
        for count, lines in trace.chunks():
            if lines:
                out.write_bytes(separator)
                out.write_bytes(lines)
                separator = SEPARATOR
                progress.advance(count)
        out.write(f'\n ],\n "traceName": {json_string(name)}\n}}\n')


class _Trace:
    """One store on its way into a file."""

    def __init__(self, tree: EventTree) -> None:
        self.tree = tree
        self.store = tree.store
        self.metadata = tree.store.metadata
        start = self.metadata.start_ns + self.metadata.epoch_offset_ns
        self.base_ns = start // 1_000_000_000 // _BASE_SECONDS * _BASE_SECONDS * 1_000_000_000
        if self.metadata.is_foreign:
            self.base_ns = self.metadata.epoch_offset_ns  # its times are written as they were
        self.shift_ns = self.metadata.epoch_offset_ns - self.base_ns
        self.tracks = Tracks(tree)
        self.slices = Slices(tree, self.tracks, self.shift_ns)
        self.pid = b"%d" % self.metadata.pid
        self.ev_idx = 0

    @property
    def size(self) -> int:
        """About how many lines there are."""
        return len(self.store) + 2 * len(self.store.memory)

    # ---- the head -------------------------------------------------------------------------------------------

    def head(self) -> Iterator[tuple[str, str]]:
        """The members before the events, as JSON texts."""
        yield "schemaVersion", "1"
        yield "deviceProperties", _valid_json(self.metadata.device_properties)
        yield "trace_id", json_string(self.metadata.trace_id)
        flags = {flag: "1" for flag in _FLAGS if getattr(self.metadata.options, flag)}
        for key, text in (flags | dict(self.metadata.user)).items():
            yield f"{key} (metadata)" if key in _OWN_KEYS else key, _valid_json(text)
        if self.metadata.dropped_events:
            yield "dropped_events", str(self.metadata.dropped_events)
        if self.metadata.use_device:
            yield "use_device", json_string(self.metadata.use_device)
        yield "host_name", json_string(self.metadata.host_name)
        yield "displayTimeUnit", '"ms"'
        yield "baseTimeNanoseconds", str(self.base_ns)

    # ---- events, a chunk of lines at a time -----------------------------------------------------------------

    def chunks(self) -> Iterator[tuple[int, bytes]]:
        """(rows, their lines with separators between them)."""
        yield _join_lines(self._names())
        for entries in self.tracks.parts(on_device=False, size=_CHUNK):
            yield len(entries), format_rows(self.slices.host(entries, self._event_indices(len(entries))), len(entries))
        for entries in self.tracks.parts(on_device=True, size=_CHUNK):
            yield len(entries), format_rows(self.slices.device(entries), len(entries))
        memory = self.store.memory
        for first in range(0, len(memory), _CHUNK):
            records = np.arange(first, min(first + _CHUNK, len(memory)))
            yield len(records), format_rows(self._memory(records), len(records))
        for device in np.unique(memory.device_type).tolist():
            for records in _parts(np.append(-1, np.flatnonzero(memory.device_type == device))):
                yield len(records), format_rows(self._counter(device, records), len(records))
        for rows in _parts(np.flatnonzero(self.tree.is_python)):
            yield len(rows), format_rows(self._python(rows), len(rows))
        for rows in _parts(self.tree.loading_rows):
            yield len(rows), format_rows(self._loading(rows), len(rows))
        yield _join_lines(self._frame())

    def _time(self, times_ns: np.ndarray) -> Micro:
        return Micro(times_ns + self.shift_ns)

    def _stamp(self, time_ns: int) -> str:
        return microseconds(time_ns + self.shift_ns)

    def _event_indices(self, count: int) -> Number:
        """The next `count` values of "Ev Idx"."""
        self.ev_idx += count
        return Number(np.arange(self.ev_idx - count, self.ev_idx))

    def _names(self) -> list[str]:
        """Names of the process, the devices, and their tracks."""
        stamp = self._stamp(self.metadata.start_ns)

        def process(pid: int, label: str, order: int, name: str = "") -> list[str]:
            return [
                line("process_name", pid, 0, {"name": name or self.metadata.process_name}),
                line("process_labels", pid, 0, {"labels": label}),
                line("process_sort_index", pid, 0, {"sort_index": order}),
            ]

        def line(name: str, pid: int, tid: int, args: dict[str, Any]) -> str:
            return f'{{"ph":"M","name":"{name}","ts":{stamp},"pid":{pid},"tid":{tid},"args":{compact(args)}}}'

        pid = self.metadata.pid
        lines = process(pid, "CPU", pid)
        for other in sorted({thread.process for thread in self.store.threads if thread.process}):
            lines += process(other, "CPU", other, self.tracks.process_name(other))
        tracks = [(pid, tid, name) for (pid, tid), name in self.tracks.names.items()]
        for device in sorted({stream.device for stream in self.tracks.streams}):
            lines += process(device, *self._device_names(device))
        tracks += [(stream.device, stream.os_id, stream.name) for stream in self.tracks.streams]
        for pid, tid, name in tracks:
            lines += [
                line("thread_name", pid, tid, {"name": name}),
                line("thread_sort_index", pid, tid, {"sort_index": tid}),
            ]
        return lines

    def _device_names(self, device: int) -> tuple[str, int, str]:
        """The label of a device, its position among the tracks, and its name where it does not go by the process's."""
        named = next((s.name.rpartition(" stream ")[0] for s in self.tracks.streams if s.device == device), "")
        name = named.lower() if named.lower() in _accelerators.names() else self.metadata.use_device or "device"
        backend = _accelerators.find(name) if name in _accelerators.names() else None
        if backend is None or not backend.title:
            return f"{name.upper()} {device}", _SORT_DEVICES + device, ""
        simulated = " (simulated)" if "(simulated)" in self.metadata.device_properties else ""
        return f"{backend.title}{simulated}", _SORT_DEVICES + device, f"{name.upper()} {device}"

    # ---- memory ---------------------------------------------------------------------------------------------

    def _memory(self, records: np.ndarray) -> list[Segment]:
        memory = self.store.memory
        tids = np.array([thread.os_id for thread in self.store.threads] or [0])
        return [
            b'{"ph":"i","cat":"cpu_instant_event","s":"t","name":"[memory]","pid":',
            number_segment(self.tracks.pids_of_threads(memory.thread[records])),
            b',"tid":',
            Number(tids[memory.thread[records]]),
            b',"ts":',
            self._time(memory.time_ns[records]),
            b',"args":{"Total Reserved":0,"Total Allocated":',
            Number(memory.total[records]),
            b',"Bytes":',
            Number(memory.nbytes[records]),
            b',"Device Id":',
            Number(memory.device_index[records]),
            b',"Device Type":',
            Number(memory.device_type[records]),
            When(memory.address[records] >= 0, (b',"Addr":', Number(memory.address[records]))),
            b',"finished":false,"Ev Idx":',
            self._event_indices(len(records)),
            b"}}",
        ]

    def _counter(self, device: int, records: np.ndarray) -> list[Segment]:
        """Live bytes over time, as a track of its own. The record -1 stands for the start of the window."""
        memory = self.store.memory
        label = "CPU" if device == 0 else (self.metadata.use_device or "device").upper()
        first = np.flatnonzero(memory.device_type == device)[0] if records[0] < 0 else 0
        before = memory.total[first] - memory.nbytes[first]
        return [
            f'{{"ph":"C","name":"{label} memory","pid":'.encode() + self.pid + b',"tid":0,"ts":',
            self._time(np.where(records < 0, self.metadata.start_ns, memory.time_ns[records])),
            b',"args":{"allocated bytes":',
            Number(np.where(records < 0, before, memory.total[records])),
            b"}}",
        ]

    # ---- Python calls ---------------------------------------------------------------------------------------

    @cached_property
    def _python_ids(self) -> tuple[np.ndarray, np.ndarray]:
        """Per row: its id among Python calls, counted from 1, and that of the call around it (0 for none)."""
        python = self.tree.is_python
        ids = np.append(np.cumsum(python), 0)
        above = np.append(kept_ancestors(self.store.parent, python), -1)[self.store.parent]
        return ids, ids[above]

    @cached_property
    def _module_texts(self) -> Texts:
        """Per string: the index of the module's instance that it names."""
        endings = (text.rpartition("_")[2] for text in self.store.strings)
        return Texts(ending if ending.isascii() and ending.isdigit() else "0" for ending in endings)

    def _python(self, rows: np.ndarray) -> list[Segment]:
        store = self.store
        call_id, parent = (ids[rows] for ids in self._python_ids)
        start = store.start_ns[rows]
        is_module = store.kind[rows] == Kind.MODULE
        segments: list[Segment] = [
            b'{"ph":"X","cat":"python_function","name":"',
            Pick(self.slices.names, store.name[rows]),
            b'","pid":',
            number_segment(self.tracks.pids(rows)),
            b',"tid":',
            Number(self.tracks.tids(rows)),
            b',"ts":',
            self._time(start),
            b',"dur":',
            Micro(store.end_ns[rows] - start),
            b',"args":{"Python id":',
            Number(call_id),
            b',"Python parent id":',
            When(parent > 0, (Number(parent),)),
            When(parent == 0, (b"null",)),
        ]
        if is_module.any():
            segments.append(When(is_module, (b',"Python module id":', Pick(self._module_texts, store.name[rows]))))
        if self.metadata.options.verbose:
            threads = np.array([thread.id for thread in store.threads])
            segments += [b',"Python thread":', Number(threads[store.thread[rows]])]
        return [*segments, b',"Ev Idx":', self._event_indices(len(rows)), b"}}"]

    def _loading(self, rows: np.ndarray) -> list[Segment]:
        """What was loaded when it was first used: overhead, which lists leave out."""
        store, start = self.store, self.store.start_ns[rows]
        return [
            b'{"ph":"X","cat":"overhead","name":"',
            Pick(self.slices.names, store.name[rows]),
            b'","pid":',
            number_segment(self.tracks.pids(rows)),
            b',"tid":',
            Number(self.tracks.tids(rows)),
            b',"ts":',
            self._time(start),
            b',"dur":',
            Micro(store.end_ns[rows] - start),
            b',"args":{"Ev Idx":',
            self._event_indices(len(rows)),
            b"}}",
        ]

    def _frame(self) -> list[str]:
        """The span of the whole window and the marks of its start and end."""
        start, stop = self._stamp(self.metadata.start_ns), self._stamp(self.metadata.stop_ns)
        duration = _span(start, stop, max(self.metadata.stop_ns - self.metadata.start_ns, 0))
        count = len(self.tree) - int((self.tree.memory_row < 0).sum())
        return [
            f'{{"ph":"X","cat":"Trace","ts":{start},"dur":{duration},"pid":"Spans","tid":"{SPAN_NAME}",'
            f'"name":"{SPAN_NAME} (0)","args":{{"Op count":{count}}}}}',
            f'{{"ph":"M","name":"process_sort_index","ts":{start},"pid":"Spans","tid":0,"args":{{"sort_index":{_SORT_LAST}}}}}',
            f'{{"ph":"i","s":"g","name":"Iteration Start: {SPAN_NAME}","pid":"Traces","tid":"Trace '
            f'{SPAN_NAME}","ts":{start}}}',
            f'{{"ph":"i","s":"g","name":"Record Window End","pid":"","tid":"","ts":{stop}}}',
        ]


def _span(start: str, stop: str, duration_ns: int) -> str:
    """A duration that, added to `start` in floating point as viewers do, does not reach beyond `stop`."""
    while duration_ns > 0 and float(start) + float(microseconds(duration_ns)) > float(stop):
        duration_ns -= 1
    return microseconds(duration_ns)


def _parts(items: np.ndarray) -> Iterator[np.ndarray]:
    for first in range(0, len(items), _CHUNK):
        yield items[first : first + _CHUNK]


def _join_lines(lines: list[str]) -> tuple[int, bytes]:
    return 0, SEPARATOR.join(line.encode("ascii") for line in lines)


def _valid_json(text: str) -> str:
    """A user's JSON text, or, when it is none (or has numbers that JSON does not know), the same as a JSON string."""

    def refuse(constant: str) -> Any:
        raise ValueError(constant)

    try:
        return json.dumps(json.loads(text, parse_constant=refuse))
    except (ValueError, RecursionError):
        return json_string(text)

"""The trace file that Perfetto, chrome://tracing, TensorBoard and HolisticTraceAnalysis read: Kineto's dialect.

Field by field it is described in docs/trace-format.md. Events are formatted from columns with one template per group and
written in chunks, so that a trace of any size needs little memory.
"""
from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any

import numpy as np

from .._fields import Flag, Kind
from .._store import EventStore, kept_ancestors
from ..analysis.flows import find_flows
from ..analysis.tree import EventTree
from .arguments import compact, described_arguments, module_text, quoted, stack_text
from .atomic import atomic_writer
from .tracks import Tracks

SPAN_NAME = "PyTorch Profiler"  # tools recognise traces of training by it
_SORT_LAST = 536870912
_BASE_SECONDS = 7889238  # a quarter of a year: times since a multiple of it are short and exact in a double
_CHUNK = 20_000
_OWN_KEYS = frozenset({"schemaVersion", "deviceProperties", "trace_id", "host_name", "displayTimeUnit",
                       "baseTimeNanoseconds", "traceEvents", "traceName"})
_FLAGS = ("profile_memory", "with_stack", "record_shapes", "with_modules", "with_flops")

_THREE_DIGITS = [f"{number:03d}" for number in range(1000)]  # looking them up is faster than formatting them

_EVENT = '%s%d.%s,"dur":%d.%s,"args":{"External id":%d%s,"Ev Idx":%d}}'
_PYTHON = '%s%d.%s,"dur":%d.%s,"args":{"Python id":%d,"Python parent id":%s%s,"Ev Idx":%d}}'
_MEMORY = ('%s%d.%s,"args":{"Total Reserved":0,"Total Allocated":%d,"Bytes":%d,"Device Id":%d,"Device Type":%d,"Addr":%d,'
           '"finished":false,"Ev Idx":%d}}')
_COUNTER = '{"ph":"C","name":"%s memory","pid":%d,"tid":0,"ts":%d.%s,"args":{"allocated bytes":%d}}'


def write(source: EventStore | EventTree, path: str | os.PathLike[str]) -> None:
    """Write the trace of a store; compressed if the name ends in ".gz". The file appears when it is complete."""
    trace = _Trace(EventTree.of(source))
    with atomic_writer(path) as out:
        out.write("{\n")
        for key, text in trace.head():
            out.write(f" {quoted(key)}: {text},\n")
        out.write(' "traceEvents": [\n')
        separator = ""
        for chunk in trace.chunks():
            if chunk:
                out.write(separator + ",\n".join(chunk))
                separator = ",\n"
        out.write(f'\n ],\n "traceName": {quoted(os.fspath(path) if isinstance(path, str) else str(path))}\n}}\n')


class _Trace:
    """One store on its way into a file."""

    def __init__(self, tree: EventTree) -> None:
        self.tree = tree
        self.store = tree.store
        self.metadata = tree.store.metadata
        start = self.metadata.start_ns + self.metadata.epoch_offset_ns
        self.base_ns = start // 1_000_000_000 // _BASE_SECONDS * _BASE_SECONDS * 1_000_000_000
        self.shift_ns = self.metadata.epoch_offset_ns - self.base_ns
        self.tracks = Tracks(tree)
        self.ev_idx = 0

    # ---- the head -------------------------------------------------------------------------------------------

    def head(self) -> Iterator[tuple[str, str]]:
        """The members before the events, as JSON texts."""
        yield "schemaVersion", "1"
        yield "deviceProperties", "[]"
        yield "trace_id", quoted(self.metadata.trace_id)
        flags = {flag: "1" for flag in _FLAGS if getattr(self.metadata.options, flag)}
        for key, text in (flags | dict(self.metadata.user)).items():
            yield f"{key} (metadata)" if key in _OWN_KEYS else key, _valid_json(text)
        yield "host_name", quoted(self.metadata.host_name)
        yield "displayTimeUnit", '"ms"'
        yield "baseTimeNanoseconds", str(self.base_ns)

    # ---- events, a chunk of lines at a time -----------------------------------------------------------------

    def chunks(self) -> Iterator[list[str]]:
        yield self._names()
        for track in self.tracks.of_events():
            for first in range(0, len(track.entries), _CHUNK):
                yield self._events(track.tid, track.entries[first:first + _CHUNK])
        for first in range(0, len(self.store.memory), _CHUNK):
            yield self._memory(slice(first, first + _CHUNK))
        for device in np.unique(self.store.memory.device_type).tolist():
            yield self._counter(device)
        python = np.flatnonzero(self.tree.is_python)
        for first in range(0, len(python), _CHUNK):
            yield self._python(python[first:first + _CHUNK], first)
        yield self._frame()

    def _time(self, times_ns: np.ndarray) -> tuple[list[int], list[str]]:
        """Whole microseconds since the base, and the decimals."""
        return _split(times_ns + self.shift_ns)

    def _stamp(self, time_ns: int) -> str:
        return _microseconds(time_ns + self.shift_ns)

    def _numbers(self, count: int) -> range:
        """The next `count` values of "Ev Idx"."""
        self.ev_idx += count
        return range(self.ev_idx - count, self.ev_idx)

    def _names(self) -> list[str]:
        """Names of the process and its tracks."""
        stamp, pid = self._stamp(self.metadata.start_ns), self.metadata.pid

        def line(name: str, tid: int, args: dict[str, Any]) -> str:
            return f'{{"ph":"M","name":"{name}","ts":{stamp},"pid":{pid},"tid":{tid},"args":{compact(args)}}}'

        lines = [line("process_name", 0, {"name": self.metadata.process_name}), line("process_labels", 0, {"labels": "CPU"}),
                 line("process_sort_index", 0, {"sort_index": pid})]
        for tid, name in self.tracks.names.items():
            lines += [line("thread_name", tid, {"name": name}), line("thread_sort_index", tid, {"sort_index": tid})]
        return lines

    @cached_property
    def _flow_lines(self) -> dict[int, list[str]]:
        """The ends of forward-backward arrows per entry; each follows the slice that it is attached to."""
        lines: dict[int, list[str]] = {}
        flows = find_flows(self.tree)
        starts = self.tree.start_ns
        for number, pair in enumerate(zip(flows.forward.tolist(), flows.backward.tolist()), 1):
            for entry, begin, end in ((pair[0], "s", ""), (pair[1], "f", ',"bp":"e"')):
                lines.setdefault(entry, []).append(
                    f'{{"ph":"{begin}","id":{number},"pid":{self.metadata.pid},"tid":{self.tracks.tid_of_entry(entry)},'
                    f'"ts":{self._stamp(int(starts[entry]))},"cat":"fwdbwd","name":"fwdbwd"{end}}}')
        return lines

    def _events(self, tid: int, entries: np.ndarray) -> list[str]:
        tree = self.tree
        rows = tree.row[entries]
        lines = [_EVENT % values for values in zip(
            self._prefixes(tid, rows), *self._time(tree.start_ns[entries]), *_split(tree.end_ns[entries] - tree.start_ns[entries]),
            (entries + 1).tolist(), self._extras(rows), self._numbers(len(rows)))]
        flows = self._flow_lines
        if flows:
            for place, entry in enumerate(entries.tolist()):
                if entry in flows:
                    lines[place] = ",\n".join([lines[place], *flows[entry]])
        return lines

    def _prefixes(self, tid: int, rows: np.ndarray) -> Iterable[str]:
        """Everything up to the time, which is the same for all calls of one operator."""
        store, shown_overload = self.store, self.metadata.options.capture_overload_names
        kind, name, overload = store.kind[rows], store.name[rows].astype(np.int64), store.overload[rows]
        codes = (name * 16 + kind) * (len(store.strings) + 1) + (overload + 1 if shown_overload else 0)
        distinct, first, which = np.unique(codes, return_index=True, return_inverse=True)
        texts = []
        for place in first.tolist():
            category = "user_annotation" if kind[place] in (Kind.SCOPE, Kind.STEP) else "cpu_op"
            label = store.strings[name[place]]
            if shown_overload and overload[place] >= 0 and store.strings[overload[place]]:
                label += "." + store.strings[overload[place]]
            texts.append(f'{{"ph":"X","cat":"{category}","name":{quoted(label)},"pid":{self.metadata.pid},"tid":{tid},"ts":')
        return [texts[i] for i in which.tolist()]

    def _record_function_ids(self, rows: np.ndarray) -> list[str]:
        """0, or the number under which an ExecutionTraceObserver counted the call."""
        base = self.metadata.record_function_base
        if base is None:
            return [',"Record function id":0'] * len(rows)
        return [f',"Record function id":{number}' for number in (base + self._recorded_order[rows]).tolist()]

    @cached_property
    def _recorded_order(self) -> np.ndarray:
        return np.cumsum(~self.tree.is_python)

    def _extras(self, rows: np.ndarray) -> list[str]:
        """The members of "args" between the first and the last."""
        store, options = self.store, self.metadata.options
        numbers = store.sequence_nr[rows]
        parts = [self._record_function_ids(rows)]
        if (numbers >= 0).any():
            parts.append(["" if number < 0 else f',"Sequence number":{number},"Fwd thread id":{thread}'
                          for number, thread in zip(numbers.tolist(), store.forward_thread[rows].tolist())])
        if store.inputs:
            arguments = self._arguments
            parts.append([arguments[operator][index] for operator, index in zip(
                (store.kind[rows] == Kind.OP).tolist(), store.columns["inputs"][rows].tolist())])
        if options.verbose and len(store.stacks):
            parts.append(self._texts("Call stack", store.stack[rows], stack_text))
        if store.modules:
            parts.append(self._texts("Module Hierarchy", store.module[rows], module_text))
        if (store.flags[rows] & Flag.UNFINISHED).any():
            parts.append([',"finished":false' if flags & Flag.UNFINISHED else "" for flags in store.flags[rows].tolist()])
        return list(map("".join, zip(*parts))) if len(parts) > 1 else parts[0]

    @cached_property
    def _arguments(self) -> tuple[list[str], list[str]]:
        """The description of every set of arguments, for other events and for operators; the last is for none."""
        shapes = self.metadata.options.describes_inputs
        return tuple([*(described_arguments(inputs, operator, shapes) for inputs in self.store.inputs), ""]  # type: ignore[return-value]
                     for operator in (False, True))

    def _texts(self, key: str, index: np.ndarray, text: Any) -> list[str]:
        """`,"key":"..."` for indices into a side table, nothing for -1."""
        known = {i: f',"{key}":{quoted(text(self.store, i))}' if i >= 0 else "" for i in np.unique(index).tolist()}
        return [known[i] for i in index.tolist()]

    def _memory(self, part: slice) -> list[str]:
        memory = self.store.memory
        prefixes = [f'{{"ph":"i","cat":"cpu_instant_event","s":"t","name":"[memory]","pid":{self.metadata.pid},"tid":{thread.os_id},"ts":'
                    for thread in self.store.threads]
        return [_MEMORY % values for values in zip(
            [prefixes[i] for i in memory.thread[part].tolist()], *self._time(memory.time_ns[part]), memory.total[part].tolist(),
            memory.nbytes[part].tolist(), memory.device_index[part].tolist(), memory.device_type[part].tolist(),
            memory.address[part].tolist(), self._numbers(len(memory.time_ns[part])))]

    def _counter(self, device: int) -> list[str]:
        """Live bytes over time, as a track of its own."""
        memory = self.store.memory
        mine = memory.device_type == device
        label = "CPU" if device == 0 else (self.metadata.use_device or "device").upper()
        whole, rest = self._time(np.insert(memory.time_ns[mine], 0, self.metadata.start_ns))
        totals = np.insert(memory.total[mine], 0, memory.total[mine][0] - memory.nbytes[mine][0])
        return [_COUNTER % (label, self.metadata.pid, *values) for values in zip(whole, rest, totals.tolist())]

    @cached_property
    def _python_ids(self) -> tuple[np.ndarray, np.ndarray]:
        """Per row: its number among Python calls, and that of the call around it (0 for none)."""
        python = self.tree.is_python
        number = np.append(np.cumsum(python), 0)
        above = np.append(kept_ancestors(self.store.parent, python), -1)[self.store.parent]
        return number, number[above]

    def _python(self, rows: np.ndarray, first: int) -> list[str]:
        store = self.store
        number, parent = self._python_ids
        names = {i: quoted(store.strings[i]) for i in np.unique(store.name[rows]).tolist()}
        prefixes = [f'{{"ph":"X","cat":"python_function","name":{names[name]},"pid":{self.metadata.pid},"tid":{tid},"ts":'
                    for name, tid in zip(store.name[rows].tolist(), self.tracks.tids_of_rows(rows))]
        parents = [str(i) if i else "null" for i in parent[rows].tolist()]
        return [_PYTHON % values for values in zip(
            prefixes, *self._time(store.start_ns[rows]), *_split(store.end_ns[rows] - store.start_ns[rows]), number[rows].tolist(),
            parents, self._python_extras(rows), self._numbers(len(rows)))]

    def _python_extras(self, rows: np.ndarray) -> list[str]:
        store, verbose = self.store, self.metadata.options.verbose
        extras = []
        for kind, name, thread in zip(store.kind[rows].tolist(), store.name[rows].tolist(), store.thread[rows].tolist()):
            text = ""
            if kind == Kind.MODULE:
                instance = store.strings[name].rpartition("_")[2]
                text = f',"Python module id":{instance if instance.isdigit() else 0}'
            extras.append(text + f',"Python thread":{store.threads[thread].number}' if verbose else text)
        return extras

    def _frame(self) -> list[str]:
        """The span of the whole window and the marks of its start and end."""
        start, stop = self._stamp(self.metadata.start_ns), self._stamp(self.metadata.stop_ns)
        duration = _microseconds(max(self.metadata.stop_ns - self.metadata.start_ns, 0))
        count = int((self.tree.row >= 0).sum())
        return [
            f'{{"ph":"X","cat":"Trace","ts":{start},"dur":{duration},"pid":"Spans","tid":"{SPAN_NAME}","name":"{SPAN_NAME} (0)",'
            f'"args":{{"Op count":{count}}}}}',
            f'{{"ph":"M","name":"process_sort_index","ts":{start},"pid":"Spans","tid":0,"args":{{"sort_index":{_SORT_LAST}}}}}',
            f'{{"ph":"i","s":"g","name":"Iteration Start: {SPAN_NAME}","pid":"Traces","tid":"Trace {SPAN_NAME}","ts":{start}}}',
            f'{{"ph":"i","s":"g","name":"Record Window End","pid":"","tid":"","ts":{stop}}}',
        ]


def _split(times_ns: np.ndarray) -> tuple[list[int], list[str]]:
    """Whole microseconds and three decimals: in integers, so that no digit is lost."""
    whole, rest = np.divmod(times_ns, 1000)
    return whole.tolist(), [_THREE_DIGITS[i] for i in rest.tolist()]


def _microseconds(time_ns: int) -> str:
    whole, rest = divmod(time_ns, 1000)
    return f"{whole}.{rest:03d}"


def _valid_json(text: str) -> str:
    """A user's JSON text, or, when it is none (or has numbers that JSON does not know), the same as a JSON string."""
    def refuse(constant: str) -> Any:
        raise ValueError(constant)
    try:
        return json.dumps(json.loads(text, parse_constant=refuse))
    except ValueError:
        return quoted(text)

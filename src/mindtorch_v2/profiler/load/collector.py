"""What a trace's events say, as columns: here each event is read in Python (`_kineto_native` reads most of them in
C).
"""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import numpy as np

from ..._observer import NODE_PREFIX
from ..record.kinds import ACTIVITY_NAMES, DEVICE_KINDS, PYTHON_KINDS, Kind
from .collected import ROW, Collected
from .dialects import KEPT, MISSING_ADDRESS
from .inputs import InputTable

_EXACT_BELOW = 1 << 43  # microseconds with three decimals are exact in a double below this
_BLOCK = 1 << 16
_LIMIT = 1 << 62  # nanoseconds: beyond lies nothing that a trace could mean
TRACE = "Trace"  # category of the slice that is the whole window
DEVICES = frozenset(int(kind) for kind in DEVICE_KINDS)
# Kinds that a trace tells apart only by an event's name: (kind, test, text, kind where the test is met); the first that
# is met counts. The native reader uses them, too.
BEGINS, LACKS, EQUALS = range(3)
RULES = (
    (int(Kind.OP), BEGINS, NODE_PREFIX, int(Kind.NODE)),
    (int(Kind.OP), LACKS, "::", int(Kind.FUNCTION)),
    (int(Kind.SCOPE), BEGINS, "ProfilerStep#", int(Kind.STEP)),
    (int(Kind.PYTHON), BEGINS, "nn.Module: ", int(Kind.MODULE)),
    (int(Kind.PYTHON), BEGINS, "<built-in", int(Kind.BUILTIN)),
    (int(Kind.PYTHON), EQUALS, "Python GC", int(Kind.GC)),
)
_RULES_OF_KIND = {kind: [rule[1:] for rule in RULES if rule[0] == kind] for kind, *_ in RULES}

# Categories in lower case, as PyTorch has called them since 1.8.
_KIND_OF_CATEGORY: dict[str, Kind] = {
    "cpu_op": Kind.OP,
    "operator": Kind.OP,
    "": Kind.OP,
    "user_annotation": Kind.SCOPE,
    "python_function": Kind.PYTHON,
    **{f"{device}_runtime": Kind.RUNTIME for device in ("cuda", "hip", "xpu", "mtia", "hpu", "privateuse1")},
    **{f"{device}_driver": Kind.DRIVER for device in ("cuda", "xpu", "privateuse1")},
    "runtime": Kind.RUNTIME,
    "overhead": Kind.OVERHEAD,
    "kernel": Kind.KERNEL,
    "gpu_memcpy": Kind.MEMCPY,
    "memcpy": Kind.MEMCPY,
    "gpu_memset": Kind.MEMSET,
    "memset": Kind.MEMSET,
    "gpu_user_annotation": Kind.DEVICE_SCOPE,
    "cuda_sync": Kind.SYNC,
    "cuda_event": Kind.SYNC,
    "cuda_profiler_range": Kind.RANGE,
    **dict.fromkeys(("mtia_ccp_events", "mtia_insight", "mtia_workloadd"), Kind.KERNEL),
}
# Names that need not be kept: those of PyTorch's first versions, and those that an export makes of the kind.
_IMPLIED = frozenset(
    {
        "",
        "operator",
        "runtime",
        "kernel",
        "memcpy",
        "memset",
        "cpu_op",
        *ACTIVITY_NAMES.values(),
        *(f"{device}_{level}" for device in ("cuda", "xpu", "mtia", "privateuse1") for level in ("runtime", "driver")),
    }
)
_MAX_KEPT = 256 - KEPT


class Collector:
    """Columns of plain numbers; texts and descriptions are kept once each."""

    def __init__(self) -> None:
        self.head: dict[str, Any] = {}
        self.strings: dict[str, int] = {}
        self.tracks: dict[tuple[Any, Any, bool], int] = {}  # (pid or device, tid or stream, is it a stream?)
        self.names: dict[tuple[str, Any, Any], str] = {}  # what "M" events say: (name of the fact, pid, tid)
        self.inputs = InputTable()
        self.stacks: dict[str, int] = {}
        self.modules: dict[str, int] = {}
        self.categories: set[str] = set()
        self._kinds: dict[str, int] = {}
        # categories that are kept by name, and the kinds of their events
        self.kept: dict[str, Kind] = {}
        self.times: list[Any] = []
        self.durations: list[Any] = []
        self.rows = _IntegerRows(len(ROW))
        self.memory = _IntegerRows(6)
        self.memory_times: list[Any] = []
        self.window: list[Any] = []  # times that lie inside the window
        self._take = {"X": self._take_slice, "i": self._take_instant, "I": self._take_instant, "M": self._take_fact}

    def take(self, event: Any) -> None:
        """Adds an event. Arrows and counters follow from the rest; other phases are not written by any PyTorch."""
        phase = event["ph"]
        take = self._take.get(phase)
        if take is not None:
            take(event)
        elif phase in ("B", "E", "b", "e", "n"):
            raise ValueError(f'its phase "{phase}" is not used by PyTorch, and is not supported')

    def _take_slice(self, event: dict[str, Any]) -> None:
        category = event.get("cat", "")
        if category == TRACE:
            self.window += [event["ts"], event["ts"] + event.get("dur", 0)]
            return
        args, name, ts = event.get("args") or {}, event["name"], event["ts"]
        kind = self._kind(category, name)
        take = args.pop
        on_device = kind in DEVICES
        if on_device:
            tid = event["tid"]
            # "stream" is a number that stands for none
            no_stream = type(tid) is int and tid < 0 and args.get("stream", tid) != tid
            track = (take("device", event["pid"]), tid if no_stream else take("stream", tid), True)
        else:
            track = (event["pid"], event["tid"], False)
        external, sequence_nr, forward, correlation = (
            take("External id", -1),
            take("Sequence number", -1),
            take("Fwd thread id", 0),
            take("correlation", -1),
        )
        take("Ev Idx", None)
        take("Record function id", None)
        stack, module, unfinished = (
            take("Call stack", ""),
            take("Module Hierarchy", ""),
            take("finished", True) is False,
        )
        self._add_slice(
            ts,
            event.get("dur", 0),
            (
                external,
                sequence_nr,
                correlation,
                forward,
                self.strings.setdefault(_text(name), len(self.strings)),
                self.tracks.setdefault(track, len(self.tracks)),
                self.inputs.index_of(args, kind is Kind.OP) if args and kind not in PYTHON_KINDS else -1,
                self.stacks.setdefault(stack, len(self.stacks)) if stack else -1,
                self.modules.setdefault(module, len(self.modules)) if module else -1,
                kind,
                unfinished,
            ),
        )

    def _kind(self, category: str, name: Any) -> int:
        """A kind, or the code (from KEPT on) of a category that is kept by name."""
        return refined(self.kind_of_category(category), name)

    def kind_of_category(self, category: str) -> int:
        """The same before the event's name is looked at, which tells some kinds apart (RULES)."""
        kind = self._kinds.get(category)
        if kind is None:
            kind = self._kinds[category] = self._new_category(category)
        return kind

    def _new_category(self, category: str) -> int:
        lower = category.lower()
        kind = _KIND_OF_CATEGORY.get(lower, Kind.OTHER)
        if kind >= Kind.RUNTIME:
            self.categories.add(category)
        if lower in _IMPLIED or len(self.kept) == _MAX_KEPT:
            return kind
        self.kept[category] = kind
        return KEPT + len(self.kept) - 1

    def _add_slice(self, time: Any, duration: Any, row: tuple[Any, ...]) -> None:
        self.times.append(time)
        self.durations.append(duration)
        self.rows.add(row)

    def _take_instant(self, event: dict[str, Any]) -> None:
        if event["name"] == "[memory]":
            args = event["args"]
            track = (event["pid"], event["tid"], False)
            self._add_memory(
                event["ts"],
                (
                    args.get("Addr", MISSING_ADDRESS),
                    args["Bytes"],
                    args.get("Total Allocated", -1),
                    args["Device Type"],
                    args.get("Device Id", -1),
                    self.tracks.setdefault(track, len(self.tracks)),
                ),
            )
        elif event["name"].startswith(("Iteration Start", "Record Window End")):
            self.window.append(event["ts"])

    def _add_memory(self, time: Any, row: tuple[Any, ...]) -> None:
        self.memory_times.append(time)
        self.memory.add(row)

    def _take_fact(self, event: dict[str, Any]) -> None:
        if event["name"] in ("process_name", "thread_name", "process_labels"):
            values = [value for value in (event.get("args") or {}).values() if isinstance(value, str)]
            if values:
                self.names[event["name"], event["pid"], event.get("tid", 0)] = values[0]

    @property
    def lost_digits(self) -> bool:
        return any(type(time) is float and time > _EXACT_BELOW for time in self.times[:1000])

    def collected(self) -> Collected:
        rows = dict(zip(ROW, self.rows.columns()))
        return self._collected(
            nanoseconds(self.times),
            nanoseconds(self.durations),
            rows,
            self.memory.columns(),
            nanoseconds(self.memory_times),
            all(type(value) is int for value in self.times),
        )

    def _collected(
        self,
        start: np.ndarray,
        duration: np.ndarray,
        rows: dict[str, np.ndarray],
        memory: np.ndarray,
        memory_time: np.ndarray,
        whole: bool,
    ) -> Collected:
        return Collected(
            head=self.head,
            strings=self.strings,
            tracks=list(self.tracks),
            names=self.names,
            inputs=self.inputs,
            stacks=list(self.stacks),
            modules=list(self.modules),
            categories=self.categories,
            kept=self.kept,
            start=start,
            end=start + np.maximum(duration, 0),
            rows=rows,
            memory=memory,
            memory_time=memory_time,
            window=nanoseconds(self.window),
            resolution_ns=1000 if whole else 1,
        )


class _IntegerRows:
    """Rows of whole numbers, packed a block at a time: as Python's numbers they would take several times the memory."""

    def __init__(self, width: int) -> None:
        self._width = width
        self._blocks: list[np.ndarray] = []
        self._rows: list[tuple[Any, ...]] = []

    def add(self, row: tuple[Any, ...]) -> None:
        self._rows.append(row)
        if len(self._rows) == _BLOCK:
            self._pack()

    def _pack(self) -> None:
        rows = self._rows
        try:
            block = np.array(rows)
        except ValueError:  # a list among the numbers
            block = np.zeros(0)
        if block.dtype.kind != "i":
            block = np.array([[integer(value) for value in row] for row in rows], np.int64)
        self._blocks.append(block)
        self._rows = []

    def columns(self) -> np.ndarray:
        if self._rows:
            self._pack()
        return np.concatenate(self._blocks).T if self._blocks else np.zeros((self._width, 0), np.int64)


def refined(kind: int, name: Any) -> int:
    """The kind of an event with this name whose category says `kind`."""
    for test, text, becomes in _RULES_OF_KIND.get(kind, ()):
        if name.startswith(text) if test == BEGINS else name == text if test == EQUALS else text not in name:
            return becomes
    return kind


def _text(value: Any) -> str:
    if type(value) is not str:
        raise TypeError(f"a name is {json.dumps(value, default=str)[:40]}")
    return value


def integer(value: Any) -> int:
    """A number that identifies something; some writers put such numbers into strings."""
    if isinstance(value, int):
        return int(value)
    if isinstance(value, str):
        return int(value, 0)
    raise TypeError(f"{value!r} is not a whole number")


def nanoseconds(microseconds: list[Any]) -> np.ndarray:
    """Times as whole nanoseconds, without losing any that the numbers hold."""
    if any(type(value) is Decimal for value in microseconds):
        return np.array([round(value * 1000) for value in microseconds], np.int64)
    if any(type(value) is bool or not isinstance(value, (int, float)) for value in microseconds):
        raise ValueError("a time is not a number")
    return nanoseconds_of(np.array(microseconds))


def nanoseconds_of(times: np.ndarray) -> np.ndarray:
    """The same for an array."""
    if times.dtype.kind == "f":
        if not (np.abs(times) < _LIMIT // 1000).all():
            raise ValueError("a time is too large")
        whole = np.floor(times)
        return whole.astype(np.int64) * 1000 + np.rint((times - whole) * 1000).astype(np.int64)
    if len(times) and (times.dtype.kind != "i" or int(np.abs(times).max()) >= _LIMIT // 1000):
        raise ValueError("a time is too large")
    return times.astype(np.int64) * 1000

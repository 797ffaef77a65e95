"""Traces read in C: all events of the usual form, which most are. What else there is goes through Python, event by
event.

It never has the last word on a file: whatever it cannot read, damaged or merely strange, is left to the reader in
Python, which reads it or says what is wrong. Where both read a file they give the same columns.
"""

from __future__ import annotations

import json
import os
from decimal import Decimal
from typing import Any

import numpy as np

from ..._native import native_module
from ..record.kinds import PYTHON_KINDS
from ..store.files import GZIP_ERRORS, Contents, ProfileFileError
from .collected import ROW, Collected
from .collector import DEVICES, RULES, TRACE, Collector, integer, nanoseconds_of, refined
from .json_stream import EVENTS

_native: Any = native_module("_trace_reader")
_ZERO, _QUOTE = b'0"'
_PIECE = 1 << 20  # bytes read at a time: they stay in the processor's cache
_MARK = b"\xef\xbb\xbf"  # that a file is UTF-8; it says nothing
_TYPES: dict[str, type] = {
    **dict.fromkeys(ROW[:4], np.int64),
    **dict.fromkeys(ROW[4:9], np.int32),
    **dict.fromkeys(ROW[9:], np.uint8),
}
_HOST, _PYTHON_CALL, _DEVICE = range(3)  # the codes of _native/trace/reader.h
_HOW = bytes(_DEVICE if kind in DEVICES else _PYTHON_CALL if kind in PYTHON_KINDS else _HOST for kind in range(256))
_NO_KIND = 256  # of events that Python reads


class _Declined(ValueError):
    """This reader cannot read the file. The other one may."""


_DECLINING: tuple[type[Exception], ...] = (
    KeyError,
    TypeError,
    ValueError,
    AttributeError,
    OverflowError,
    RecursionError,
    *GZIP_ERRORS,
)


def read(path: str | os.PathLike[str]) -> Collector | None:
    """The events of a trace, or None where they are for the reader in Python: in any doubt, and where nothing was
    built.
    """
    if _native is None:
        return None
    try:
        collector = _read(path, exact=False)
        return _read(path, exact=True) if collector.lost_digits else collector
    except ProfileFileError:  # too large for either reader
        raise
    except _DECLINING:
        return None


def _read(path: str | os.PathLike[str], exact: bool) -> NativeCollector:
    collector = NativeCollector(exact)
    with open(path, "rb") as raw:
        _Stream(Contents(path, raw), collector).read()
    return collector


class NativeCollector(Collector):
    """Columns in C. Texts are described here, each once."""

    def __init__(self, exact: bool) -> None:
        super().__init__()
        self.exact = exact
        self.decode = json.JSONDecoder(strict=False, parse_float=Decimal if exact else None).decode
        describe = (self._slice, self._track, self._inputs, self._stack, self._module, self._category)
        self.reader = _native.Reader(describe, self.strings, RULES, _HOW, exact)

    @property
    def lost_digits(self) -> bool:
        return bool(self.reader.lost_digits)

    def value(self, text: bytes) -> Any:
        """A JSON value, of which the native reader knows that it is one."""
        # as most ids of threads are
        if text.isdigit() and len(text) < 19 and (text[0] != _ZERO or len(text) == 1):
            return int(text)
        if text[0] == _QUOTE and b"\\" not in text:
            return text[1:-1].decode("utf-8", "surrogateescape")
        return self.decode(text.decode("utf-8", "surrogateescape"))

    # ---- what the native reader asks ------------------------------------------------------------------------

    def _slice(self, mark: int, name: bytes, _: bytes) -> int:
        """Index of a name with escapes, kind, and how such slices are read. `mark` is the kind of its category."""
        text = self.value(name)
        kind = refined(mark & 0xFF, text)
        return self.strings.setdefault(text, len(self.strings)) << 16 | kind << 8 | _HOW[kind]

    def _category(self, mark: int, category: bytes, _: bytes) -> int:
        """The kind of a category's events before their names are looked at."""
        text = self.value(category)
        return _NO_KIND if text == TRACE else int(self.kind_of_category(text))

    def _track(self, mark: int, owner: bytes, track_id: bytes) -> int:
        """Index of a track: of a slice on the CPU (mark 0), of one on a device (1), of a memory record (2)."""
        track = (self.value(owner), self.value(track_id), mark == 1)
        return self.tracks.setdefault(track, len(self.tracks))

    def _inputs(self, is_operator: int, _: bytes, members: bytes) -> int:
        return self.inputs.add(members, bool(is_operator))

    def _stack(self, mark: int, text: bytes, _: bytes) -> int:
        return self.stacks.setdefault(self.value(text), len(self.stacks))

    def _module(self, mark: int, text: bytes, _: bytes) -> int:
        return self.modules.setdefault(self.value(text), len(self.modules))

    # ---- events read in Python ------------------------------------------------------------------------------

    def _time(self, value: Any) -> int | float:
        """A time in the reader's unit."""
        if type(value) is int or (type(value) is float and not self.exact):
            return value * 1000 if self.exact else value
        if type(value) is Decimal:
            return round(value * 1000)
        raise _Declined

    def _add_slice(self, time: Any, duration: Any, row: tuple[Any, ...]) -> None:
        self.reader.add(self._time(time), self._time(duration), tuple(integer(value) for value in row))

    def _add_memory(self, time: Any, row: tuple[Any, ...]) -> None:
        self.reader.add_memory(self._time(time), tuple(integer(value) for value in row))

    # ---- the result -----------------------------------------------------------------------------------------

    def collected(self) -> Collected:
        (times, are_doubles), durations, memory_times, memory, *columns = self.reader.take()
        rows: dict[str, np.ndarray] = {name: np.frombuffer(column, _TYPES[name]) for name, column in zip(ROW, columns)}
        table = np.frombuffer(memory, np.int64).reshape(-1, 6).T
        return self._collected(
            self._nanoseconds(times, are_doubles),
            self._nanoseconds(*durations),
            rows,
            table,
            self._nanoseconds(*memory_times),
            not are_doubles and not self.exact,
        )

    def _nanoseconds(self, values: bytearray, are_doubles: bool) -> np.ndarray:
        times = np.frombuffer(values, np.float64 if are_doubles else np.int64)
        return times if self.exact else nanoseconds_of(times)


class _Stream:
    """A window of bytes that moves through the file, as that of `_json_stream` does over text."""

    def __init__(self, source: Contents, collector: NativeCollector) -> None:
        self.source, self.collector = source, collector
        self.data, self.at = source.read(_PIECE), 0

    def read(self) -> None:
        """Hands everything to the collector."""
        self.at = len(_MARK) if self.data.startswith(_MARK) else 0
        first = self._next()
        if first == b"[":
            self._events()
        elif first == b"{":
            self._members()
        else:
            raise _Declined
        if self._next():
            raise _Declined

    def _members(self) -> None:
        self.at += 1
        found = False
        while self._next(b",") != b"}":
            key = self._value()
            if not isinstance(key, str) or self._next() != b":":
                raise _Declined
            self.at += 1
            if self._next() == b"[" and key == EVENTS:
                found = True
                self._events()
            else:
                self.collector.head[key] = self._value()
        self.at += 1
        if not found:
            raise _Declined

    def _events(self) -> None:
        self.at += 1
        scan, why = self.collector.reader.scan, ""
        while why != "end":
            self.at, why = scan(self.data, self.at)
            if why == "more":
                self._read_on()
            elif why == "odd":
                self.collector.take(self._value())

    def _next(self, skipped: bytes = b"") -> bytes:
        """The next byte that is not to be skipped, or nothing at the end."""
        skipped += b" \t\r\n"
        while True:
            while (byte := self.data[self.at : self.at + 1]) and byte in skipped:
                self.at += 1
            if byte or not self._read_on(or_end=True):
                return byte

    def _value(self) -> Any:
        """The JSON value that begins here."""
        while (end := _native.value_end(self.data, self.at)) == -1:
            self._read_on()
        if end < 0:
            raise _Declined
        begin, self.at = self.at, end
        return self.collector.value(self.data[begin:end])

    def _read_on(self, or_end: bool = False) -> bool:
        """Reads more; what could not be understood so far is kept, and pieces grow with it."""
        kept = self.data[self.at :]
        too_long = self.source.too_long(len(kept))
        if too_long is not None:
            raise too_long
        piece = self.source.read(self.source.next_piece(len(kept), _PIECE))
        if not piece and not or_end:
            raise _Declined
        self.data, self.at = kept + piece, 0
        return bool(piece)

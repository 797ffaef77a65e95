"""A client of Perfetto's trace processor: loads a trace, and answers queries in SQL."""

from __future__ import annotations

import pathlib
import struct
import subprocess
from collections.abc import Iterator
from typing import Any

# Field numbers and codes of Perfetto's `trace_processor.proto`.
_MESSAGE, _SEQUENCE, _REQUEST = 1, 1, 2
_APPEND, _FINALIZE, _QUERY = 1, 2, 3
_DATA, _QUERY_ARGUMENTS, _APPEND_RESULT, _QUERY_RESULT = 101, 103, 201, 203
_NULL, _INTEGER, _FLOAT, _TEXT = 1, 2, 3, 4
_PIECE = 1 << 24


class Processor:
    """One trace, as Perfetto imports it.

    with Processor(folder_of_the_page, trace_bytes) as trace:
        trace.query("select name, dur from slice")
    """

    def __init__(self, page: pathlib.Path, trace: bytes) -> None:
        script = pathlib.Path(__file__).with_name("processor.js")
        self._node = subprocess.Popen(["node", str(script), str(page)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._asked = 0
        for at in range(0, len(trace), _PIECE):
            answer = dict(self._ask(_APPEND, _field(_DATA, trace[at : at + _PIECE])))
            refused = dict(_fields(answer[_APPEND_RESULT])).get(2)
            if refused:
                raise ValueError(refused.decode())
        list(self._ask(_FINALIZE))

    def __enter__(self) -> Processor:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._node.stdin is not None and self._node.stdout is not None
        self._node.stdin.close()
        self._node.wait()
        self._node.stdout.close()

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        """The rows of the answer."""
        names, cells, is_last = 0, [], False
        answers = self._ask(_QUERY, _field(_QUERY_ARGUMENTS, _field(1, sql.encode())))
        while not is_last:
            for number, value in answers:
                for part, content in _fields(value) if number == _QUERY_RESULT else ():
                    if part == 1:
                        names += 1
                    elif part == 2:
                        raise ValueError(content.decode())
                    elif part == 3:
                        batch = dict(_fields(content))
                        cells += _cells(batch)
                        is_last = bool(batch.get(6))
            if not is_last:
                answers = self._answer()
        return [tuple(cells[at : at + names]) for at in range(0, len(cells), names)]

    def _ask(self, request: int, argument: bytes = b"") -> Iterator[tuple[int, Any]]:
        self._asked += 1
        message = _field(_MESSAGE, _field(_SEQUENCE, self._asked) + _field(_REQUEST, request) + argument)
        assert self._node.stdin is not None
        self._node.stdin.write(struct.pack("<I", len(message)) + message)
        self._node.stdin.flush()
        return self._answer()

    def _answer(self) -> Iterator[tuple[int, Any]]:
        assert self._node.stdout is not None
        length = self._node.stdout.read(4)
        if len(length) < 4:
            raise RuntimeError("the trace processor ended; what it said stands above")
        for _, message in list(_fields(self._node.stdout.read(*struct.unpack("<I", length)))):
            yield from _fields(message)


def _cells(batch: dict[int, Any]) -> list[Any]:
    integers = iter([number - (number >> 63 << 64) for number in _varints(batch.get(2, b""))])
    floats = iter(struct.unpack(f"<{len(batch.get(3, b'')) // 8}d", batch.get(3, b"")))
    texts = iter(batch.get(5, b"").decode().split("\0"))
    values = {_NULL: iter(lambda: None, 0), _INTEGER: integers, _FLOAT: floats, _TEXT: texts}
    return [next(values[kind]) for kind in batch.get(1, b"")]


def _varint(number: int) -> bytes:
    made = bytearray()
    while number > 127:
        made.append(number & 127 | 128)
        number >>= 7
    return bytes([*made, number])


def _varints(data: bytes) -> Iterator[int]:
    number = shift = 0
    for byte in data:
        number |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            yield number
            number = shift = 0


def _field(number: int, value: int | bytes) -> bytes:
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    return _varint(number << 3 | 2) + _varint(len(value)) + value


def _fields(data: bytes) -> Iterator[tuple[int, Any]]:
    """Numbers and contents of a message's fields; of a repeated one, each."""
    at = 0

    def varint() -> int:
        nonlocal at
        end = at + 1
        while data[end - 1] > 127:
            end += 1
        (number,), at = _varints(data[at:end]), end
        return number

    while at < len(data):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
            continue
        size = {1: 8, 5: 4}.get(key & 7) or varint()
        yield key >> 3, data[at : at + size]
        at += size

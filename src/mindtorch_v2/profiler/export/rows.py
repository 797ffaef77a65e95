"""Lines of text made from columns, many at a time: in C, or by a Python fallback with the same output.

A line is a sequence of segments, the same for all lines of a group:

    b"..."        the bytes as they are
    Pick          one of a table's texts
    Number        a number
    Micro         nanoseconds as microseconds with three decimals: in integers, so that no digit is lost
    When          segments that only some lines have
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..._native import native_module

SEPARATOR = b",\n"
_TEXT, _PICK, _NUMBER, _MICRO, _IF = range(5)  # the codes of _native/trace/writer.c
_THREE_DIGITS = [f"{digits:03d}" for digits in range(1000)]  # looking them up is faster than formatting them

_native: Any = native_module("_trace_writer")


def is_native() -> bool:
    """Whether lines are made by the native writer."""
    return _native is not None


class Texts:
    """A table of ASCII texts that lines choose from."""

    def __init__(self, texts: Iterable[str]) -> None:
        self.texts = list(texts)

    @cached_property
    def packed(self) -> tuple[bytes, np.ndarray]:
        """All texts in one, and where each begins; the last offset is the end."""
        offsets = np.zeros(len(self.texts) + 1, np.int64)
        np.cumsum([len(text) for text in self.texts], out=offsets[1:])
        return "".join(self.texts).encode("ascii"), offsets


@dataclass(frozen=True)
class Pick:
    table: Texts
    index: np.ndarray


@dataclass(frozen=True)
class Number:
    values: np.ndarray


@dataclass(frozen=True)
class Micro:
    times_ns: np.ndarray


@dataclass(frozen=True)
class When:
    mask: np.ndarray
    segments: tuple[Segment, ...]


Segment = bytes | Pick | Number | Micro | When
_MOST_NATIVE = 64  # MAX_SEGMENTS of _native/trace/writer.c


def format_rows(segments: Sequence[Segment], count: int) -> bytes:
    """`count` lines with a comma and a newline between them."""
    packed = tuple(_for_native(segments)) if _native is not None else ()
    if 0 < len(packed) <= _MOST_NATIVE:  # more where one operator has very many arrows
        return _native.format_rows(packed, count, SEPARATOR)
    return SEPARATOR.decode().join(_lines(segments, count)).encode("ascii")


def _for_native(segments: Sequence[Segment]) -> Iterable[tuple[Any, ...]]:
    """The flat form that the native writer reads: a condition is followed by what it covers.

    Texts that follow each other are one.
    """
    text = b""
    for segment in segments:
        if isinstance(segment, bytes):
            text += segment
            continue
        if text:
            yield _TEXT, text
            text = b""
        if isinstance(segment, Pick):
            yield _PICK, np.ascontiguousarray(segment.index, np.int32), *segment.table.packed
        elif isinstance(segment, Number):
            yield _NUMBER, np.ascontiguousarray(segment.values, np.int64)
        elif isinstance(segment, Micro):
            yield _MICRO, np.ascontiguousarray(segment.times_ns, np.int64)
        else:
            covered = list(_for_native(segment.segments))
            yield _IF, np.ascontiguousarray(segment.mask, bool), len(covered)
            yield from covered
    if text:
        yield _TEXT, text


def _lines(segments: Sequence[Segment], count: int) -> list[str]:
    """The fallback without the native writer: one template for all lines."""
    template, columns = [], []
    for segment in segments:
        if isinstance(segment, bytes):
            template.append(segment.decode("ascii").replace("%", "%%"))
        elif isinstance(segment, Number):
            template.append("%d")
            columns.append(segment.values.tolist())
        elif isinstance(segment, Micro):
            template.append("%d.%s")
            columns += _split(segment.times_ns)
        else:
            template.append("%s")
            columns.append(_pick_texts(segment) if isinstance(segment, Pick) else _where(segment, count))
    text = "".join(template)
    return [text % values for values in zip(*columns)] if columns else [text % ()] * count


def _pick_texts(segment: Pick) -> list[str]:
    texts = segment.table.texts
    return [texts[i] for i in segment.index.tolist()]


def _where(segment: When, count: int) -> list[str]:
    """The texts of the lines that have these segments, and nothing for the others."""
    rows = np.flatnonzero(segment.mask)
    texts = [""] * count
    if len(rows):
        for row, text in zip(rows.tolist(), _lines([taken(part, rows) for part in segment.segments], len(rows))):
            texts[row] = text
    return texts


def taken(segment: Segment, rows: np.ndarray) -> Segment:
    """A segment for some of the lines."""
    if isinstance(segment, bytes):
        return segment
    if isinstance(segment, Pick):
        return Pick(segment.table, segment.index[rows])
    if isinstance(segment, Number):
        return Number(segment.values[rows])
    if isinstance(segment, Micro):
        return Micro(segment.times_ns[rows])
    return When(segment.mask[rows], tuple(taken(part, rows) for part in segment.segments))


def _split(times_ns: np.ndarray) -> tuple[list[int], list[str]]:
    """Whole microseconds and the decimals."""
    whole, rest = np.divmod(times_ns, 1000)
    return whole.tolist(), [_THREE_DIGITS[i] for i in rest.tolist()]


def microseconds(time_ns: int) -> str:
    """A single time, as `Micro` writes it."""
    whole, rest = divmod(time_ns, 1000)
    return f"{whole}.{rest:03d}"

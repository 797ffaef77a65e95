"""Reading a trace's JSON piece by piece: one event at a time is in memory, not the whole file."""

from __future__ import annotations

import io
import json
import os
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, Literal, cast

from ..store.files import GZIP_ERRORS, Contents, ProfileFileError

EVENTS = "traceEvents"
_PIECE = 1 << 22  # characters read at a time
_UNCERTAIN = 16  # an error so close to the end of what has been read may be due to that end
_SPACE = re.compile(r"[ \t\r\n]*")
_SPACE_OR_COMMA = re.compile(r"[ \t\r\n,]*")

Item = tuple[Literal["event", "member"], str, Any]


def read_trace(path: str | os.PathLike[str], exact: bool = False) -> Iterator[Item]:
    """What a trace file holds, in its order: ("event", "", an event) and ("member", key, any other value of the
    object).

    The file is an object with the list "traceEvents", or such a list alone; it may be compressed. With `exact`,
    numbers that are not whole are Decimals. ProfileFileError for what is not such a file.
    """
    with open(path, "rb") as raw:
        try:
            contents = Contents(path, raw)
            text = io.TextIOWrapper(cast(Any, contents), "utf-8-sig", errors="surrogateescape", newline="")
            yield from _Stream(path, text, exact, contents).items()
        except GZIP_ERRORS as error:
            raise ProfileFileError(path, f"its compressed data is damaged or incomplete ({error})") from error


class _Stream:
    """A window of text that moves through the file."""

    def __init__(
        self, path: str | os.PathLike[str], source: io.TextIOBase | io.TextIOWrapper, exact: bool, contents: Contents
    ) -> None:
        self.path, self.source, self.contents = path, source, contents
        self.text, self.at, self.passed = "", 0, 0
        self.at_end = False
        decoder: Any = json.JSONDecoder(strict=False, parse_float=Decimal if exact else None)
        self.scan = decoder.scan_once

    def items(self) -> Iterator[Item]:
        first = self._peek(_SPACE)
        if first == "[":
            yield from self._events()
        elif first == "{":
            yield from self._members()
        else:
            raise ProfileFileError(self.path, "is neither a saved profile nor a trace in JSON" if first else "is empty")
        if self._peek(_SPACE):
            raise self._error("something follows the end of the trace")

    def _members(self) -> Iterator[Item]:
        self.at += 1
        found = False
        while self._peek(_SPACE_OR_COMMA) != "}":
            key = self._value()
            if not isinstance(key, str) or self._peek(_SPACE) != ":":
                raise self._error("a key was expected here")
            self.at += 1
            if key == EVENTS and self._peek(_SPACE) == "[":
                found = True
                yield from self._events()
            else:
                self._peek(_SPACE)
                yield "member", key, self._value()
        self.at += 1
        if not found:
            raise ProfileFileError(self.path, f'is JSON, but no trace: it has no list "{EVENTS}"')

    def _events(self) -> Iterator[Item]:
        self.at += 1
        while self._peek(_SPACE_OR_COMMA) != "]":
            yield "event", "", self._value()
        self.at += 1

    def _peek(self, skipped: re.Pattern[str]) -> str:
        """The next character that is not to be skipped, or "" at the end."""
        while True:
            found = skipped.match(self.text, self.at)
            assert found is not None  # the patterns match nothing too
            self.at = found.end()
            if self.at < len(self.text):
                return self.text[self.at]
            if not self._read_on():
                return ""

    def _value(self) -> Any:
        """The JSON value that begins here."""
        while True:
            try:
                value, end = self.scan(self.text, self.at)
            except StopIteration as stop:
                problem, position = "a value was expected", stop.value
            except json.JSONDecodeError as error:
                problem, position = (
                    error.msg,
                    len(self.text) if error.msg.startswith("Unterminated string") else error.pos,
                )
            except RecursionError:
                raise self._error("values are nested too deeply") from None
            # not of the form, but of what it stands for: a number of thousands of digits
            except ValueError as error:
                raise self._error(str(error).partition(";")[0]) from None
            else:
                if end < len(self.text) or not self._read_on():  # a number may go on after what has been read
                    self.at = end
                    return value
                continue
            if position < len(self.text) - _UNCERTAIN or not self._read_on():
                if self.at_end and position >= len(self.text) - _UNCERTAIN:
                    problem = f"the file ends in the middle of a value: {problem}"
                self.at = min(position, len(self.text))
                raise self._error(problem)

    def _read_on(self) -> bool:
        """Reads more text; False at the end of the file. What could not be understood so far is kept, so pieces grow
        with it: a value of any size takes a time that grows only linearly with it.
        """
        kept = len(self.text) - self.at
        too_long = self.contents.too_long(kept)
        if too_long is not None:
            raise too_long
        piece = self.source.read(self.contents.next_piece(kept, _PIECE)) if not self.at_end else ""
        if not piece:
            self.at_end = True
            return False
        self.passed += self.at
        self.text, self.at = self.text[self.at :] + piece, 0
        return True

    def _error(self, problem: str) -> ProfileFileError:
        here = self.text[self.at : self.at + 30]
        return ProfileFileError(
            self.path,
            f"is not valid JSON at character {self.passed + self.at}{f' ({here!r})' if here else ''}: {problem}",
        )

"""Saying on a terminal how far something has come that takes longer than a second."""

from __future__ import annotations

import sys
import time
from types import TracebackType

_QUIET_SECONDS = 1.0
_BETWEEN_SECONDS = 0.2


class Progress:
    """`with Progress("writing x", 100) as p: p.advance(10)`. Nothing is printed where stderr is not a terminal; what
    was printed is erased at the end.
    """

    def __init__(self, label: str, total: int) -> None:
        self._label, self._total = label, max(total, 1)
        self._done = 0
        self._has_printed = False
        self._next = time.monotonic() + _QUIET_SECONDS
        self._terminal = sys.stderr if sys.stderr is not None and sys.stderr.isatty() else None

    def __enter__(self) -> Progress:
        return self

    def advance(self, count: int) -> None:
        self._done += count
        if self._terminal is not None and time.monotonic() >= self._next:
            self._next = time.monotonic() + _BETWEEN_SECONDS
            self._has_printed = True
            self._terminal.write(f"\r{self._label}: {min(self._done * 100 // self._total, 100)}%")
            self._terminal.flush()

    def __exit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> None:
        if self._terminal is not None and self._has_printed:
            self._terminal.write("\r" + " " * (len(self._label) + 6) + "\r")
            self._terminal.flush()

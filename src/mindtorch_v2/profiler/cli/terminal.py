"""Text for a terminal: colour and bars where there is one, plain text in a pipe."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from typing import IO, Any

from ..analysis.formatting import _format_memory, _format_time, printable

_CODES = {
    "bold": "1",
    "dim": "2",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "blue": "34",
    "magenta": "35",
    "cyan": "36",
}
_EIGHTHS = " ▏▎▍▌▋▊▉█"


class Terminal:
    """Where the answer is written. `plain` is True in a pipe, with NO_COLOR, and on a terminal that is dumb."""

    def __init__(self, out: IO[str] | None = None) -> None:
        self.out = sys.stdout if out is None else out
        is_terminal = self.out.isatty()
        self.plain = not is_terminal or "NO_COLOR" in os.environ or os.environ.get("TERM") == "dumb"
        if os.environ.get("FORCE_COLOR"):
            self.plain = False
        self.width = shutil.get_terminal_size((100, 24)).columns if is_terminal else 100

    def style(self, text: str, *names: str) -> str:
        if self.plain or not names:
            return text
        return f"\x1b[{';'.join(_CODES[name] for name in names)}m{text}\x1b[0m"

    def bar(self, share: float, width: int = 18) -> str:
        """A bar of so many characters for a share of the whole; nothing in a pipe."""
        if self.plain:
            return ""
        eighths = max(0, min(round(share * width * 8), width * 8))
        text = "█" * (eighths // 8) + (_EIGHTHS[eighths % 8] if eighths % 8 else "")
        return " " + self.style(text.ljust(width), "blue")

    def title(self, text: str) -> None:
        self.line()
        self.line(self.style(text, "bold"))

    def line(self, text: str = "") -> None:
        self.out.write(text + "\n")

    def rows(self, heads: tuple[str, ...], rows: Sequence[tuple[str, ...]], share: list[float] | None = None) -> None:
        """A table: the first column is text, cut to what is left of the width; the others are numbers."""
        widths = [max([len(head), *(len(row[i + 1]) for row in rows)]) for i, head in enumerate(heads[1:])]
        bars = 19 if share is not None and not self.plain else 0
        room = max(20, min(self.width - sum(widths) - 2 * len(widths) - 2 - bars, 70))
        cells = [(cut(printable(row[0]), room), *row[1:]) for row in rows]
        room = max([len(heads[0]), *(len(row[0]) for row in cells)])

        def text(row: tuple[str, ...]) -> str:
            return "  " + row[0].ljust(room) + "".join("  " + cell.rjust(w) for cell, w in zip(row[1:], widths))

        self.line(self.style(text(heads), "dim"))
        for i, row in enumerate(cells):
            self.line(text(row) + (self.bar(share[i]) if share is not None else ""))


def cut(text: str, room: int) -> str:
    """A text that fits, with its beginning and its end."""
    if len(text) <= room:
        return text
    head = (room - 1) * 2 // 3
    return text[:head] + "…" + text[len(text) - (room - 1 - head) :]


def time(nanoseconds: float) -> str:
    return _format_time(nanoseconds / 1000)


def size(nbytes: int) -> str:
    return _format_memory(nbytes)


def percent(share: float) -> str:
    return f"{share:.1%}"


def warn(message: Any) -> None:
    """A line beside the answer."""
    print(f"mindprof: {printable(str(message))}", file=sys.stderr)

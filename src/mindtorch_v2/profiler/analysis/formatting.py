"""Numbers as PyTorch prints them: times, shares, bytes, and the scale of FLOP counts."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Any

_TIME_UNITS = {"us": (1.0, "us"), "ms": (1e3, "ms"), "s": (1e6, "s")}
_FLOP_UNITS = ("FLOPs", "KFLOPs", "MFLOPs", "GFLOPs", "TFLOPs", "PFLOPs")


def _format_time(time_us: float) -> str:
    """Microseconds in the largest unit that leaves at least one whole digit, with three decimals."""
    if time_us >= 1e6:
        return f"{time_us / 1e6:.3f}s"
    if time_us >= 1e3:
        return f"{time_us / 1e3:.3f}ms"
    return f"{time_us:.3f}us"


def format_time_in(time_us: float, unit: str | None) -> str:
    """Microseconds in the unit asked for ("s", "ms" or "us"); any other value leaves the choice to `_format_time`."""
    if unit not in _TIME_UNITS:
        return _format_time(time_us)
    scale, suffix = _TIME_UNITS[unit]
    return f"{time_us / scale:.3f}{suffix}"


def _format_time_share(time_us: float, total_time_us: float) -> str:
    """Part of a whole in percent. Of nothing, only nothing can be a part: then "NaN"."""
    if total_time_us == 0:
        if time_us != 0:
            raise AssertionError(f"Expected time_us == 0 but got {time_us}")
        return "NaN"
    return f"{time_us * 100.0 / total_time_us:.2f}%"


def _format_memory(nbytes: int) -> str:
    """A signed number of bytes in binary units."""
    for power, unit in ((30, "GB"), (20, "MB"), (10, "KB")):
        if abs(nbytes) >= 1 << power:
            return f"{nbytes / (1 << power):.2f} {unit}"
    return f"{nbytes} B"


def flops_scale(flops: Iterable[int]) -> tuple[float, str]:
    """`(factor, unit)` for a column of FLOP counts, from the smallest positive one.

    The counts must contain a positive one.
    """
    smallest = min(value for value in flops if value > 0)
    index = min(max(math.floor(math.log10(smallest) / 3), 0), len(_FLOP_UNITS) - 1)
    return 10.0 ** (-3 * index), _FLOP_UNITS[index]


def _attr_formatter(name: str) -> property:
    """A property that shows the time attribute `name` as text."""
    return property(lambda self: _format_time(getattr(self, name)))


# Control characters, separators of lines, what reverses the direction of writing, and halves of characters.
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str) -> str:
    """A text that stays on its line and leaves the terminal alone: other characters are written as Python writes
    them in strings.
    """
    return text if text.isprintable() else _UNPRINTABLE.sub(lambda found: repr(found.group())[1:-1], text)


def cell_text(value: Any) -> str:
    """How a value is spelt inside a table cell or a grouping key: its `str`, or nothing for None."""
    return "" if value is None else str(value)

"""The clock that every time of a profile is read from. Tests replace it with another one; nothing sleeps."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

ALIGNMENT_KEY = "clockAlignment"  # of what a process of a job tells about its clock


class Clock(Protocol):
    """Nanoseconds that never go backwards, and how far they stand from Unix time."""

    now: Callable[[], int]

    def epoch_offset(self) -> int:
        """What to add to `now()` for nanoseconds since 1970."""


class SystemClock:
    """The processor's monotonic clock."""

    now = staticmethod(time.perf_counter_ns)

    def epoch_offset(self) -> int:
        """Measured between two readings of the monotonic clock; the narrowest of a few tries counts."""
        best_width, best_offset = None, 0
        for _ in range(3):
            before = time.perf_counter_ns()
            unix = time.time_ns()
            after = time.perf_counter_ns()
            if best_width is None or after - before < best_width:
                best_width, best_offset = after - before, unix - (before + after) // 2
        return best_offset


_current: Clock = SystemClock()


def current() -> Clock:
    """The clock in force."""
    return _current


@contextmanager
def use(clock: Clock) -> Iterator[Clock]:
    """Profiles started inside the block read this clock."""
    global _current
    previous, _current = _current, clock
    try:
        yield clock
    finally:
        _current = previous

"""How quickly the machine ran while something was recorded: a fixed piece of work, timed between the steps.

A step that takes longer than that of another run may have changed, or its machine ran slower: processes on the other
half of a core, a lower clock. The fixed piece of work becomes slower with the machine, but not with the program.
"""

from __future__ import annotations

import functools
import sys
import threading
import time
import zlib
from collections.abc import Callable
from typing import NamedTuple

from . import clock

_ROUNDS = 150  # of the interpreter's loop: 5 us
_BYTES = bytes(1 << 14)  # that are summed in C: 5 us
_INTERVAL = 100  # times as long as a reading takes pass until the next: one percent of the time, between steps
MOST_READINGS = 4096  # twice as many are thinned out to so many


class SpeedReading(NamedTuple):
    """When, how much processor time the fixed piece of work took on its thread, and how much the whole process had used
    before it."""

    time_ns: int
    work_ns: int
    process_ns: int


def fixed_work() -> None:
    """Half interpreter, half C, as the work of a training loop. It allocates nothing that is collected as garbage."""
    total = 0
    for i in range(_ROUNDS):
        total += i * i
    zlib.crc32(_BYTES)


@functools.cache
def yardstick_name() -> str:
    """Readings of equal names can be compared: the same interpreter on the same kind of processor."""
    return f"{_processor()}; Python {sys.version}; zlib {zlib.ZLIB_RUNTIME_VERSION}; {_ROUNDS}"


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            return next((line.partition(":")[2].strip() for line in file if line.startswith("model name")), "")
    except OSError:
        return ""


class Clocks(NamedTuple):
    """What is read: the profile's clock, and the processor time of the calling thread and of the process."""

    now: Callable[[], int] = time.perf_counter_ns
    thread: Callable[[], int] = time.thread_time_ns
    process: Callable[[], int] = time.process_time_ns


_SYSTEM = Clocks()


class Yardstick:
    """Readings on the thread that makes it. `read` is called where nothing is measured, and reads only now and then."""

    def __init__(self, clocks: Clocks = _SYSTEM, work: Callable[[], None] = fixed_work) -> None:
        self.readings: list[SpeedReading] = []
        self._clocks, self._work = clocks, work
        self._thread = threading.get_ident()
        self._next_ns = 0
        self._interval = _INTERVAL

    @property
    def name(self) -> str:
        """What the readings can be compared with; "" where there are none."""
        return yardstick_name() if self.readings else ""

    def read(self) -> None:
        """Takes a reading if the last one is long enough ago. Other threads take none."""
        clocks = self._clocks
        begin = clocks.now()
        if begin < self._next_ns or threading.get_ident() != self._thread:
            return
        process = clocks.process()
        took = min(self._timed(), self._timed())  # the first one fills caches that the step has emptied
        self.readings.append(SpeedReading(begin, took, process))
        if len(self.readings) >= 2 * MOST_READINGS:
            self.readings = self.readings[::2]
            self._interval *= 2
        self._next_ns = clocks.now() + self._interval * 2 * took

    def _timed(self) -> int:
        begin = self._clocks.thread()
        self._work()
        return self._clocks.thread() - begin


class _NoYardstick(Yardstick):
    """Reads nothing."""

    def read(self) -> None:
        """Nothing."""


NO_YARDSTICK = _NoYardstick()


def yardstick_of(is_wanted: bool) -> Yardstick:
    """One for the calling thread, where it is wanted and the profile's clock is the system's."""
    return Yardstick() if is_wanted and isinstance(clock.current(), clock.SystemClock) else NO_YARDSTICK

"""How much a machine did beside a recording: what tells a program that became slower from one that was disturbed."""

from __future__ import annotations

import os
import threading
import time
from typing import NamedTuple

OTHERS, DELAY, SLICES = "others", "delay", "slices"
_IDLE_COLUMNS = (3, 4)  # of the first line of /proc/stat: idle, waiting for disks
_COLUMNS = 8  # user to steal; what follows is part of them


class LoadReading(NamedTuple):
    """Counters since the machine, the process and the thread began. Times are nanoseconds; `total_ticks` and
    `busy_ticks` are those of all processors together."""

    time_ns: int
    process_ns: int
    delay_ns: int
    slices: int
    busy_ticks: int
    total_ticks: int
    thread: int


def read_load(thread: int | None = None) -> LoadReading | None:
    """The counters now, with the delay of a thread (its id of the system; the calling one where none is given). None
    where the system does not have them."""
    thread = threading.get_native_id() if thread is None else thread
    try:
        with open("/proc/stat", "rb") as file:
            ticks = [int(text) for text in file.readline().split()[1 : 1 + _COLUMNS]]
        with open(f"/proc/self/task/{thread}/schedstat", "rb") as file:
            delay, slices = (int(text) for text in file.read().split()[1:3])
    except (OSError, ValueError, IndexError):
        return None
    if len(ticks) <= max(_IDLE_COLUMNS):
        return None
    idle = sum(ticks[i] for i in _IDLE_COLUMNS)
    return LoadReading(
        time.monotonic_ns(), time.process_time_ns(), delay, slices, sum(ticks) - idle, sum(ticks), thread
    )


def load_between(begin: LoadReading | None, end: LoadReading | None) -> dict[str, float]:
    """What happened between two readings: `others` is the share of all processors' time that other processes had,
    `delay` the share of the time that the thread could have run but was not let, `slices` how often it began to run.
    Empty where nothing is known."""
    if begin is None or end is None or end.time_ns <= begin.time_ns:
        return {}
    tick_s = 1 / os.sysconf("SC_CLK_TCK")
    whole = (end.total_ticks - begin.total_ticks) * tick_s
    own = (end.process_ns - begin.process_ns) / 1e9
    others = (end.busy_ticks - begin.busy_ticks) * tick_s - own
    delay = (end.delay_ns - begin.delay_ns) / (end.time_ns - begin.time_ns)
    return {
        OTHERS: round(min(max(others / whole, 0.0), 1.0), 4) if whole > 0 else 0.0,
        DELAY: round(min(max(delay, 0.0), 1.0), 4),
        SLICES: float(end.slices - begin.slices),
    }


class MachineLoad:
    """The load of the machine between `start` and `stop`, as `load_between` gives it; `shares` is empty before, and
    where it is not wanted."""

    def __init__(self, is_wanted: bool) -> None:
        self.is_wanted = is_wanted
        self.shares: dict[str, float] = {}
        self._begin: LoadReading | None = None

    def start(self) -> None:
        """From now on; what is delayed is the calling thread."""
        self._begin = read_load() if self.is_wanted else None

    def stop(self) -> None:
        """Until now; once. Any thread may call it."""
        begin, self._begin = self._begin, None
        if begin is not None:
            self.shares = load_between(begin, read_load(begin.thread))

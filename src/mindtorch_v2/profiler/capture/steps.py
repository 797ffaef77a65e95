"""The steps of a running program, told by its optimizer: how many, how long they usually take, and which are slow."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from statistics import median
from typing import Any

from ..._storage import native

_KEPT = 1 << 14  # ends of steps that are remembered
_LENGTHS = 64  # of the last steps, whose median is the usual one
_LEAST = 20  # steps before any is called slow
_LEAST_EXCESS_NS = 20_000_000  # what is slow takes at least so much longer: less is the system's doing
_PATIENCE = 8  # steps of other optimizers in a row until another one counts


class PythonStepClock:
    """Counts the steps of one optimizer (of several, the one that steps first; where it stops, another). `limit_ns` is
    the length from which on a step is slow, 0 where none is; once `turn_ns` has come, the end of a step calls
    `turn(time)`."""

    def __init__(self, clock: Callable[[], int] | None, turn: Callable[[int], Any] | None) -> None:
        from time import perf_counter_ns

        self.count = self.slow_count = self.slow_step = self.slow_ns = 0
        self.limit_ns = self.turn_ns = 0
        self._clock, self._turn = clock or perf_counter_ns, turn
        self._ends: deque[tuple[int, int]] = deque(maxlen=_KEPT)
        self._last_ns = self._strangers = 0
        self._leader = -1

    def _leads(self, optimizer: Any) -> bool:
        if id(optimizer) == self._leader:
            self._strangers = 0
            return True
        self._strangers += 1
        if self._leader >= 0 and self._strangers <= _PATIENCE:
            return False
        self._leader, self._strangers, self._last_ns = id(optimizer), 0, 0
        return True

    def end_step(self, optimizer: Any) -> None:
        """A step of this optimizer has ended."""
        if not self._leads(optimizer):
            return
        now = self._clock()
        if self._last_ns and 0 < self.limit_ns < now - self._last_ns:
            self.slow_count += 1
            self.slow_step, self.slow_ns = self.count, now - self._last_ns
        self._ends.append((now, self.count))
        self.count += 1
        self._last_ns = now
        if now >= self.turn_ns and self._turn is not None:
            self._turn(now)

    def ends(self, most: int) -> list[tuple[int, int]]:
        """(time, number) of the last steps, oldest first."""
        return list(self._ends)[-most:] if most > 0 else []


StepClock: Any = PythonStepClock if native is None else native.StepClock


def usual_length(ends: list[tuple[int, int]]) -> int:
    """The median length of the last steps, given by their ends; 0 where too few are known."""
    last = [time for time, _ in ends[-_LENGTHS - 1 :]]
    return int(median(b - a for a, b in zip(last, last[1:]))) if len(last) >= _LEAST else 0


def slow_limit(usual_ns: int, factor: float) -> int:
    """From which length on a step is slow; 0 where none is."""
    return int(max(usual_ns * factor, usual_ns + _LEAST_EXCESS_NS)) if usual_ns and factor else 0

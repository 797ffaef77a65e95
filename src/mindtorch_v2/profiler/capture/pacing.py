"""How much a recorder that is always on may record: so much that the program stays within a share of its speed."""

from __future__ import annotations

import time
from dataclasses import dataclass

from ..._guarded import guarded
from ..record.recorder import recorder
from ..record.session import Session

GO_ON, SPLIT, PAUSE = "go on", "split", "pause"
_SEGMENT_COST_NS = 500_000  # to end a segment and to begin the next
_OPERATOR_FACTOR = 1.5  # an operator's event costs more than the scope that is timed


@dataclass(frozen=True)
class Pace:
    """The rule. Times are nanoseconds.

    share       the part of the program's time that recording may take
    event_ns    what one event costs
    probe_ns    a segment lasts at least as long, before it is looked at
    segment_ns  and at most about as long: then the next one begins
    """

    share: float
    event_ns: float
    probe_ns: int = 50_000_000
    segment_ns: int = 1_000_000_000

    def decide(self, elapsed_ns: int, events: int) -> tuple[str, int]:
        """What to do with a segment that has lasted `elapsed_ns` and has so many events, and after how many
        nanoseconds, counted from the segment's beginning, to ask again. A program that makes more events than the share
        pays for is recorded part of the time."""
        if elapsed_ns < self.probe_ns:
            return GO_ON, self.probe_ns
        affordable = int((events * self.event_ns + _SEGMENT_COST_NS) / self.share)
        if affordable > max(elapsed_ns, self.segment_ns):
            return PAUSE, affordable
        if elapsed_ns >= self.segment_ns:
            return SPLIT, 0
        return GO_ON, min(elapsed_ns + self.probe_ns, self.segment_ns)


def measured_event_ns() -> float:
    """What one event costs on this machine, in nanoseconds; takes about a millisecond."""
    return max(_Probe().best_scope_ns() * _OPERATOR_FACTOR, 1.0)


class _Probe:
    """A window in which events are made to see what they cost; whatever ends the measurement, it is gone."""

    def __init__(self) -> None:
        from ..record.descriptions import Options

        self._session = Session(Options(), warming=True)

    @guarded("_end")
    def best_scope_ns(self) -> float:
        self._session.start()
        best = min(_scope_ns() for _ in range(5))
        self._end()
        return best

    def _end(self) -> None:
        self._session.discard()


def _scope_ns(count: int = 100) -> float:
    start = time.perf_counter_ns()
    for _ in range(count):
        recorder.enter_scope("mindprof")
        recorder.leave()
    return (time.perf_counter_ns() - start) / count

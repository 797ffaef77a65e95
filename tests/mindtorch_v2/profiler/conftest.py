"""What the profiler's tests share: a clock that ticks when it is read, and short forms of a store's rows."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from mindtorch_v2.profiler.record import clock as clocks


class TickingClock:
    """Advances by `step` nanoseconds at each reading. Reading it calls no Python function, so it leaves no frames."""

    def __init__(self, step: int = 10) -> None:
        self.now = itertools.count(step, step).__next__

    def epoch_offset(self) -> int:
        return 1_000_000


@pytest.fixture
def clock() -> Iterator[TickingClock]:
    with clocks.use(TickingClock()) as made:
        yield made

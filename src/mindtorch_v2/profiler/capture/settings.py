"""What a flight recorder was asked for."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class FlightSettings:
    """The settings of a flight recorder, checked; `flight_recorder` describes them."""

    seconds: float = 30.0
    directory: str = "."
    max_events: int = 1_000_000
    overhead: float = 0.01
    slow_step: float = 5.0
    watchdog: float = 300.0
    max_dumps: int = 5
    record_shapes: bool = False
    profile_memory: bool = False
    with_stack: bool = False
    with_modules: bool = False
    signals: tuple[int, ...] = tuple(
        int(getattr(signal, name)) for name in ("SIGUSR2", "SIGTERM") if hasattr(signal, name)
    )

    def __post_init__(self) -> None:
        _check("seconds", self.seconds, self.seconds > 0, "a positive number of seconds")
        _check("max_events", self.max_events, self.max_events >= 1000, "at least 1000")
        _check("overhead", self.overhead, 0 < self.overhead <= 1, "a share of the time, between 0 and 1")
        _check(
            "slow_step", self.slow_step, self.slow_step == 0 or self.slow_step > 1, "more than 1, or 0 to switch it off"
        )
        _check("watchdog", self.watchdog, self.watchdog >= 0, "a number of seconds, or 0 to switch it off")
        _check("max_dumps", self.max_dumps, self.max_dumps >= 0, "0 or more")
        _check("directory", self.directory, os.path.isdir(self.directory), "a folder that exists")


def _check(name: str, value: Any, is_good: bool, expected: str) -> None:
    if not is_good:
        raise ValueError(f"flight_recorder: {name} is {value!r}, expected {expected}")

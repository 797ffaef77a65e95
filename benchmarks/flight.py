"""What does a flight recorder cost a training step?

Stretches of steps without and with the recorder take turns, a few seconds each. The mean processor time of a step on
the thread that trains counts, because the recorder works in bursts.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from typing import Any

import training_steps

import common  # noqa: F401 - one thread

SECONDS, ROUNDS = 3.0, 6
LIMIT = 0.02


def _stretch(step: Callable[[], None], seconds: float) -> list[float]:
    """Microseconds of the calling thread per step, of fifty steps at a time."""
    bursts = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        begun = time.thread_time()
        for _ in range(50):
            step()
        bursts.append((time.thread_time() - begun) / 50 * 1e6)
    return bursts


def _trimmed(values: list[float]) -> float:
    """The mean without the slowest tenth, which the machine's other users made."""
    kept = sorted(values)[: max(1, len(values) * 9 // 10)]
    return statistics.fmean(kept)


def measure() -> list[dict[str, Any]]:
    import mindtorch_v2 as torch

    step = training_steps.mlp(torch)
    _stretch(step, 1.0)
    off: list[float] = []
    on: list[float] = []
    shares = []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(ROUNDS):
            off += _stretch(step, SECONDS)
            with torch.profiler.flight_recorder(directory=folder, slow_step=0) as flight:
                _stretch(step, 1.0)
                on += _stretch(step, SECONDS)
                shares.append(flight.status()["recorded_share"])
    added = _trimmed(on) / _trimmed(off) - 1
    return [
        {
            "what": f"flight recorder on the MLP step ({statistics.median(shares):.0%} of the time recorded)",
            "torch": None,
            "mindtorch_v2": round(100 * added, 3),
            "unit": "%",
            "ratio": None,
            "at_most": 100 * LIMIT,
            "ok": added <= LIMIT,
        }
    ]


if __name__ == "__main__":
    print(*measure(), sep="\n")

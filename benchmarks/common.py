"""Measuring two implementations in one run: interleaved repeats, the best of each, one thread."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable
from typing import Any

for _variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")


def implementations() -> dict[str, Any]:
    """PyTorch and this package, both with one thread."""
    import torch

    import mindtorch_v2

    torch.set_num_threads(1)
    return {"torch": torch, "mindtorch_v2": mindtorch_v2}


def best_of(
    calls: dict[str, Callable[[], Any]],
    seconds: float = 2.0,
    rounds: int = 120,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, float]:
    """The shortest time of one call, in microseconds, for each implementation. Rounds alternate between them, so that a
    busy machine hits both."""
    loops = {}
    for name, call in calls.items():
        for _ in range(3):
            call()
        start = clock()
        call()
        once = max(clock() - start, 1e-7)
        loops[name] = max(1, int(seconds / rounds / len(calls) / once))
    best = dict.fromkeys(calls, float("inf"))
    gc.collect()
    gc.disable()
    try:
        for _ in range(rounds):
            for name, call in calls.items():
                n = loops[name]
                start = clock()
                for _ in range(n):
                    call()
                best[name] = min(best[name], (clock() - start) / n * 1e6)
    finally:
        gc.enable()
    return best


def row(what: str, times: dict[str, float], limit: float) -> dict[str, Any]:
    """One line of the report: times in microseconds, their ratio, and the ratio allowed."""
    ratio = times["mindtorch_v2"] / times["torch"]
    return {
        "what": what,
        "torch_us": round(times["torch"], 3),
        "mindtorch_v2_us": round(times["mindtorch_v2"], 3),
        "ratio": round(ratio, 3),
        "at_most": limit,
        "ok": ratio <= limit,
    }

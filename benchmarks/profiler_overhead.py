"""What does profiling cost while the program runs?

The overhead is the time of a load under a profile less its time without one, per recorded event of the training
steps and per operator of the tiny load; with stacks, per training step, because PyTorch also shows the calls of its
own Python functions. Bursts of both implementations, with and without a profile, take turns, and the shortest of
each counts. Of steps that take milliseconds a profile adds about a hundredth: there the median difference of
neighbouring bursts counts. Starting and stopping a profile is not part of a burst.
"""

from __future__ import annotations

import gc
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import training_steps

from common import implementations

FLAGS: dict[str, dict[str, bool]] = {
    "none": {},
    "shapes": {"record_shapes": True},
    "memory": {"profile_memory": True},
    "stack": {"with_stack": True},
    "all": {"record_shapes": True, "profile_memory": True, "with_stack": True, "with_modules": True},
}
DEPTH = 30  # of the Python stack, where call stacks are recorded


def tiny(torch: Any) -> Callable[[], None]:
    """One operator on 4x4 elements."""
    x = torch.ones(4, 4)
    return lambda: x + x


class _Point:
    def __init__(self, x: int) -> None:
        self.x = x

    def get(self) -> int:
        return self.x

    def both(self) -> int:
        return abs(self.get()) + self.get()


def _leaf(a: int) -> int:
    return a * 2


def _middle(a: int) -> int:
    return _leaf(a) + 1


def _pair(a: int, b: int) -> int:
    return _middle(a) + _middle(b)


def python_calls(torch: Any) -> Callable[[], None]:
    """Methods, functions and functions in C: nothing for the operators to do."""

    def outer() -> None:
        point, found = _Point(3), {}
        found[0] = point.both()
        if isinstance(point, _Point):
            found[1] = _pair(1, len(found))
        found.get(_pair(2, 3))

    return outer


def _burst(call: Callable[[], None], count: int) -> float:
    """Microseconds per call."""
    start = time.perf_counter()
    for _ in range(count):
        call()
    return (time.perf_counter() - start) / count * 1e6


def _deep(depth: int, call: Callable[[], Any]) -> Any:
    return call() if depth <= 0 else _deep(depth - 1, call)


def events_per_call(torch: Any, call: Callable[[], None], flags: dict[str, bool]) -> float:
    """How many events a profile shows of one call. The frames around the loop are in every profile."""

    def recorded(count: int) -> int:
        with torch.profiler.profile(**flags) as prof:
            for _ in range(count):
                call()
        inner = prof.profiler
        return len(inner.store) if hasattr(inner, "store") else len(inner.kineto_results.events())

    return (recorded(12) - recorded(2)) / 10


def overhead(
    build: Callable[[Any], Callable[[], None]], flags: dict[str, bool], count: int, rounds: int, paired: bool = False
) -> dict[str, Any]:
    """Microseconds per call without and with a profile, for each implementation, and the events of a call. `paired`:
    the median difference of neighbouring bursts counts, not that of the shortest ones.
    """
    calls = {name: (torch, build(torch)) for name, torch in implementations().items()}
    bursts: dict[str, list[tuple[float, float]]] = {name: [] for name in calls}

    def measure() -> None:
        for _ in range(rounds):
            for name, (torch, call) in calls.items():
                _burst(call, 3)
                off = _burst(call, count)
                with torch.profiler.profile(**flags):
                    _burst(call, 3)
                    bursts[name].append((off, _burst(call, count)))

    for _, call in calls.values():
        _burst(call, 20)
    gc.collect()
    gc.disable()
    try:
        _deep(DEPTH - 8, measure)
    finally:
        gc.enable()
    found = {}
    for name, (torch, call) in calls.items():
        off, on = (min(times) for times in zip(*bursts[name]))
        if paired:
            on = off + statistics.median(b - a for a, b in bursts[name])
        found[name] = off, on, events_per_call(torch, call, flags)
    return found


def _row(what: str, found: dict[str, Any], per_event: bool, limit: float) -> dict[str, Any]:
    costs = {name: (on - off) / (events if per_event else 1) for name, (off, on, events) in found.items()}
    ratio = costs["mindtorch_v2"] / costs["torch"]
    return {
        "what": what,
        "torch_us": round(costs["torch"], 3),
        "mindtorch_v2_us": round(costs["mindtorch_v2"], 3),
        "ratio": round(ratio, 3),
        "at_most": limit,
        "ok": ratio <= limit,
        "off_us": {n: round(f[0], 2) for n, f in found.items()},
        "events": {n: f[2] for n, f in found.items()},
    }


# load: (how it is built, calls in a burst, rounds, whether the cost is given per event, whether bursts are compared in
# pairs)
LOADS = {
    "x + x": (tiny, 400, 60, False, False),
    "MLP": (training_steps.mlp, 2, 400, True, False),
    "transformer": (training_steps.transformer, 2, 40, True, True),
    "CNN": (training_steps.cnn, 2, 60, True, True),
}
# At most this times PyTorch's. Where no figure stands, PyTorch's own cost is the limit; but what a profile adds to a
# step of milliseconds is about as much as that step varies.
LIMITS = {
    ("x + x", "shapes"): 0.5,
    ("x + x", "memory"): 0.5,
    ("x + x", "stack"): 0.7,
    ("MLP", "none"): 0.3,
    **{(load, flag): 2.0 for load in ("transformer", "CNN") for flag in FLAGS},
}


def _share_row(load: str, found: dict[str, Any]) -> dict[str, Any]:
    """What a profile adds to a step, in percent of it: at most two of a step of milliseconds, PyTorch's share of a
    shorter one.
    """
    shares = {name: round((on - off) / off * 100, 2) for name, (off, on, _) in found.items()}
    limit = 2.0 if found["mindtorch_v2"][0] > 1000 else shares["torch"]
    return {
        "what": f"a profile without flags adds to a step of the {load}",
        "unit": "%",
        **shares,
        "ratio": None,
        "at_most": limit,
        "ok": shares["mindtorch_v2"] <= limit,
    }


def measure(loads: set[str] | None = None, flags: set[str] | None = None) -> list[dict[str, Any]]:
    rows = []
    for load, (build, count, rounds, per_event, paired) in LOADS.items():
        for name, asked in FLAGS.items():
            if (not loads or load in loads) and (not flags or name in flags):
                found = overhead(build, asked, count, rounds, paired)
                by_event = per_event and "with_stack" not in asked
                rows.append(_row(f"profiling {load}: {name}", found, by_event, LIMITS.get((load, name), 1.0)))
                rows += [_share_row(load, found)] if per_event and not asked else []
    if not loads or "Python calls" in loads:
        rows.append(_row("profiling Python calls: stack", overhead(python_calls, FLAGS["stack"], 400, 40), True, 0.6))
    return rows


if __name__ == "__main__":
    words = set(sys.argv[1:])
    print(*measure(words & {*LOADS, "Python calls"}, words & set(FLAGS)), sep="\n")

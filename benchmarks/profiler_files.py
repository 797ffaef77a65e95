"""What does it cost to get something out of a profile: averages, events, traces, files? Per event.

At 100,000 events, alternating (profiler_scale.py has the other sizes). PyTorch keeps what it has worked out and
exports a trace only once, so every repeat has a profile of its own, and every file is new: replacing one may wait
for the disk. PyTorch has no files of its own but traces: saving is compared with exporting one, loading with parsing
one.
"""

from __future__ import annotations

import gc
import itertools
import json
import os
import tempfile
import time
from collections.abc import Callable
from typing import Any

from common import implementations, row

EVENTS = 100_000
REPEATS = 2


def _recorded(torch: Any, events: int) -> Any:
    x = torch.ones(4, 4)
    with torch.profiler.profile() as prof:
        for _ in range(events):
            x + x
    return prof


def _timed(call: Callable[[], Any]) -> float:
    gc.collect()
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def _both(
    torch: Any, ours: Any, call: Callable[[Any], Any], ours_does: Callable[[Any], Any] | None = None
) -> dict[str, float]:
    """Microseconds per event, best of interleaved repeats."""
    best = dict.fromkeys(("torch", "mindtorch_v2"), float("inf"))
    for _ in range(REPEATS):
        for name, package, does in (("torch", torch, call), ("mindtorch_v2", ours, ours_does or call)):
            profile = _recorded(package, EVENTS)
            best[name] = min(best[name], _timed(lambda profile=profile, does=does: does(profile)) / EVENTS * 1e6)
            del profile
    return best


def _one_attribute(prof: Any) -> int:
    return sum(len(event.name) for event in prof.events())


def _parsed(path: str) -> Any:
    with open(path) as file:
        return json.load(file)


def _stop(torch: Any) -> float:
    x, prof = torch.ones(4, 4), torch.profiler.profile()
    prof.start()
    for _ in range(EVENTS):
        x + x
    return _timed(prof.stop) / EVENTS * 1e6


def measure() -> list[dict[str, Any]]:
    torch, ours = implementations().values()
    _recorded(torch, 100), _recorded(ours, 100)
    with tempfile.TemporaryDirectory() as directory:
        numbers = itertools.count()

        def new(ending: str) -> str:
            return os.path.join(directory, f"{next(numbers)}{ending}")

        cases: list[tuple[str, Callable[[Any], Any], Callable[[Any], Any] | None, float]] = [
            ("key_averages and table", lambda p: p.key_averages().table(), None, 0.005),
            ("events(), one attribute read", _one_attribute, None, 0.05),
            ("export .json.gz", lambda p: p.export_chrome_trace(new(".json.gz")), None, 0.05),
            ("export .json", lambda p: p.export_chrome_trace(new(".json")), None, 0.3),
            (
                "save (theirs: export .json)",
                lambda p: p.export_chrome_trace(new(".json")),
                lambda p: p.save(new(".prof")),
                0.1,
            ),
        ]
        rows = [
            row(
                "stop",
                {name: min(_stop(package) for _ in range(REPEATS)) for name, package in implementations().items()},
                0.05,
            )
        ]
        rows += [row(what, _both(torch, ours, call, ours_does), limit) for what, call, ours_does, limit in cases]
        plain, packed, own, saved = new(".json"), new(".json.gz"), new(".json"), new(".prof")
        _recorded(torch, EVENTS).export_chrome_trace(plain)
        _recorded(torch, EVENTS).export_chrome_trace(packed)
        _recorded(ours, EVENTS).export_chrome_trace(own)
        _recorded(ours, EVENTS).save(saved)
        theirs = min(_timed(lambda: _parsed(plain)) for _ in range(REPEATS)) / EVENTS * 1e6
        for what, path, limit in (
            ("what was saved", saved, 0.05),
            ("a trace of ours", own, 0.5),
            ("PyTorch's trace", plain, 0.5),
            ("PyTorch's trace, compressed", packed, 0.6),
        ):
            here = (
                min(_timed(lambda path=path: ours.profiler.load(path).key_averages()) for _ in range(REPEATS))
                / EVENTS
                * 1e6
            )
            rows.append(row(f"load of {what} (theirs: parse .json)", {"torch": theirs, "mindtorch_v2": here}, limit))
    return rows


if __name__ == "__main__":
    for line in measure():
        print(line)

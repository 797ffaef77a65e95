"""What does it cost to get something out of a profile: averages, events, traces, files? Per event.

PyTorch is measured at 100,000 events, this package at 100,000 and at 1,000,000. PyTorch keeps what it has worked out and exports
a trace only once, so every repeat has a profile of its own. It has no files of its own but traces: saving is compared with
exporting one, loading with parsing one.
"""
from __future__ import annotations

import gc
import json
import os
import tempfile
import time
from collections.abc import Callable
from typing import Any

from common import implementations, row

EVENTS = 100_000
MANY = 1_000_000
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


def _both(torch: Any, ours: Any, theirs_does: Callable[[Any], Any], ours_does: Callable[[Any], Any]) -> dict[int, dict[str, float]]:
    """Microseconds per event, best of interleaved repeats, for both sizes of ours."""
    best = {EVENTS: dict.fromkeys(("torch", "mindtorch_v2"), float("inf")), MANY: dict.fromkeys(("torch", "mindtorch_v2"), float("inf"))}
    for _ in range(REPEATS):
        profile = _recorded(torch, EVENTS)
        theirs = _timed(lambda profile=profile: theirs_does(profile)) / EVENTS * 1e6
        del profile
        for events, times in best.items():
            profile = _recorded(ours, events)
            here = _timed(lambda profile=profile: ours_does(profile)) / events * 1e6
            times["torch"], times["mindtorch_v2"] = min(times["torch"], theirs), min(times["mindtorch_v2"], here)
            del profile
    return best


def _one_attribute(prof: Any) -> int:
    return sum(len(event.name) for event in prof.events())


def _parsed(path: str) -> Any:
    with open(path) as file:
        return json.load(file)


def measure() -> list[dict[str, Any]]:
    torch, ours = implementations().values()
    _recorded(torch, 100), _recorded(ours, 100)
    with tempfile.TemporaryDirectory() as directory:
        plain, packed, saved = (os.path.join(directory, name) for name in ("t.json", "t.json.gz", "p.prof"))
        cases: list[tuple[str, Callable[[Any], Any], Callable[[Any], Any], float]] = [
            ("key_averages and table", lambda p: p.key_averages().table(), lambda p: p.key_averages().table(), 0.005),
            ("events(), one attribute read", _one_attribute, _one_attribute, 0.05),
            ("export .json.gz", lambda p: p.export_chrome_trace(packed), lambda p: p.export_chrome_trace(packed), 0.05),
            ("export .json", lambda p: p.export_chrome_trace(plain), lambda p: p.export_chrome_trace(plain), 0.3),
            ("save (theirs: export .json)", lambda p: p.export_chrome_trace(plain), lambda p: p.save(saved), 0.1),
        ]
        rows = []
        for what, theirs_does, ours_does, limit in cases:
            for events, times in _both(torch, ours, theirs_does, ours_does).items():
                rows.append(row(f"{what}, per event of {events:.0e}", times, limit))
        theirs = _timed(lambda: _parsed(plain)) / EVENTS * 1e6
        for what, path, events, limit in (("load of what was saved", saved, MANY, 0.05), ("load of PyTorch's trace", plain, EVENTS, 5.0)):
            here = min(_timed(lambda path=path: ours.profiler.load(path).key_averages()) for _ in range(REPEATS)) / events * 1e6
            rows.append(row(f"{what}, per event of {events:.0e}", {"torch": theirs, "mindtorch_v2": here}, limit))
    return rows


if __name__ == "__main__":
    for line in measure():
        print(line)

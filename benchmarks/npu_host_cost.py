"""What does the host pay for work on an NPU?

Everything runs on the simulator, whose kernels take no time: what is left is the host's own cost. Small ops are
launched in bursts without waiting, short enough not to fill the queue. Where MINDTORCH_TORCH_NPU names a program
that starts Python with torch_npu and the simulator instead of CANN (`ascend_sim/build.py --cann-root` lays that
out), its time stands in the first column; without it, a limit in microseconds does. The further rows compare with a
limit, and with this package's own step on the CPU.
"""

from __future__ import annotations

import gc
import json
import os
import pathlib
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

from common import row

LIMIT_US = 9.4  # of one small op, where there is nothing to compare with
PROFILING_LIMIT_US = 1.0
STEP_LIMIT = 3.0  # times the step on the CPU
BURST, ROUNDS = 200, 150
STEPS, SAMPLES = 5, 800
HERE = pathlib.Path(__file__).resolve()


def burst(torch: Any, call: Callable[[], Any]) -> float:
    """Microseconds of host time per call."""
    start = time.perf_counter()
    for _ in range(BURST):
        call()
    took = time.perf_counter() - start
    torch.npu.synchronize()
    return took / BURST * 1e6


def small_ops(torch: Any) -> dict[str, float]:
    """The best burst of each op."""
    x, y = torch.ones(4, 4, device="npu"), torch.ones(4, 4, device="npu")
    calls = {
        "x + x": lambda: x + x,
        "x * x": lambda: x * x,
        "relu(x)": lambda: torch.relu(x),
        "x @ x": lambda: x @ x,
        "y.add_(x)": lambda: y.add_(x),
    }
    best = dict.fromkeys(calls, float("inf"))
    gc.disable()
    with torch.no_grad():
        for _ in range(ROUNDS):
            for name, call in calls.items():
                best[name] = min(best[name], burst(torch, call))
    return best


def profiling(torch: Any) -> dict[str, float]:
    """One small op with and without a profile of the NPU."""
    x = torch.ones(4, 4, device="npu")
    best = {"off": float("inf"), "on": float("inf")}
    gc.disable()
    with torch.no_grad():
        for _ in range(30):
            best["off"] = min(best["off"], *(burst(torch, lambda: x + x) for _ in range(10)))
            with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.NPU]):
                best["on"] = min(best["on"], *(burst(torch, lambda: x + x) for _ in range(10)))
    return best


def mlp_steps(torch: Any, device: str) -> Callable[[], None]:
    """A few steps of training_steps.py's MLP on a device, and the wait for them."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    x, y = torch.randn(32, 64).to(device), torch.randint(0, 10, (32,)).to(device)

    def steps() -> None:
        for _ in range(STEPS):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()
        if device != "cpu":
            torch.npu.synchronize()

    return steps


def training(torch: Any) -> dict[str, float]:
    """Microseconds of one step.

    The simulator's device is a thread: short samples find moments when a processor is free for it.
    """
    calls = {device: mlp_steps(torch, device) for device in ("cpu", "npu")}
    best = dict.fromkeys(calls, float("inf"))
    gc.disable()
    for _ in range(SAMPLES):
        for device, steps in calls.items():
            start = time.perf_counter()
            steps()
            best[device] = min(best[device], (time.perf_counter() - start) / STEPS * 1e6)
    return best


def measured_here() -> dict[str, dict[str, float]]:
    """What this process measures: this package on the simulator."""
    import mindtorch_v2 as torch

    torch.set_num_threads(1)
    if not torch.npu.is_available():
        print(f"no NPU: {torch.npu.why_unavailable()}", file=sys.stderr)
        return {}
    return {"ops": small_ops(torch), "profiling": profiling(torch), "training": training(torch)}


def measured_by_torch_npu() -> dict[str, dict[str, float]]:
    import torch
    import torch_npu  # noqa: F401  - it makes torch.npu

    torch.set_num_threads(1)
    return {"ops": small_ops(torch)}


def measured_in_a_process(program: str, what: str, **settings: str) -> dict[str, dict[str, float]]:
    """The simulator must not be the device of other benchmarks in this process."""
    done = subprocess.run(
        [program, str(HERE), what], env={**os.environ, **settings}, stdout=subprocess.PIPE, text=True, check=True
    )
    return json.loads(done.stdout.splitlines()[-1])


def measure() -> list[dict[str, Any]]:
    source = os.pathsep.join(p for p in sys.path if p)
    here = measured_in_a_process(sys.executable, "here", MINDTORCH_NPU_SIM="1", PYTHONPATH=source)
    if not here:
        return []
    program = os.environ.get("MINDTORCH_TORCH_NPU")
    other = measured_in_a_process(program, "torch_npu")["ops"] if program else dict.fromkeys(here["ops"], LIMIT_US)
    note = "against torch_npu" if program else f"against {LIMIT_US} us"
    rows = [
        row(f"{name}, 4x4, on the NPU, {note}", {"torch": other[name], "mindtorch_v2": took}, 1.0)
        for name, took in here["ops"].items()
    ]
    added = here["profiling"]["on"] - here["profiling"]["off"]
    rows.append(
        row(
            f"what a profile adds to x + x, against {PROFILING_LIMIT_US} us",
            {"torch": PROFILING_LIMIT_US, "mindtorch_v2": max(added, 0.0)},
            1.0,
        )
    )
    step = here["training"]
    rows.append(
        row(
            "MLP step on the NPU, against ours on the CPU",
            {"torch": step["cpu"], "mindtorch_v2": step["npu"]},
            STEP_LIMIT,
        )
    )
    return rows


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(measured_here() if sys.argv[1] == "here" else measured_by_torch_npu()))
    else:
        print(*measure(), sep="\n")

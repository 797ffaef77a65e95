"""Four processes: DistributedDataParallel against PyTorch's gloo, all_reduce against mpi4py, profiles of all ranks.

    python benchmarks/distributed.py [--torch PYTHON] [--processes 4] [--only gpt resnet all_reduce]

`--torch` is a Python that has PyTorch; without it only this package is measured. Times are the best of several rounds,
CPU time is that of all processes together: on a machine that does other work, compare that.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

_SIZES = [1 << 10, 1 << 14, 1 << 18, 1 << 20, 1 << 22, 1 << 24, 1 << 26]
_ROUNDS = 6


def _model_step(torch: Any, name: str) -> Callable[[], None]:
    """A training step of a model of `real_models`, its gradients averaged over all processes."""
    import real_models

    inner = real_models._Gpt(torch) if name == "gpt" else real_models._ResNet18(torch)

    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.parts = inner.parts

        def forward(self, x: Any) -> Any:
            return inner(x)

    model = torch.nn.parallel.DistributedDataParallel(Model())
    if name == "gpt":
        x, y = torch.randint(0, 256, (2, 128)), torch.randint(0, 256, (2, 128))
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    else:
        x, y = torch.randn(2, 3, 64, 64), torch.randint(0, 10, (2,))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)

    def step() -> None:
        result = model(x)
        loss = torch.nn.functional.cross_entropy(result.view(-1, result.shape[-1]), y.view(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step


def _timed(torch: Any, step: Callable[[], None]) -> tuple[float, float]:
    """(seconds, CPU seconds of this process) of one step that all processes begin together."""
    torch.distributed.barrier()
    wall, cpu = time.perf_counter(), time.process_time()
    step()
    return time.perf_counter() - wall, time.process_time() - cpu


def _models(torch: Any, name: str, profiles: bool) -> dict[str, float]:
    step = _model_step(torch, name)
    for _ in range(2):
        step()
    plain, profiled = [], []
    for _ in range(_ROUNDS):
        plain.append(_timed(torch, step))
        if profiles:
            with torch.profiler.profile():
                profiled.append(_timed(torch, step))
    made = {"step_s": min(t for t, _ in plain), "cpu_s": min(c for _, c in plain)}
    if profiled:
        made |= {"profiled_step_s": min(t for t, _ in profiled), "profiled_cpu_s": min(c for _, c in profiled)}
    return made


def _all_reduce(torch: Any) -> dict[str, float]:
    """Ratio of `all_reduce` to plain mpi4py, by size in bytes."""
    from mpi4py import MPI

    made = {}
    for nbytes in _SIZES:
        tensor = torch.ones(nbytes // 4)
        array = tensor.numpy().copy()
        times: list[list[float]] = [[], []]
        for _ in range(40 if nbytes <= 1 << 20 else 8):
            MPI.COMM_WORLD.Barrier()
            began = time.perf_counter()
            torch.distributed.all_reduce(tensor)
            times[0].append(time.perf_counter() - began)
            MPI.COMM_WORLD.Barrier()
            began = time.perf_counter()
            MPI.COMM_WORLD.Allreduce(MPI.IN_PLACE, array)
            times[1].append(time.perf_counter() - began)
        made[f"{nbytes}"] = min(times[0])
        made[f"{nbytes} mpi4py"] = min(times[1])
    return made


def worker(what: str, folder: str) -> None:
    import torch

    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo")
    is_own = "mindtorch_v2" in sys.modules
    made = _all_reduce(torch) if what == "all_reduce" else _models(torch, what, is_own)
    Path(folder, f"{torch.distributed.get_rank()}.json").write_text(json.dumps(made))
    torch.distributed.barrier()


def _run(python: str, launcher: list[str], what: str, processes: int) -> list[dict[str, float]]:
    with tempfile.TemporaryDirectory() as folder:
        command = [python, "-m", *launcher, "--nproc-per-node", str(processes), __file__, "--worker", what, folder]
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.environ.get("PYTHONPATH", "")}
        environment["PYTHONPATH"] += os.pathsep + str(Path(__file__).parent)
        subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return [json.loads(path.read_text()) for path in sorted(Path(folder).iterdir())]


def _joined(ranks: list[dict[str, float]]) -> dict[str, float]:
    """Times are those of the slowest process, CPU times the sum of all."""
    return {
        key: sum(rank[key] for rank in ranks) if key.endswith("cpu_s") else max(rank[key] for rank in ranks)
        for key in ranks[0]
    }


def main() -> None:
    if sys.argv[1:2] == ["--worker"]:
        worker(sys.argv[2], sys.argv[3])
        return
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0] if __doc__ else None)
    parser.add_argument("--torch", metavar="PYTHON", help="a Python that has PyTorch")
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--only", nargs="*", default=["gpt", "resnet", "all_reduce"])
    options = parser.parse_args()
    for what in options.only:
        own = _joined(_run(sys.executable, ["mindtorch_v2.distributed.run"], what, options.processes))
        if what == "all_reduce":
            for nbytes in _SIZES:
                mine, plain = own[f"{nbytes}"], own[f"{nbytes} mpi4py"]
                print(
                    f"all_reduce {nbytes:>9,} B: {1e6 * mine:9.1f} us, mpi4py {1e6 * plain:9.1f} us, {mine / plain:.2f}"
                )
            continue
        print(f"{what}: step {1000 * own['step_s']:.1f} ms, CPU of all {1000 * own['cpu_s']:.1f} ms", flush=True)
        print(f"  profiled: CPU {own['profiled_cpu_s'] / own['cpu_s']:.3f} of that without", flush=True)
        if options.torch:
            theirs = _joined(_run(options.torch, ["torch.distributed.run"], what, options.processes))
            print(
                f"  PyTorch's gloo: step {1000 * theirs['step_s']:.1f} ms, CPU {1000 * theirs['cpu_s']:.1f} ms; ratios "
                f"{own['step_s'] / theirs['step_s']:.2f}, {own['cpu_s'] / theirs['cpu_s']:.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()

"""How often does `mindprof diff` call a program different from itself on a noisy machine, and does it see a change?

    benchmarks/same_program.py [--runs 15] [--steps 120] [--quiet]

Runs of one training program are recorded, each in a fresh interpreter, while other processes compute now and then
(none of them with --quiet). Every pair of runs is compared: 15 runs are 105 pairs. Then again with the times of the
second run made 10% and 25% longer, all of them alike, and with one operator at twice its time. A gate with the rule
`step_time = "+3%"` looks at each.
"""

from __future__ import annotations

import argparse
import itertools
import os
import pathlib
import random
import subprocess
import sys
import tempfile
from typing import Any

import numpy as np

PROGRAM = """
import sys
import mindtorch_v2 as torch
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.LayerNorm(256),
                            torch.nn.Linear(256, 256), torch.nn.GELU(), torch.nn.Linear(256, 10))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
x, y = torch.randn(32, 64), torch.randint(0, 10, (32,))
steps = int(sys.argv[2])
with torch.profiler.profile(schedule=torch.profiler.schedule(wait=1, warmup=2, active=steps, repeat=1)) as prof:
    for _ in range(steps + 3):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
        prof.step()
prof.save(sys.argv[1])
"""
NEIGHBOUR = """
import random, time, numpy
chance, a = random.Random({seed}), numpy.ones((300, 300), "float32")
while True:
    end = time.monotonic() + chance.uniform(0.02, 0.5)
    while time.monotonic() < end:
        a @ a
    time.sleep(chance.uniform(0.02, 1.0))
"""
RULES = {"step_time": "+3%"}


def record(folder: pathlib.Path, runs: int, steps: int, neighbours: int) -> list[pathlib.Path]:
    """The profiles of so many runs of the program, beside processes that compute now and then."""
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    others = [
        subprocess.Popen([sys.executable, "-c", NEIGHBOUR.format(seed=seed)], env=environment)
        for seed in range(neighbours)
    ]
    paths = [folder / f"{i}.mindprof" for i in range(runs)]
    try:
        for path in paths:
            command = [sys.executable, "-c", PROGRAM, str(path), str(steps)]
            subprocess.run(command, check=True, env=environment)
    finally:
        for other in others:
            other.kill()
            other.wait()
    return paths


def planted(features: Any, factor: float, operator: str | None = None) -> Any:
    """The features of a run with all times so much longer, or those of one operator only."""
    from mindtorch_v2.profiler.analysis.diff_features import Features

    made = Features(features.tree)
    if operator is None:
        for name in ("phases", "operators", "modules", "call_paths"):
            setattr(made, name, {key: times * factor for key, times in getattr(features, name).items()})
        made.times = features.times * factor
        return made
    more = features.operators[operator] * (factor - 1)
    made.operators = {**features.operators, operator: features.operators[operator] + more}
    made.call_paths = {
        path: times * factor if path.operators[-1] == operator else times for path, times in features.call_paths.items()
    }
    made.times = features.times + more
    return made


def counts(pairs: list[tuple[Any, Any]], operator: str) -> dict[str, str]:
    """Of the pairs: how many steps are called changed, how many rows, how many gates fail, how often the operator is
    named."""
    from mindtorch_v2.profiler.analysis.diff import diff
    from mindtorch_v2.profiler.analysis.gate import check

    steps = rows = all_rows = gates = named = 0
    for seed, (before, after) in enumerate(pairs):
        made = diff(before, after, seed=seed)
        steps += (made.verdict, made.alike) != ("no evidence", "no evidence")
        rows += sum(row.status != "no evidence" for row in made.rows[1:])
        all_rows += len(made.rows) - 1
        gates += bool(check(made, RULES))
        found = made.of("operator", operator)
        named += found is not None and found.status == "slower"
    return {
        "step called changed": f"{steps}/{len(pairs)}",
        "rows called changed": f"{rows}/{all_rows}",
        "gate broken": f"{gates}/{len(pairs)}",
        f"{operator} called slower": f"{named}/{len(pairs)}",
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--steps", type=int, default=120)
    parser.add_argument("--quiet", action="store_true", help="no other processes")
    options = parser.parse_args()
    from mindtorch_v2.profiler.analysis.diff_features import Features
    from mindtorch_v2.profiler.store import storefile

    with tempfile.TemporaryDirectory() as folder:
        paths = record(pathlib.Path(folder), options.runs, options.steps, 0 if options.quiet else 2)
        features = [Features(storefile.load(str(path))) for path in paths]
    medians = np.array([np.median(one.times) for one in features]) / 1e6
    print(f"median steps of the runs: {medians.min():.3f} to {medians.max():.3f} ms")
    operator = "aten::addmm"
    pairs = list(itertools.combinations(features, 2))
    random.Random(0).shuffle(pairs)
    for what, factor, one in (
        ("the same program", 1.0, None),
        ("everything 10% slower", 1.1, None),
        ("everything 25% slower", 1.25, None),
        (f"{operator} twice as slow", 2.0, operator),
    ):
        slower = {id(b): planted(b, factor, one) for _, b in pairs} if factor != 1 else {}
        print(f"{what:28}", counts([(a, slower.get(id(b), b)) for a, b in pairs], operator), flush=True)


if __name__ == "__main__":
    main()

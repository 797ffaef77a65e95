"""Runs every benchmark and prints one table of ratios to PyTorch, measured in this run. JSON goes to benchmarks/out/."""
from __future__ import annotations

import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import dispatch  # noqa: E402
import import_time  # noqa: E402
import profiler_files  # noqa: E402
import training_steps  # noqa: E402


def main() -> int:
    rows = [r for module in (import_time, dispatch, profiler_files, training_steps) for r in module.measure()]
    print(f"{'what':36} {'torch us':>12} {'here us':>12} {'ratio':>7} {'at most':>8}")
    for r in rows:
        print(f"{r['what']:36} {r['torch_us']:12.2f} {r['mindtorch_v2_us']:12.2f} {r['ratio']:7.2f} {r['at_most']:8.2f}"
              f"{'' if r['ok'] else '  too slow'}")
    out = pathlib.Path(__file__).parent / "out"
    out.mkdir(exist_ok=True)
    (out / "results.json").write_text(json.dumps(rows, indent=1) + "\n")
    return 0 if all(r["ok"] for r in rows) else 1


if __name__ == "__main__":
    sys.exit(main())

"""Runs every benchmark, prints one table of ratios to PyTorch measured in this run, and renews docs/overhead.md.

run.py                  everything
run.py NAME ...         some files only ("dispatch", "training_steps", ...)
run.py NAME/PART ...    one part of a file that has parts ("real_models/2 threads, oneDNN"): for machines that are quiet
                        for a short time only
run.py --page           nothing: docs/overhead.md from what has been measured so far
run.py --cpu ...        processor time instead of real time, of the benchmarks that know it (real_models): on a busy
                        machine only that can be compared

Figures are kept in benchmarks/out/results.json with the day and the machine of each run. docs/overhead.md is renewed by
a run of everything and by --page.
"""

from __future__ import annotations

import datetime
import importlib
import json
import os
import pathlib
import platform
import sys
from typing import Any

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

QUESTIONS = [
    p.stem for p in sorted(HERE.glob("*.py")) if p.stem not in ("run", "common") and "def measure" in p.read_text()
]
METHOD = """PyTorch 2.13.0 and this package run in the same process, in short rounds that alternate between the two; the
best round of each counts. Imports, profiles of up to ten million events and different thread counts are
measured in fresh interpreters. Both use one thread unless a row says otherwise. A ratio below 1 means that
this package is faster. "At most" is the limit that this project sets itself: for the ratio, or for the
figure itself if there is no ratio. `make bench` updates this page and writes the figures as JSON to
`benchmarks/out/results.json`."""
RESULTS = HERE / "out" / "results.json"


def table(rows: list[dict[str, Any]]) -> str:
    """The rows as aligned text. Where there is no ratio, "at most" is a limit of the figure itself."""
    wide = max((len(r["what"]) for r in rows), default=4)
    lines = [f"{'what':{wide}} {'torch':>14} {'here':>14} {'unit':8} {'ratio':>7} {'at most':>11}"]
    for r in rows:
        lines.append(
            f"{r['what']:{wide}} {_figure(r['torch'], 14)} {_figure(r['mindtorch_v2'], 14)} {r['unit']:8} "
            f"{_figure(r['ratio'], 7)} {_figure(r['at_most'], 11)}{'' if r['ok'] else '  above'}"
        )
    return "\n".join(lines)


def _figure(value: float | None, width: int) -> str:
    return f"{'-' if value is None else f'{value:.3f}':>{width}}"


def _with_unit(row: dict[str, Any]) -> dict[str, Any]:
    """A row that gives times in microseconds only, as one that names its unit."""
    if "unit" in row:
        return row
    rest = {key: value for key, value in row.items() if not key.endswith("_us")}
    return {
        "what": rest.pop("what"),
        "unit": "us",
        "torch": row["torch_us"],
        "mindtorch_v2": row["mindtorch_v2_us"],
        **rest,
    }


FEATURES = ("avx2", "avx512f", "avx512_bf16", "avx512_fp16", "amx_bf16")  # that change which kernels run


def machine() -> str:
    """The processor with what it can do, and the versions that take part."""
    told = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in _lines("/proc/cpuinfo"))}
    features = [word for word in FEATURES if word in told.get("flags", "").split()]
    import numpy
    import torch

    from mindtorch_v2._backends.onednn import library

    version = library.version()
    onednn = "no oneDNN" if version is None else f"oneDNN {'.'.join(map(str, version))}"
    return (
        f"{told.get('model name', platform.processor())}, {len(os.sched_getaffinity(0))} cores ({' '.join(features)}), "
        f"Python {platform.python_version()}, numpy {numpy.__version__}, {onednn}, PyTorch {torch.__version__}, "
        f"{platform.system()}"
    )


def _lines(path: str) -> list[str]:
    file = pathlib.Path(path)
    return file.read_text().splitlines() if file.exists() else []


def page(results: dict[str, dict[str, Any]]) -> str:
    """docs/overhead.md: the method, and for each question its tables, each with the day and the machine of its run."""
    parts = [f"# Overhead and speed\n\n{METHOD}"]
    for name in QUESTIONS:
        runs = [run for key, run in results.items() if key.partition("/")[0] == name]
        if not runs:
            continue
        question = (importlib.import_module(name).__doc__ or name).splitlines()[0]
        parts.append(f"## {question}\n`benchmarks/{name}.py`")
        said = None
        for run in runs:
            words = f"{run['day']}: {run['machine']}."
            parts += [words] if words != said else []
            parts.append(f"```\n{table(run['rows'])}\n```")
            said = words
    return "\n\n".join(parts) + "\n"


def measure(key: str) -> dict[str, Any]:
    """Runs a benchmark, or the part of it behind the slash."""
    name, _, part = key.partition("/")
    module = importlib.import_module(name)
    rows = module.measure(part) if part else module.measure()
    today = datetime.date.today().isoformat()
    clock = ", processor time on a busy machine" if "--cpu" in sys.argv else ""
    return {"day": today, "machine": machine() + clock, "rows": [_with_unit(row) for row in rows]}


def _keys(names: list[str]) -> list[str]:
    """What is measured under these names: a file with parts, one part after the other."""
    found: list[str] = []
    for name in names:
        parts = getattr(importlib.import_module(name), "parts", None) if "/" not in name else None
        found += [name] if parts is None else [f"{name}/{part}" for part in parts()]
    return found


def _measured() -> dict[str, dict[str, Any]]:
    return json.loads(RESULTS.read_text()) if RESULTS.exists() else {}


def main() -> int:
    asked = [word for word in sys.argv[1:] if word != "--cpu"]
    names = asked or QUESTIONS
    rows: list[dict[str, Any]] = []
    for key in _keys(names) if names != ["--page"] else []:
        print(f"{key} ...", file=sys.stderr, flush=True)
        found = measure(key)
        rows += found["rows"]
        RESULTS.parent.mkdir(exist_ok=True)
        RESULTS.write_text(json.dumps({**_measured(), key: found}, indent=1) + "\n")
    print(machine())
    print(table(rows))
    if not asked or names == ["--page"]:
        (HERE.parent / "docs" / "overhead.md").write_text(page(_measured()))
    return 0 if all(r["ok"] for r in rows) else 1


if __name__ == "__main__":
    sys.exit(main())

"""Runs real programs and libraries on this package, unchanged, and compares their numbers with PyTorch's: `make
programs`.

    python scripts/programs/run.py [--python PYTHON] [--families plain ...] [--table docs/programs.md]
    python scripts/programs/run.py --record --python PYTHON     where PYTHON has torch 2.13.0 and the libraries

PYTHON is the interpreter of an environment in which `import torch` is this package (packaging/torch-shim). Exit code
1 where a program does not run, or its numbers differ.
"""

from __future__ import annotations

import argparse
import datetime
import json
import math
import os
import pathlib
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

FOLDER = pathlib.Path(__file__).resolve().parent
ANSWERS = FOLDER / "answers.json"
FAMILIES = {"plain": "plain PyTorch programs", "hugging_face": "Hugging Face", "libraries": "other libraries"}
SECONDS = 400
# Relative: sums of many float32 numbers in another order, through a few steps of training. "coarse" numbers passed
# through bfloat16.
TOLERANCE, COARSE = 1e-3, 5e-2


def answers_of(command: list[str], family: str) -> dict[str, dict[str, Any]]:
    """What the programs of a family say, by name."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false", "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(
        [*command, str(FOLDER / "run_cases.py"), family],
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
        env=environment,
    )
    lines = [line.removeprefix("@program ") for line in done.stdout.splitlines() if line.startswith("@program ")]
    if not lines:
        raise SystemExit(f"{family}: no program ran\n{done.stderr[-2000:]}")
    return {said["program"]: said for said in map(json.loads, lines)}


def numbers_in(value: Any, coarse: bool = False) -> Iterator[tuple[float, bool]]:
    """All numbers of an answer, each with whether it is a coarse one."""
    if isinstance(value, dict):
        for key in sorted(value):
            yield from numbers_in(value[key], coarse or key.startswith("coarse"))
    elif isinstance(value, list):
        for inner in value:
            yield from numbers_in(inner, coarse)
    else:
        yield float(value), coarse


def verdict(said: dict[str, Any] | None, expected: dict[str, Any]) -> str:
    """ "equal", or what is wrong."""
    if said is None:
        return "did not run"
    if "error" in said:
        return said["error"]
    ours, theirs = list(numbers_in(said["numbers"])), list(numbers_in(expected))
    if len(ours) != len(theirs):
        return f"{len(ours)} numbers for {len(theirs)}"
    wrong = [
        (a, b)
        for (a, coarse), (b, _) in zip(ours, theirs)
        if not math.isclose(a, b, rel_tol=COARSE if coarse else TOLERANCE, abs_tol=1e-5)
    ]
    return (
        f"{len(wrong)} of {len(ours)} numbers differ, the first {wrong[0][0]:.6g} for {wrong[0][1]:.6g}"
        if wrong
        else "equal"
    )


def table(rows: list[tuple[str, str, str, float]]) -> str:
    """The page docs/programs.md."""
    passed = sum(row[2] == "equal" for row in rows)
    lines = [
        "# Programs that run unchanged",
        "",
        "Written by `make programs`: small random models, forward, backward, training steps, generation; the numbers "
        "are compared",
        f"with those of PyTorch 2.13.0, recorded in scripts/programs/answers.json (relative tolerance {TOLERANCE:g}; "
        f"{COARSE:g} where",
        "bfloat16 computes).",
        "",
        f"{datetime.date.today().isoformat()}: **{passed} of {len(rows)}** run and give PyTorch's numbers.",
        "",
        "| program | of | result | seconds |",
        "|---|---|---|---|",
    ]
    return (
        "\n".join([*lines, *(f"| {n} | {FAMILIES[f]} | {v.replace('|', '/')} | {s:g} |" for n, f, v, s in rows)]) + "\n"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--families", nargs="*", default=list(FAMILIES), choices=list(FAMILIES))
    parser.add_argument(
        "--door", action="store_true", help="PYTHON has this package and no torch: start programs with -m mindtorch_v2"
    )
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--table", type=pathlib.Path)
    options = parser.parse_args()
    command = [options.python, "-m", "mindtorch_v2"] if options.door else [options.python]
    with ThreadPoolExecutor(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1) as pool:
        found = pool.map(lambda family: answers_of(command, family), options.families)
        said = dict(zip(options.families, found))
    if options.record:
        failed = [n for programs in said.values() for n, s in programs.items() if "error" in s]
        if failed:
            raise SystemExit(f"these do not run on PyTorch: {failed}")
        recorded = {family: {n: s["numbers"] for n, s in programs.items()} for family, programs in said.items()}
        ANSWERS.write_text(json.dumps(recorded, indent=0, sort_keys=True) + "\n")
        return 0
    expected = json.loads(ANSWERS.read_text())
    rows = []
    for family in options.families:
        for name, numbers in expected[family].items():
            found = said[family].get(name)
            rows.append((name, family, verdict(found, numbers), 0.0 if found is None else found["seconds"]))
            print(f"{name:28} {rows[-1][3]:7.2f} s  {rows[-1][2]}", flush=True)
    if options.table is not None:
        options.table.write_text(table(rows))
    unexpected = [name for name, _, result, _ in rows if result != "equal"]
    print(
        f"{sum(r[2] == 'equal' for r in rows)} of {len(rows)} programs run and give PyTorch's numbers"
        + (f"; unexpected: {', '.join(unexpected)}" if unexpected else "")
    )
    return 1 if unexpected else 0


if __name__ == "__main__":
    sys.exit(main())

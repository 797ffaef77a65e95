"""Every program in examples/ runs by itself and prints what its guide promises."""

from __future__ import annotations

import gzip
import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"

# What the output must match, line by line or across lines, and the files that must be there.
EXPECTED: dict[str, tuple[list[str], list[str]]] = {
    "profile_ops.py": (
        [r"Self CPU time total: [\d.]+ms", r"slowest operator: aten::\w+, 5 calls, \d+ us each, \d+% of all time"],
        [],
    ),
    "profile_lines.py": (
        [
            r"Source Location",
            r"profile_lines\.py\(14\): distances",
            r"slowest line: profile_lines\.py\(\d+\):_\w+ with \d+ us",
        ],
        ["stacks.txt"],
    ),
    "profile_modules.py": (
        [
            r"TransformerEncoder +1 ",
            r"    layers\.1\.linear2 \(Linear\) +1 ",
            r"layers\.0: [\d.]+ ms forward, [\d.]+ ms backward",
        ],
        [],
    ),
    "profile_memory.py": ([r"Self CPU Mem", r"held at the peak:\n +[\d.]+ KB +\w+ +\S+"], ["memory.html"]),
    "profile_shapes.py": ([r"\[\[256, 256\], \[256, 256\]\]", r"64 times the work takes \d+ times as long"], []),
    "profile_long_run.py": (
        [r"steps 22 to 24: \d+ events", r"steps 42 to 44: \d+ events", r"2 traces in"],
        ["long-run"],
    ),
    "profile_threads.py": (
        [r"worker 0\n", r"worker 1\n", r"enumerate\(DataLoader\)#_MultiProcessingDataLoaderIter", r"waited [\d.]+ ms"],
        [],
    ),
    "profile_trace.py": (
        [r"\d+ cpu_op", r"\d+ fwdbwd", r"2 user_annotation", r"'commit': '4f2a9c'"],
        ["trace.json", "execution-trace.json"],
    ),
}


def run(name: str, folder: pathlib.Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "OPENBLAS_NUM_THREADS": "1"}
    return subprocess.run(
        [sys.executable, *arguments, str(EXAMPLES / name)],
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        timeout=300,
    )


def test_every_example_is_tested():
    assert {path.name for path in EXAMPLES.glob("*.py")} == {*EXPECTED, "demo.py"}


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_example(name, tmp_path):
    done = run(name, tmp_path)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    patterns, files = EXPECTED[name]
    missing = [pattern for pattern in patterns if not re.search(pattern, done.stdout)]
    assert not missing, done.stdout
    assert [file for file in files if not (tmp_path / "demo-out" / file).exists()] == []


def test_demo(tmp_path):
    """The demo with fewer steps: it trains, shows a table, and writes its files."""
    script = tmp_path / "short_demo.py"
    script.write_text(
        f"import sys\nsys.path.insert(0, {str(EXAMPLES)!r})\nimport demo\n"
        "demo.STEPS, demo.WARM, demo.RECORDED, demo.WIDTH = 8, 2, 2, 32\ndemo.main()\n"
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(
        [sys.executable, str(script)], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0 and done.stderr == "", done.stderr
    for pattern in (
        r"loss fell from 3\.\d+ to \d\.\d+",
        r"sample: The harbour ",
        r"ProfilerStep\*.* 2  \n",
        r"layers\.layers\.0 \(Trans",
    ):
        assert re.search(pattern, done.stdout), done.stdout
    trace = json.loads(gzip.decompress((tmp_path / "demo-out" / "trace.json.gz").read_bytes()))
    steps = sorted({event["name"] for event in trace["traceEvents"] if event["name"].startswith("ProfilerStep")})
    assert steps == ["ProfilerStep#3", "ProfilerStep#4"]
    assert re.fullmatch(r"(\S+ \d+\n)+", (tmp_path / "demo-out" / "stacks.txt").read_text())
    assert "<svg" in (tmp_path / "demo-out" / "memory.html").read_text()
    assert (
        "mindprof" in (tmp_path / "demo-out" / "report.html").read_text() and "report.html in a browser" in done.stdout
    )

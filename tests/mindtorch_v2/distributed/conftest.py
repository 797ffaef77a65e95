"""Running programs in several processes, as a user does."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mindtorch_v2.distributed._mpi import is_installed

PROGRAMS = Path(__file__).parent / "programs"
LONGEST = 300  # seconds after which a job that hangs is ended; nothing is asserted about it


def launch(
    count: int, program: str | Path, *arguments: str, options: tuple[str, ...] = ()
) -> subprocess.CompletedProcess[str]:
    """Runs a program in `count` processes through the launcher."""
    command = [
        sys.executable,
        "-m",
        "mindtorch_v2.distributed.run",
        "--nproc-per-node",
        str(count),
        *options,
        str(program),
        *arguments,
    ]
    return subprocess.run(command, capture_output=True, text=True, timeout=LONGEST, check=False)


@pytest.fixture
def run_ranks(tmp_path: Path) -> Callable[..., list[Any]]:
    """run_ranks(program, count) -> what each process wrote as JSON into the file that its last argument names."""
    if not is_installed():
        pytest.skip("mpi4py is not installed")

    def run(program: str, count: int, *arguments: str) -> list[Any]:
        done = launch(count, PROGRAMS / program, *arguments, str(tmp_path))
        assert done.returncode == 0, done.stdout + done.stderr
        return [json.loads((tmp_path / f"rank{rank}.json").read_text()) for rank in range(count)]

    return run

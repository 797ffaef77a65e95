from __future__ import annotations

import os
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from simlib import Sim, build_library  # noqa: E402

os.environ.setdefault("ASCEND_SIM_QUIET", "1")
# there is nothing to build it with
collect_ignore_glob = [] if shutil.which(os.environ.get("CC", "gcc")) else ["test_*.py"]


@pytest.fixture(scope="session")
def library() -> Path:
    return build_library()


@pytest.fixture(scope="session")
def loaded(library: Path) -> Sim:
    sim = Sim(library)
    sim.check(sim.lib.aclInit(None))
    return sim


@pytest.fixture
def sim(loaded: Sim) -> Iterator[Sim]:
    """The simulator with device 0 current and no error, delay or fault left over from another test."""
    loaded.lib.simSetKernelDelay(0)
    loaded.lib.simSetCopyDelay(0)
    loaded.lib.simSetOpDelay(None, 0)
    loaded.lib.simFaultKernel(0, 0, None)
    loaded.lib.simClearViolations()
    loaded.check(loaded.lib.aclrtSetDevice(0))
    loaded.message()
    yield loaded
    loaded.lib.aclrtResetDevice(0)


@pytest.fixture
def in_process(library: Path) -> Callable[..., str]:
    """Runs a piece of code with its own environment in a fresh interpreter, where `sim` is ready to use."""

    def run(code: str, device: bool = True, **environment: object) -> str:
        header = (
            "import ctypes as C, sys\n"
            f"sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
            "from simlib import *\n"
            f"sim = Sim({str(library)!r})\n"
            "sim.check(sim.lib.aclInit(None))\n"
        )
        if device:
            header += "sim.check(sim.lib.aclrtSetDevice(0))\n"
        env = {**os.environ, **{name: str(value) for name, value in environment.items()}}
        program = header + textwrap.dedent(code)
        result = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, timeout=60)
        assert result.returncode == 0, f"exit {result.returncode}\n{result.stdout}\n{result.stderr}"
        return result.stdout.strip()

    return run

"""Runs each file of `simulated/` in a process of its own, where the simulator is the device. None of its tests may be skipped."""
from __future__ import annotations

import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

import mindtorch_v2

HERE = pathlib.Path(__file__).parent
FILES = sorted(p.name for p in (HERE / "simulated").glob("test_*.py"))
WITHOUT_C = ["test_device_times.py", "test_memory.py", "test_operators.py", "test_plans.py", "test_profiling.py"]     # what the launcher in Python must do alike


@pytest.mark.skipif(os.environ.get("MINDTORCH_NPU_SIM") == "1", reason="the tests run in this process")
@pytest.mark.skipif(shutil.which(os.environ.get("CC", "gcc")) is None, reason="there is no C compiler to build the simulator with")
@pytest.mark.parametrize(("file", "shim"), [*((f, "1") for f in FILES), *((f, "0") for f in WITHOUT_C)])
def test_on_the_simulator(file, shim):
    source = str(pathlib.Path(mindtorch_v2.__file__).parents[1])
    environment = {**os.environ, "MINDTORCH_NPU_SIM": "1", "MINDTORCH_NPU_SHIM": shim,
                   "PYTHONPATH": os.pathsep.join([source, os.environ.get("PYTHONPATH", "")])}
    environment.pop("PYTEST_ADDOPTS", None)
    environment.pop("PYTEST_XDIST_WORKER", None)
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-rs",
                           str(HERE / "simulated" / file)], env=environment, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
    assert not re.search(r"\d+ skipped", done.stdout), done.stdout[-2000:]

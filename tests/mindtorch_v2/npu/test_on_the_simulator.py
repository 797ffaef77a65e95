"""Runs each file of `simulated/` in a process of its own, where the simulator is the device. None of its tests may
be skipped. Long files run in parts, so that several processes can share them.
"""

from __future__ import annotations

import importlib.util
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
# what the launcher in Python must do alike
WITHOUT_C = ["test_device_times.py", "test_memory.py", "test_operators.py", "test_plans.py", "test_profiling.py"]

PARTS = {
    "test_device_times.py": 3,
    "test_faults.py": 2,
    "test_functions.py": 2,
    "test_identity.py": 4,
    "test_models.py": 2,
    "test_operators.py": 2,
    "test_profiling.py": 2,
}
RUNS = [(f, "1") for f in FILES] + [(f, "0") for f in WITHOUT_C]


@pytest.fixture(scope="session")
def library():
    """The simulator, built where its own tests build it; the first process that asks builds it."""
    given = os.environ.get("MINDTORCH_NPU_LIB")
    if given:
        return given
    folder = HERE.parents[2] / "ascend_sim"
    spec = importlib.util.spec_from_file_location("ascend_sim_build", folder / "build.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return str(module.build(folder / "build"))


@pytest.mark.skipif(os.environ.get("MINDTORCH_NPU_SIM") == "1", reason="the tests run in this process")
@pytest.mark.skipif(
    shutil.which(os.environ.get("CC", "gcc")) is None, reason="there is no C compiler to build the simulator with"
)
@pytest.mark.parametrize(
    ("file", "shim", "part"), [(f, s, f"{i}/{PARTS.get(f, 1)}") for f, s in RUNS for i in range(PARTS.get(f, 1))]
)
def test_on_the_simulator(file, shim, part, library):
    source = str(pathlib.Path(mindtorch_v2.__file__).parents[1])
    environment = {
        **os.environ,
        "MINDTORCH_NPU_SIM": "1",
        "MINDTORCH_NPU_SHIM": shim,
        "MINDTORCH_NPU_LIB": library,
        "TEST_PART": part,
        "ASCEND_SIM_HBM": "1G",
        "PYTHONPATH": os.pathsep.join([source, os.environ.get("PYTHONPATH", "")]),
    }
    environment.pop("PYTEST_ADDOPTS", None)
    environment.pop("PYTEST_XDIST_WORKER", None)
    # Arguments of what fails are not printed: the host cannot read a device's arrays.
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "-p",
            "no:xdist",
            "-rs",
            "--tb=short",
            str(HERE / "simulated" / file),
        ],
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
    assert not re.search(r"\d+ skipped", done.stdout), done.stdout[-2000:]

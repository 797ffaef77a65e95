"""What the tests share: control over the simulator."""

from __future__ import annotations

import contextlib
import ctypes
import os
import pathlib
import subprocess
import sys

import pytest

import mindtorch_v2 as torch


def pytest_collection_modifyitems(config, items):
    """TEST_PART=1/3 runs every third test, from the second on."""
    part, _, parts = os.environ.get("TEST_PART", "0/1").partition("/")
    chosen = items[int(part) :: int(parts)]
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = chosen


class Simulator:
    """The symbols that the simulator has beside the vendor's."""

    def __init__(self) -> None:
        from mindtorch_v2._backends.npu.runtime import runtime

        self.library = runtime().libraries.opened[0][1]
        self.library.simCounter.restype = ctypes.c_uint64
        self.library.simCounter.argtypes = [ctypes.c_char_p]
        self.library.simSetOpDelay.argtypes = [ctypes.c_char_p, ctypes.c_uint64]
        self.library.simSetKernelDelay.argtypes = self.library.simSetCopyDelay.argtypes = [ctypes.c_uint64]
        self.library.simFaultKernel.argtypes = [ctypes.c_uint64, ctypes.c_int32, ctypes.c_char_p]

    def count(self, name: str) -> int:
        return self.library.simCounter(name.encode())

    @contextlib.contextmanager
    def held(self, stream):
        """Stops a stream before its next task, and lets it go at the end: asynchrony without a clock."""
        assert self.library.simHoldStream(ctypes.c_void_p(stream.handle)) == 0
        try:
            yield
        finally:
            self.library.simReleaseStream(ctypes.c_void_p(stream.handle))

    def delay(self, op: str, milliseconds: float) -> None:
        """Makes every kernel of an operator take at least this long."""
        self.library.simSetOpDelay(op.encode(), int(milliseconds * 1e6))


@pytest.fixture(scope="session")
def simulator():
    assert torch.npu.is_available(), torch.npu.why_unavailable()
    return Simulator()


@pytest.fixture(autouse=True)
def no_violations(simulator):
    """No test may misuse the device in a way that only the simulator notices."""
    before = simulator.count("violations")
    yield
    torch.npu.synchronize()
    assert simulator.count("violations") == before


@pytest.fixture
def slow(simulator):
    """`slow("Add", 50)`: additions take 50 ms until the test ends."""
    used = []

    def set_delay(op: str, milliseconds: float) -> None:
        used.append(op)
        simulator.delay(op, milliseconds)

    yield set_delay
    torch.npu.synchronize()
    for op in used:
        simulator.delay(op, 0)


@pytest.fixture
def run_script():
    """Runs a script in a fresh process with the simulator and further settings; gives its output."""

    def run(text: str, **settings: str) -> str:
        source = str(pathlib.Path(torch.__file__).parents[1])
        environment = {
            **os.environ,
            **settings,
            "PYTHONPATH": os.pathsep.join([source, os.environ.get("PYTHONPATH", "")]),
        }
        done = subprocess.run(
            [sys.executable, "-c", text], env=environment, capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run


@pytest.fixture
def never_on_the_cpu(monkeypatch):
    """An operator that the NPU lacks fails instead of running on the CPU."""
    monkeypatch.setenv("MINDTORCH_NPU_FALLBACK", "error")

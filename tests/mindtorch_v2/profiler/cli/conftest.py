"""What tests of the command line share: files to read, and the tool in this process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from mindtorch_v2.profiler.cli.main import main
from mindtorch_v2.profiler.export import chrome_trace
from mindtorch_v2.profiler.record.descriptions import ModuleInfo
from mindtorch_v2.profiler.record.kinds import Kind
from mindtorch_v2.profiler.store import storefile
from mindtorch_v2.profiler.store.event_store import EventStore

from ..hand_made import E, M, make_store, tensors


def training(steps: int = 6, length: int = 1_000_000, slow: int = 0) -> EventStore:
    """Steps with a data loader, a linear layer, its backward and an optimizer; `slow` nanoseconds more in the layer."""
    events, memory = [], []
    for step in range(steps):
        at = step * (length + slow)
        end = at + length + slow
        stack = ("train.py(7): step", "train.py(20): <module>")
        events += [
            E(f"ProfilerStep#{step}", at, end, Kind.STEP),
            E("enumerate(DataLoader)#X.__next__", at, at + length // 10, Kind.SCOPE),
            E(
                "aten::linear",
                at + length // 10,
                at + length // 2 + slow,
                seq=step,
                module=1,
                inputs=tensors((4, 8), (8, 2)),
                stack=stack,
            ),
            E(
                "autograd::engine::evaluate_function: X",
                at + length // 2 + slow,
                at + 8 * length // 10 + slow,
                Kind.NODE,
                seq=step,
                forward_thread=1,
            ),
            E("Optimizer.step#SGD.step", at + 8 * length // 10 + slow, end, Kind.SCOPE),
            E("aten::add_", at + 9 * length // 10 + slow, end),
        ]
        memory += [M(at + length // 5, 64 + step, 1000), M(at + 7 * length // 10 + slow, 64 + step, -1000)]
    return make_store(
        events,
        memory,
        modules=[ModuleInfo(0, "", "Net", -1), ModuleInfo(0, "fc", "Linear", 0)],
        record_shapes=True,
        profile_memory=True,
        with_stack=True,
        with_modules=True,
    )


@pytest.fixture
def saved(tmp_path: Path) -> str:
    path = tmp_path / "run.mindprof"
    storefile.save(training(), path)
    return str(path)


@pytest.fixture
def trace(tmp_path: Path) -> str:
    path = tmp_path / "trace.json"
    chrome_trace.write(training(), path)
    return str(path)


@pytest.fixture
def tool(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Runs a command line: (exit code, stdout, stderr)."""

    def run(*arguments: str) -> tuple[int, str, str]:
        capsys.readouterr()
        code = main(arguments)
        out, err = capsys.readouterr()
        return code, out, err

    return run

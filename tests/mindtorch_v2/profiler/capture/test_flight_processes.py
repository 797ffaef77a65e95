"""The flight recorder around whole programs that end in every way. Nothing here waits for a time: programs wait for files, tests for programs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.profiler.cli.main import main

from ..helpers import names

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGUSR2"), reason="needs signals")
PROGRAM = """
import ctypes, glob, os, signal, sys, threading
import mindtorch_v2 as torch
model = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
def train():
    optimizer.zero_grad()
    model(torch.ones(2, 4)).sum().backward()
    optimizer.step()
def train_until(pattern):
    while not glob.glob(pattern):
        train()
for _ in range(30):
    train()
{end}
"""
SEGMENTS = "train_until('*.segments/*.mindprof')\n"


def _run(folder: Path, end: str, **environment: str) -> subprocess.CompletedProcess[str]:
    (folder / "program.py").write_text(PROGRAM.format(end=end))
    return subprocess.run(
        [sys.executable, "program.py"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "MINDPROF": "flight:slow_step=0", "PYTHONWARNINGS": "ignore", **environment},
    )


def _files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name != "program.py")


def _dumped(folder: Path, reason: str) -> torch.profiler.LoadedProfile:
    (name,) = _files(folder)
    assert name.endswith(f"-{reason}.mindprof")
    return torch.profiler.load(folder / name)


def test_a_program_that_ends_well_leaves_nothing(tmp_path):
    done = _run(tmp_path, "print('done')")
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")
    assert _files(tmp_path) == []


def test_an_exception_is_dumped_and_printed_as_ever(tmp_path):
    done = _run(tmp_path, "raise KeyError('boom')")
    assert done.returncode == 1
    assert done.stderr.startswith("mindprof: KeyError: 'boom': the last seconds are in ")
    assert done.stderr.splitlines()[1] == "Traceback (most recent call last):"
    profile = _dumped(tmp_path, "exception")
    assert profile.metadata["flight"]["steps"] == 30
    assert "Optimizer.step#SGD.step" in names(profile.store)  # all 30 of them only where recording costs little
    assert "program.py" in profile.metadata["flight"]["text"]


def test_sigusr2_dumps_and_the_program_goes_on(tmp_path):
    done = _run(tmp_path, "os.kill(os.getpid(), signal.SIGUSR2)\ntrain_until('*-sigusr2.mindprof')\nprint('done')")
    assert (done.returncode, done.stdout) == (0, "done\n")
    profile = _dumped(tmp_path, "sigusr2")
    assert "program.py" in profile.metadata["flight"]["text"]  # where each thread was when the signal came


def test_sigusr2_is_heard_while_the_main_thread_is_stuck_in_c(tmp_path):
    """A lock that is never released, without Python's help: handlers in Python would wait for ever."""
    end = """
def watch():
    os.kill(os.getpid(), signal.SIGUSR2)
    while not glob.glob('*-sigusr2.mindprof'):
        pass
    os._exit(5)
threading.Thread(target=watch).start()
mutex = ctypes.create_string_buffer(64)
libc = ctypes.CDLL(None)
libc.pthread_mutex_init(mutex, None)
libc.pthread_mutex_lock(mutex)
libc.pthread_mutex_lock(mutex)
"""
    assert _run(tmp_path, end).returncode == 5
    assert [name for name in _files(tmp_path) if name.endswith("-sigusr2.mindprof")]


def test_sigterm_dumps_and_ends_the_process_by_that_signal(tmp_path):
    done = _run(tmp_path, "os.kill(os.getpid(), signal.SIGTERM)\nwhile True: train()")
    assert done.returncode == -signal.SIGTERM
    assert names(_dumped(tmp_path, "sigterm").store).count("Optimizer.step#SGD.step") >= 1


def test_a_program_with_a_handler_of_its_own_decides(tmp_path):
    end = """
signal.signal(signal.SIGTERM, lambda *_: (print('own'), sys.exit(9)))
os.kill(os.getpid(), signal.SIGTERM)
while True: train()
"""
    done = _run(tmp_path, end)
    assert (done.returncode, done.stdout) == (9, "own\n")
    assert _files(tmp_path) == []


@pytest.mark.parametrize(
    "end, code",
    [
        ("os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL),
        ("ctypes.string_at(0)", -signal.SIGSEGV),
        ("os._exit(3)", 3),
    ],
    ids=["killed", "segfault", "exit"],
)
def test_after_a_sudden_end_the_segments_on_disk_open(tmp_path, capsys, end, code):
    done = _run(tmp_path, SEGMENTS + end)
    assert done.returncode == code
    (name,) = _files(tmp_path)
    assert name.endswith(".segments")
    profile = torch.profiler.load(tmp_path / name)
    assert "Optimizer.step#SGD.step" in names(profile.store)
    assert not profile.validate()
    assert main(["show", str(tmp_path / name)]) == 0
    assert "aten::addmm" in capsys.readouterr().out


def test_a_process_started_by_another_has_a_recorder_of_its_own(tmp_path):
    end = "import subprocess\nsubprocess.run([sys.executable, '-c', 'import mindtorch_v2; raise ValueError(1)'])"
    done = _run(tmp_path, end)
    assert done.returncode == 0
    assert _dumped(tmp_path, "exception").metadata["flight"]["steps"] == 0

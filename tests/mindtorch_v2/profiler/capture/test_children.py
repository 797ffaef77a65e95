"""Processes that a program starts are part of its profile."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.profiler.analysis.steps import find_steps
from mindtorch_v2.profiler.analysis.validate import validate
from mindtorch_v2.profiler.record.descriptions import Metadata
from mindtorch_v2.profiler.store import processes
from mindtorch_v2.profiler.store.processes import clock_shift, joined_processes

from ..hand_made import E, make_store
from ..helpers import assert_sound, names

PROGRAM = """
import multiprocessing as mp, os, subprocess, sys
import torch
def work(name):
    getattr(torch.ones(4), name)()
    return os.getpid()
if __name__ == "__main__":
    torch.ones(4).abs()
    for method, name in (("fork", "exp"), ("spawn", "log"), ("forkserver", "sin")):
        child = mp.get_context(method).Process(target=work, args=(name,))
        child.start()
        child.join()
        assert child.exitcode == 0
    subprocess.run([sys.executable, "-c", "import torch; torch.ones(4).cos()"], check=True)
    child = os.fork()
    if child == 0:
        torch.ones(4).tan()
        os._exit(0)
    os.waitpid(child, 0)
    torch.ones(4).neg()
"""
TERMINATED = """
import multiprocessing as mp, signal, sys, time
import torch
def work(ready):
    torch.ones(4).exp()
    ready.set()
    while True:
        time.sleep(1)
if __name__ == "__main__":
    context = mp.get_context("fork")
    ready = context.Event()
    child = context.Process(target=work, args=(ready,))
    child.start()
    ready.wait()
    child.terminate()
    child.join()
    print(child.exitcode == -signal.SIGTERM)
    torch.ones(4).neg()
"""
LOADER = """
import torch
class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 8
    def __getitem__(self, i):
        return torch.ones(2).exp()
if __name__ == "__main__":
    for batch in torch.utils.data.DataLoader(Data(), batch_size=2, num_workers=2):
        batch.neg()
"""


def _profiled(folder, text: str, *options: str):
    (folder / "program.py").write_text(text)
    done = subprocess.run(
        [sys.executable, "-m", "mindtorch_v2.profiler", "run", "-q", "--no-report", "--all-processes", *options]
        + ["-o", "out.mindprof", "program.py"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=600,
        env={**os.environ, "PYTHONWARNINGS": "ignore", "TMPDIR": str(folder)},
    )
    assert done.returncode == 0, done.stderr
    assert sorted(os.listdir(folder)) == ["out.mindprof", "program.py"]  # nothing is left behind
    return torch.profiler.load(folder / "out.mindprof"), done


def _by_process(store) -> dict[int, Counter]:
    found: dict[int, Counter] = {}
    for row, name in enumerate(names(store)):
        found.setdefault(store.threads[store.thread[row]].process, Counter())[name] += 1
    return found


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_every_kind_of_child_is_there_with_its_own_tracks_and_times(tmp_path):
    profile, _ = _profiled(tmp_path, PROGRAM)
    store, found = profile.store, _by_process(profile.store)
    used = ("aten::abs", "aten::exp", "aten::log", "aten::sin", "aten::cos", "aten::tan", "aten::neg")
    assert len(found) == 6
    assert [sorted(set(c) & set(used)) for p, c in found.items() if p == 0] == [["aten::abs", "aten::neg"]]
    assert sorted(n for p, c in found.items() if p for n in set(c) & set(used)) == sorted(used[1:-1])
    assert set(store.metadata.other_processes) == {str(p) for p in found if p}
    starts = [int(store.start_ns[names(store).index(name)]) for name in used]
    assert starts == sorted(starts)  # one clock: in the order in which they ran
    assert not validate(store)
    profile.export_chrome_trace(tmp_path / "trace.json")
    again = torch.profiler.load(tmp_path / "trace.json")
    assert set(_by_process(again.store)) == set(found)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_child_that_is_terminated_has_written_before(tmp_path):
    profile, done = _profiled(tmp_path, TERMINATED, "--shapes")
    assert done.stdout == "True\n"
    found = _by_process(profile.store)
    assert len(found) == 2
    assert all(("aten::exp" in count) == (process != 0) for process, count in found.items())
    assert profile.store.inputs


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_workers_of_a_data_loader_are_there(tmp_path):
    profile, _ = _profiled(tmp_path, LOADER)
    found = _by_process(profile.store)
    assert found[0]["aten::neg"] == 4 and found[0]["aten::exp"] == 0
    assert sum(count["aten::exp"] for process, count in found.items() if process) == 8


# --- joining ------------------------------------------------------------------------------------------------------------
def _process(pid: int, at: int, *events: str):
    rows = [E(name, at + 10 * i, at + 10 * i + 5) for i, name in enumerate(events)]
    return make_store(rows).with_metadata(pid=pid, process_name="python", start_ns=at, stop_ns=at + 100)


def test_processes_keep_apart_what_each_counts_for_itself(monkeypatch):
    own, child = _process(1, 100, "a", "b"), _process(7, 105, "c")
    store = joined_processes(own, [child, _process(8, 90, "d")])
    assert names(store) == ["d", "a", "c", "b"]
    assert [store.threads[t].process for t in store.thread.tolist()] == [8, 0, 7, 0]
    assert len({store.threads[t].id for t in store.thread.tolist()}) == 3
    assert store.metadata.pid == 1
    assert dict(store.metadata.other_processes) == {"7": "python 7", "8": "python 8"}
    assert_sound(store)


def test_clocks_are_aligned_by_unix_time_where_each_process_has_its_own(monkeypatch):
    class Info:
        implementation = "QueryPerformanceCounter()"

    own, other = Metadata(epoch_offset_ns=1000), Metadata(epoch_offset_ns=1500)
    monkeypatch.setattr(processes.time, "get_clock_info", lambda name: Info)
    assert clock_shift(own, other) == 500  # a moment that is 0 there is 500 here
    Info.implementation = "clock_gettime(CLOCK_MONOTONIC)"
    assert clock_shift(own, other) == 0


def test_steps_are_those_of_the_program_itself():
    from mindtorch_v2.profiler.record.kinds import Kind

    def training(pid: int, at: int, steps: int):
        rows = [E("Optimizer.step#SGD.step", at + 10 * i, at + 10 * i + 5, Kind.SCOPE) for i in range(steps)]
        return make_store(rows).with_metadata(pid=pid, start_ns=at, stop_ns=at + 100)

    store = joined_processes(training(1, 100, 3), [training(2, 101, 5)])
    assert find_steps(store).end_ns.tolist() == [115, 125]  # the first begins at the first call's end

"""Sets of PyTorch's traces: kernels of NCCL, one file for each rank."""

from __future__ import annotations

import json
import os
import pickle
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mindtorch_v2.profiler import ProfileFileError, load_ranks

_KERNEL = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def _event(name: str, cat: str, pid: int, tid: int, ts: int, dur: int, **args: Any) -> dict[str, Any]:
    return {"ph": "X", "name": name, "cat": cat, "pid": pid, "tid": tid, "ts": ts, "dur": dur, "args": args}


def _trace(rank: int, base: int, compute: int, arrives: int, told: bool) -> dict[str, Any]:
    """One step: a kernel that computes, and an all_reduce that ends at 1,000 us on all ranks, in times that begin at
    `base`."""
    pid = 1000 + rank
    facts = {
        "Collective name": "allreduce",
        "In msg nelems": 250_000,
        "Out msg nelems": 250_000,
        "Group size": 2,
        "dtype": "Float",
        "Process Group Name": "0",
        "Process Group Ranks": "[0, 1]",
        **({"Seq": 12} if told else {}),
    }
    events = [
        _event("ProfilerStep#5", "user_annotation", pid, pid, base, 1_000),
        _event("aten::mm", "cpu_op", pid, pid, base, 20, **{"External id": 1}),
        _event("cudaLaunchKernel", "cuda_runtime", pid, pid, base + 5, 5, correlation=1),
        _event("gemm", "kernel", rank, 7, base, compute, device=rank, stream=7, correlation=1),
        _event("nccl:all_reduce", "user_annotation", pid, pid, base + 30, 20),
        _event("cudaLaunchKernel", "cuda_runtime", pid, pid, base + 35, 5, correlation=2),
        _event(
            _KERNEL, "kernel", rank, 20, base + arrives, 1_000 - arrives, device=rank, stream=20, correlation=2, **facts
        ),
    ]
    info = {"backend": "nccl", "rank": rank, "world_size": 2}
    return {"schemaVersion": 1, "distributedInfo": info, "host_name": "a", "traceEvents": events}


@pytest.mark.parametrize("told", [True, False])
def test_kernels_of_nccl_are_found_again_on_all_ranks(tmp_path: Path, told: bool) -> None:
    for rank, (compute, arrives) in enumerate(((300, 200), (800, 800))):
        text = json.dumps(_trace(rank, 10_000, compute, arrives, told))
        (tmp_path / f"worker{rank}.pt.trace.json").write_text(text)
    job = load_ranks(tmp_path, workers=1)
    assert job.problems == [] and job.alignments[1].source == "same machine" and job.alignments[1].offset_ns == 0
    us = 1000
    # Rank 0 computes to 300, then waits to 800 for rank 1, and the transfer takes the last 200.
    assert [tuple(row) for row in job.time_by_rank] == [
        (0, 1_000 * us, 300 * us, 200 * us, 500 * us, 0, 0),
        (1, 1_000 * us, 800 * us, 200 * us, 0, 0, 0),
    ]
    assert job.straggler is not None and (job.straggler.rank, job.straggler.where) == (1, "gemm")
    (found,) = job.bandwidths
    assert (found.name, found.nbytes, found.transfer_ns, found.algorithm) == ("all_reduce", 10**6, 200 * us, 5e9)


def test_a_file_that_cannot_be_read_is_left_out_and_told_of(tmp_path: Path) -> None:
    for rank in range(2):
        (tmp_path / f"{rank}.json").write_text(json.dumps(_trace(rank, 0, 100, 200, True)))
    (tmp_path / "broken.json").write_text("no trace")
    job = load_ranks(tmp_path, workers=1)
    assert len(job.ranks) == 2 and any("broken.json" in text and "is left out" in text for text in job.problems)
    with pytest.raises(ValueError, match="broken.json"):
        load_ranks(tmp_path, workers=1, strict=True)


def test_a_folder_without_profiles_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ProfileFileError, match="without profiles or traces"):
        load_ranks(tmp_path)


def test_one_trace_of_all_ranks(tmp_path: Path) -> None:
    for rank in range(2):
        (tmp_path / f"{rank}.json").write_text(json.dumps(_trace(rank, 0, 100, 200, True)))
    out = tmp_path / "all" / "ranks.json"
    out.parent.mkdir()
    load_ranks(tmp_path, workers=1).export_chrome_trace(out)
    made = json.loads(out.read_text())["traceEvents"]
    assert sum(event.get("name") == "gemm" for event in made) == 2
    names = {event["args"]["name"] for event in made if event["name"] == "process_name"}
    assert {"rank 0", "rank 1"} <= names


class _Client:
    """What is used of a Dask client; everything that travels is pickled, as there."""

    def __init__(self, address: str, set_as_default: bool = True) -> None:
        self.address, self.sent = address, 0

    def __enter__(self) -> _Client:
        return self

    def __exit__(self, *exc: object) -> None:
        assert self.address == "tcp://scheduler:8786" and self.sent < 1000  # the names of two files and a function

    def map(self, function: Any, paths: list[str], pure: bool) -> list[bytes]:
        assert all(os.path.isabs(path) for path in paths) and not pure  # workers have folders of their own
        sent = pickle.dumps((function, paths))
        self.sent += len(sent)
        function, paths = pickle.loads(sent)
        return [pickle.dumps(function(path)) for path in paths]

    def gather(self, results: list[bytes]) -> list[Any]:
        return [pickle.loads(result) for result in results]


def test_a_dask_cluster_gives_the_same_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for rank in range(2):
        (tmp_path / f"{rank}.json").write_text(json.dumps(_trace(rank, 0, 100, 200, True)))
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(RuntimeError, match=r"pip install 'mindtorch_v2\[fleet\]'"):
        load_ranks(tmp_path, scheduler="tcp://scheduler:8786")
    monkeypatch.setitem(sys.modules, "distributed", SimpleNamespace(Client=_Client))
    monkeypatch.chdir(tmp_path.parent)
    made = load_ranks(tmp_path.name, scheduler="tcp://scheduler:8786")
    assert made.as_json() == load_ranks(tmp_path, workers=1).as_json()


def test_a_pool_of_processes_gives_the_same_answer(tmp_path: Path) -> None:
    for rank in range(2):
        (tmp_path / f"{rank}.json").write_text(json.dumps(_trace(rank, 0, 100, 200, True)))
    assert load_ranks(tmp_path, workers=2).as_json() == load_ranks(tmp_path, workers=1).as_json()


@pytest.mark.parametrize(("world_size", "told"), [(2, 2), (128, 128), (0, 2)])
def test_groups_of_unknown_size_are_the_job_where_all_ranks_at_hand_took_part(
    tmp_path: Path, world_size: int, told: int
) -> None:
    for rank in range(2):
        trace = _trace(rank, 0, 100, 200, True)
        trace["distributedInfo"]["world_size"] = world_size
        del trace["traceEvents"][-1]["args"]["Group size"]  # as PyTorch wrote traces before 2.2
        (tmp_path / f"{rank}.json").write_text(json.dumps(trace))
    (found,) = load_ranks(tmp_path, workers=1).bandwidths
    assert found.size == told and found.bus == pytest.approx(found.algorithm * 2 * (told - 1) / told)

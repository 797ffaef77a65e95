"""Processes with an NPU each, on the simulator, over HCCL: `torch.distributed` with the backend "hccl"."""

from __future__ import annotations

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

from mindtorch_v2 import profiler
from mindtorch_v2.distributed._mpi import is_installed

from .test_on_the_simulator import library  # noqa: F401 - a fixture

PROGRAMS = pathlib.Path(__file__).parent / "programs"
LONGEST = 300  # seconds after which a job that hangs is ended; nothing is asserted about it
pytestmark = [
    pytest.mark.skipif(not is_installed(), reason="mpi4py is not installed"),
    pytest.mark.skipif(
        shutil.which(os.environ.get("CC", "gcc")) is None, reason="there is no C compiler to build the simulator with"
    ),
]


@pytest.fixture
def job(library, tmp_path):  # noqa: F811
    """job(program) -> what each of two processes wrote as JSON; job.run(program) -> the finished launcher."""

    def run(program, **environment):
        command = [sys.executable, "-m", "mindtorch_v2.distributed.run", "--nproc-per-node", "2"]
        return subprocess.run(
            [*command, str(PROGRAMS / program), str(tmp_path)],
            env={**os.environ, "MINDTORCH_NPU_SIM": "1", "MINDTORCH_NPU_LIB": library, **environment},
            capture_output=True,
            text=True,
            timeout=LONGEST,
            check=False,
        )

    def results(program):
        done = run(program)
        assert done.returncode == 0, done.stdout + done.stderr
        return [json.loads((tmp_path / f"rank{rank}.json").read_text()) for rank in range(2)]

    results.run, results.folder = run, tmp_path
    return results


def test_every_collective_gives_its_values(job):
    made = job("hccl_collectives.py")
    for rank, got in enumerate(made):
        assert got["backend"] == "hccl"
        for name in ("int8", "int16", "int32", "int64", "uint8", "float16", "bfloat16", "float32"):
            assert got[f"sum {name}"] == [f"torch.{name}", [1, 2, 6]]
        assert got["sum bool"] == ["torch.bool", [True, True, True]]
        assert got["PRODUCT"] == [[2.0, 4.0]] and got["MAX"] == [[2.0, -2.0]] and got["MIN"] == [[1.0, -2.0]]
        assert got["AVG"] == [[1.5, -2.0]]
        assert (
            got["strided"] == [[[1.0, 7.0], [3.0, 9.0], [5.0, 11.0]]] and got["completed"] and got["future"] == [[2.0]]
        )
        assert got["broadcast"] == [[[1.0, 1.0], [1.0, 1.0]]]
        assert got["reduce"] == [[3.0 if rank == 1 else 1.0]]
        assert got["all_gather"] == [[0.0, 10.0], [1.0, 11.0]]
        assert got["into"] == [[[True, True], [False, True]]]
        assert got["reduce_scatter_tensor"] == [[2.0, 4.0] if rank == 0 else [6.0, 8.0]]
        assert got["reduce_scatter"] == [[2.0, 0.0] if rank == 0 else [5.0, 1.0]]
        assert got["scatter"] == [[7 + rank]]
        assert got["recv"] == [[1.5] * 4] and got["batch"] == [[1.0 - rank]]
        assert got["objects"] == [{"rank": 0}, {"rank": 1}] and got["both"] == [[2.0], [2.0]]
        assert got["cpu"].startswith("No backend type associated with device type cpu")
        assert "HCCL cannot add tensors of type torch.float64" in got["float64"]
        assert "Cannot use ReduceOp.BAND with HCCL" in got["BAND"]
    assert made[0]["gather"] == [[0.0], [1.0]] and made[1]["sender"] == 0
    assert made[0]["all_to_all"] == [[5.0], [10.0]] and made[1]["all_to_all"] == [[6.0], [1.0, 1.0]]
    assert made[0]["all_to_all_single"] == [[[0.0, 1.0], [100.0, 101.0], [102.0, 103.0]]]
    assert made[1]["all_to_all_single"] == [[[2.0, 3.0], [104.0, 105.0]]]


def test_training_is_that_of_one_process_and_its_profile_has_the_communication(job):
    made = job("hccl_training.py")
    losses, weights = made[0]["alone"]
    assert made[0]["together"][1] == made[1]["together"][1]
    assert made[0]["together"][1] == pytest.approx(weights, rel=1e-5, abs=1e-6)
    halves = [(a + b) / 2 for a, b in zip(made[0]["together"][0], made[1]["together"][0])]
    assert halves == pytest.approx(losses, rel=1e-5, abs=1e-6)
    for got in made:
        assert got["kernels"].count("hcom_broadcast_") == 4  # the parameters
        assert got["kernels"].count("hcom_allReduce_") % 3 == 0 and got["kernels"].count("hcom_allReduce_") > 0
        assert {"HcclAllReduce", "HcclBroadcast", "hccl:all_reduce", "hccl:broadcast"} <= {*got["calls"]}
    ranks = profiler.load_ranks(str(job.folder))
    assert "all_reduce" in {b.name for b in ranks.bandwidths}


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("1:3:hang", "HcclAllReduce on stream .*rank 1 did not take part in time"),
        ("1:3:4", "HcclAllReduce failed with code 4"),
    ],
)
def test_a_rank_that_fails_is_named_with_the_collective_and_the_line(job, fault, words):
    done = job.run("hccl_fault.py", ASCEND_SIM_HCCL_FAULT=fault)
    said = done.stdout + done.stderr
    assert done.returncode != 0
    assert re.search(words, said), said
    assert re.search(r"all_reduce\(\[3\] torch.float32\) at .*hccl_fault.py:14", said), said

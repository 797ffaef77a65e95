"""Profiles of the processes of a job, recorded by a real one: what they say of collectives, and all of them as one."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from mindtorch_v2 import profiler
from mindtorch_v2.distributed import _clock
from mindtorch_v2.distributed._mpi import is_installed

from .conftest import LONGEST, PROGRAMS, launch

SIZE = 3


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The profiles and traces of a job of three processes."""
    if not is_installed():
        pytest.skip("mpi4py is not installed")
    made = tmp_path_factory.mktemp("job")
    (made / "traces").mkdir()
    done = launch(SIZE, PROGRAMS / "profiled.py", str(made))
    assert done.returncode == 0, done.stdout + done.stderr
    return made


def test_a_trace_tells_the_processes_place_and_groups_as_pytorch_does(folder: Path) -> None:
    for rank in range(SIZE):
        head = json.loads((folder / "traces" / f"{rank}.json").read_text())
        everyone = {
            "pg_name": "0",
            "pg_desc": "default_pg",
            "backend_config": "cpu:gloo",
            "pg_size": 3,
            "ranks": [0, 1, 2],
        }
        two = {"pg_name": "1", "pg_desc": "undefined", "backend_config": "cpu:gloo", "pg_size": 2, "ranks": [0, 1]}
        groups = [everyone, two] if rank < 2 else [everyone]
        told = {"backend": "gloo", "rank": rank, "world_size": SIZE, "pg_count": len(groups), "pg_config": groups}
        assert head["distributedInfo"] == told
        # On a busy machine the job's clock may answer too late, and an exchange is left out.
        assert all(len(ping) == 3 and ping[2] >= 0 for ping in head["clockAlignment"]["pings"])
        assert len(head["clockAlignment"]["pings"]) <= 2 and head["clockAlignment"]["clock"] == _clock.identity()


def test_collectives_are_events_with_size_group_and_number(folder: Path) -> None:
    events = json.loads((folder / "traces" / "0.json").read_text())["traceEvents"]
    found = [event for event in events if event.get("name", "").startswith("gloo:") and event["ph"] == "X"]
    found.sort(key=lambda event: event["ts"])
    numbers = [
        (e["name"], e["args"]["Process Group Name"], e["args"]["Seq"], e["args"]["In msg nelems"]) for e in found
    ]
    first = numbers[0][2]  # what DistributedDataParallel exchanged before
    assert numbers == [
        ("gloo:all_reduce", "0", first, 72),
        ("gloo:all_reduce", "0", first + 1, 72),
        ("gloo:all_reduce", "0", first + 2, 1000),
        ("gloo:broadcast", "0", first + 3, 1000),
        ("gloo:all_gather", "0", first + 4, 10),
        ("gloo:all_reduce", "1", 0, 1000),
        ("gloo:all_reduce", "0", first + 5, 1000),
        ("gloo:barrier", "0", first + 6, 0),
    ]
    assert found[3]["args"]["Src Rank"] == 1 and found[4]["args"]["Out msg nelems"] == 30
    assert found[4]["args"]["dtype"] == "Long" and found[5]["args"]["Process Group Ranks"] == "[0, 1]"
    calls = {event["name"] for event in events if event.get("name", "").startswith("c10d::")}
    assert {"c10d::allreduce_", "c10d::broadcast_", "c10d::allgather_", "c10d::barrier"} <= calls


@pytest.mark.parametrize("where", [".", "traces"])
def test_all_ranks_are_one_answer(folder: Path, where: str) -> None:
    job = profiler.load_ranks(folder / where, workers=1, strict=True)
    assert job.problems == [] and [rank.rank for rank in job.ranks] == [0, 1, 2]
    assert [found.source for found in job.alignments] == ["reference", "same clock", "same clock"]
    names = sorted(zip(job.meetings.name, job.meetings.nbytes.tolist(), job.meetings.ranks.tolist()))
    assert names == sorted(
        [
            ("all_gather", 240, 3),
            *[("all_reduce", 288, 3)] * 2,
            *[("all_reduce", 4000, 3)] * 2,
            ("all_reduce", 4000, 2),
            ("barrier", 0, 3),
            ("broadcast", 4000, 3),
        ]
    )
    for row in job.time_by_rank:
        assert row.wall_ns == sum(row[2:]) and min(row[2:]) >= 0
    store = job.store()
    assert {thread.process for thread in store.threads} == {(1 << 24) + rank for rank in range(SIZE)}
    assert len(store) == sum(rank.events for rank in job.ranks)


def test_the_command_line_shows_and_reports_a_folder(folder: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mindtorch_v2.profiler"]
    shown = subprocess.run([*command, "show", str(folder), "--json"], capture_output=True, text=True, check=True)
    assert [row["rank"] for row in json.loads(shown.stdout)["time_by_rank"]] == [0, 1, 2]
    page = tmp_path / "job.html"
    subprocess.run([*command, "report", str(folder), "-o", str(page)], capture_output=True, text=True, check=True)
    text = page.read_text()
    assert "all 3 ranks" in text and "rank 2: MainThread" in text and "gloo:all_reduce" in text


def test_a_clock_is_read_with_its_uncertainty() -> None:
    # The server's clock says 5,000; the asker's advances by 10 at each look: asked at 10, answered by 20, and so on.
    server = _clock.ClockServer(now=lambda: 5_000)
    ticks = iter(range(10, 10_000, 10))
    found = _clock.read(server.address, lambda: next(ticks), patience=LONGEST)
    assert found == _clock.Reading(15, 4985, 5)
    server.close()
    assert not server.close.alive


def test_a_clock_that_is_gone_is_no_clock() -> None:
    import socket

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:  # nobody reads what it receives
        taken.bind(("127.0.0.1", 0))
        assert _clock.read(f"127.0.0.1:{taken.getsockname()[1]}", iter(range(1000)).__next__) is None


@pytest.mark.parametrize(("how", "saved"), [("killed", [0, 2]), ("raises", [0, 1, 2])])
def test_processes_whose_job_fails_save_their_profiles(tmp_path: Path, how: str, saved: list[int]) -> None:
    if not is_installed():
        pytest.skip("mpi4py is not installed")
    done = launch(SIZE, PROGRAMS / "dying.py", how, str(tmp_path))
    assert done.returncode != 0
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"rank{rank}.mindprof" for rank in saved]
    for rank in saved:
        names = {event.name for event in profiler.load(str(tmp_path / f"rank{rank}.mindprof")).events()}
        assert "c10d::allreduce_" in names

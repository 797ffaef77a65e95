"""Groups of processes that no launcher started."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from mindtorch_v2.distributed import _pmi_server
from mindtorch_v2.distributed._mpi import is_installed
from mindtorch_v2.distributed._rendezvous import mapping_of
from mindtorch_v2.distributed.store import HashStore, PrefixStore, TCPStore

from .conftest import LONGEST, PROGRAMS


@pytest.mark.skipif(not is_installed(), reason="mpi4py is not installed")
def test_spawned_processes_form_groups(tmp_path: Path) -> None:
    work = tmp_path
    command = [sys.executable, "-m", "mindtorch_v2", str(PROGRAMS / "spawned.py"), str(work)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    for rank in range(3):
        made = json.loads((work / f"rank{rank}.json").read_text())
        # The gradient of a sum is the sum of the inputs: 2 rows of `rank`; the mean over ranks 0, 1, 2 is 2.
        assert made == {"gradients": [[[2.0] * 3] * 2] * 3, "rank": rank, "group": 3, "again": 3}
    parent = json.loads((work / "parent.json").read_text())
    assert "ValueError: a fault in rank 1" in parent["told"]
    assert "the process of rank 1 has ended" in parent["left"] and "barrier() at" in parent["left"]
    assert "1 of 3 processes came within 0.2 s; missing are the ranks 1, 2" in parent["alone"]


def test_machines_are_told_in_runs_of_ranks() -> None:
    assert mapping_of(["a", "a", "a"]) == "(vector,(0,1,3))"
    assert mapping_of(["a", "b", "b", "a"]) == "(vector,(0,1,1),(1,1,2),(0,1,1))"


class _Client:
    """What a process manager sends to one process."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def sendall(self, data: bytes) -> None:
        self.lines += data.decode().splitlines()

    def take(self) -> list[str]:
        taken, self.lines = self.lines, []
        return taken


def test_the_process_manager_hands_on_values_and_holds_the_barrier() -> None:
    server = _pmi_server.Server(2, "(vector,(0,1,2))")
    first, second = _Client(), _Client()
    for rank, client in enumerate((first, second)):
        server.answer(client, f"cmd=initack pmiid={rank}")
        assert client.take() == ["cmd=initack rc=0", "cmd=set size=2", f"cmd=set rank={rank}", "cmd=set debug=0"]
    server.answer(first, "cmd=put kvsname=x key=a value=1 2=3")
    assert first.take() == ["cmd=put_result rc=0 msg=success"]
    server.answer(first, "cmd=barrier_in")
    assert first.take() == []
    server.answer(second, "cmd=barrier_in")
    assert first.take() == second.take() == ["cmd=barrier_out rc=0 msg=success"]
    server.answer(second, "cmd=get kvsname=x key=a")
    assert second.take() == ["cmd=get_result rc=0 msg=success value=1 2=3"]
    server.answer(second, "cmd=get kvsname=x key=b")
    assert second.take()[0].startswith("cmd=get_result rc=-1")
    server.answer(second, "cmd=spawn")
    assert second.take()[0].startswith("cmd=spawn_result rc=-1")
    assert not server.left(first) and server.left(second)


@pytest.mark.parametrize("kind", [HashStore, lambda: TCPStore("127.0.0.1", 0, is_master=True)])
def test_a_prefix_keeps_keys_apart_in_every_store(kind) -> None:
    below = kind()
    one, other = PrefixStore("one", below), PrefixStore("other", below)
    one.set("k", "1")
    assert one.add("n", 2) == 2 and not other.check(["k"]) and below.get("one/k") == b"1"
    assert one.compare_set("k", "1", "2") == b"2" and one.delete_key("k") and not one.check(["k"])

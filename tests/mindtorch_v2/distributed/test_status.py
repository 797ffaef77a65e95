"""The files in which processes note what they are doing, for the others to read."""

from __future__ import annotations

import mmap
from collections.abc import Callable
from pathlib import Path

import pytest

from mindtorch_v2.distributed import _status


def test_a_file_that_others_read_is_cleared_but_never_gets_shorter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that forms a second group begins its file anew; a mapping beyond a file's end would end the readers."""
    monkeypatch.setenv("MINDTORCH_DISTRIBUTED_STATUS", str(tmp_path))
    for name in ("_board", "_own_rank", "_counts"):
        monkeypatch.setattr(_status, name, getattr(_status, name))
    _status.open_board(0)
    _status.begin("all_reduce()", "all_reduce()", 0)
    with open(tmp_path / "rank0", "rb") as file:
        reader = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        inode = (tmp_path / "rank0").stat().st_ino
    assert b"all_reduce()" in reader[:]
    sizes = []
    monkeypatch.setattr(_status.os, "ftruncate", lambda file, size: sizes.append(size))
    _status.open_board(0)
    assert set(sizes) == {len(reader)} and reader[:] == bytes(len(reader))
    assert (tmp_path / "rank0").stat().st_ino == inode
    _status.begin("barrier()", "barrier()", 0)
    assert b"barrier()" in reader[:]


@pytest.fixture
def two_boards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """become(rank): what is noted from now on is that rank's, as in a process of its own."""
    monkeypatch.setenv("MINDTORCH_DISTRIBUTED_STATUS", str(tmp_path))
    for name, value in (("_board", None), ("_own_rank", -1), ("_counts", {}), ("_others", {})):
        monkeypatch.setattr(_status, name, value)

    def become(rank: int) -> None:
        _status.open_board(rank)
        _status._others.clear()

    return become


def test_different_collectives_of_a_smaller_group_are_told_apart(two_boards: Callable[[int], None]) -> None:
    pair, other = _status.group_id([0, 1], 0), _status.group_id([0, 1], 1)
    two_boards(1)
    _status.begin("barrier()", "barrier()", other, " of the group of ranks [0, 1]")
    assert _status.difference(_status.begin("all_gather([2])", "all_gather([2])", pair)) == ""
    two_boards(0)
    # rank 1 has called a barrier in another group of the same ranks, which is nothing to compare with
    entry = _status.begin("all_reduce([3])", "all_reduce([3])", pair, " of the group of ranks [0, 1]")
    assert entry.text.startswith("all_reduce([3]) at ")
    told = _status.difference(entry)
    assert "communication 1 of the group of ranks [0, 1] is all_reduce([3]) at" in told
    assert "on rank 0, and all_gather([2]) at" in told and told.endswith("on rank 1")


def test_a_refused_call_is_not_counted(two_boards: Callable[[int], None]) -> None:
    two_boards(0)
    first = _status.begin("all_reduce([3])", "all_reduce([3])", 0)
    _status.withdraw(_status.begin("gather()", "gather()", 0))
    assert _status.begin("barrier()", "barrier()", 0).key == first.key + 1

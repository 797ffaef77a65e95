"""The files in which processes note what they are doing, for the others to read."""

from __future__ import annotations

import mmap
from pathlib import Path

import pytest

from mindtorch_v2.distributed import _status


def test_a_file_that_others_read_is_cleared_but_never_gets_shorter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that forms a second group begins its file anew; a mapping beyond a file's end would end the readers."""
    monkeypatch.setenv("MINDTORCH_DISTRIBUTED_STATUS", str(tmp_path))
    for name in ("_board", "_own_rank", "_common"):
        monkeypatch.setattr(_status, name, getattr(_status, name))
    _status.open_board(0)
    _status.begin("all_reduce()", "all_reduce()", True)
    with open(tmp_path / "rank0", "rb") as file:
        reader = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        inode = (tmp_path / "rank0").stat().st_ino
    assert b"all_reduce()" in reader[:]
    sizes = []
    monkeypatch.setattr(_status.os, "ftruncate", lambda file, size: sizes.append(size))
    _status.open_board(0)
    assert set(sizes) == {len(reader)} and reader[:] == bytes(len(reader))
    assert (tmp_path / "rank0").stat().st_ino == inode
    _status.begin("barrier()", "barrier()", True)
    assert b"barrier()" in reader[:]

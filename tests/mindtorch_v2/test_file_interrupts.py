"""Ctrl-C while a file is written: what was there stays whole, and nothing is left for good."""

from __future__ import annotations

import gc
import os

import pytest

from mindtorch_v2._files import atomic_file

from .interrupts import interrupted, lines_hit

pytest.importorskip("fcntl")


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_no_handle_stays_open_and_the_next_write_removes_what_is_left(tmp_path):
    def save():
        with atomic_file(tmp_path / "x") as out:
            out.write(b"new")

    save()
    moment, handles = 0, len(os.listdir("/proc/self/fd"))
    while interrupted(moment, save):
        gc.collect()
        assert (tmp_path / "x").read_bytes() == b"new"
        assert len(os.listdir("/proc/self/fd")) == handles, lines_hit[-1:]
        moment += 1
    save()
    assert os.listdir(tmp_path) == ["x"] and moment > 20

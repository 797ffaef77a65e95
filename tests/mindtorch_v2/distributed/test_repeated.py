"""all_reduce that one line of a program asks for again and again."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.distributed import _repeated, _status
from mindtorch_v2.distributed import work as work_module

from .conftest import launch


def test_results_of_everything_that_one_line_reduces(run_ranks: Callable[..., list[Any]]) -> None:
    first, second = run_ranks("repeated.py", 2)
    for found in (first, second):
        assert found["again"] == [[[3.0] * 3] * 2, [[6.0] * 3] * 2, [[12.0] * 3] * 2]
        assert found["versions"] == 3
        assert found["ops"] == [1.5, 2.0, 1.5, 3.0, 2.0]
        assert found["types"] == [2.0, 2.0, 2.0, 2.0, 1.0, 2.0, 2.0]
        assert found["number"] == [1.0, 1.0]
        assert found["nothing"] == [[0, 2], [0, 2]]
        assert found["strided"] == [[[1.0, 1.0]] * 2, [[2.0, 2.0]] * 2]
        assert found["groups"] == [3.0, 3.0, 3.0, 3.0]
        assert found["refused"][0] == "RuntimeError: Cannot use ReduceOp.BAND with floating point tensors"
        assert found["refused"][1].startswith("NotImplementedError: torch.distributed carries dense tensors")
        assert found["refused"][2].startswith("TypeError: Invalid function argument. Expected parameter `tensor`")
        assert found["late"] == [1, 3, 5, 7]
        assert found["mixed"] == [1.0, 3.0, 5.0, 7.0]
    assert first["recorded"] == ["c10d::allreduce_"] * 3


@pytest.mark.usefixtures("run_ranks")
def test_a_line_that_has_agreed_before_is_still_compared(tmp_path: Path) -> None:
    program = tmp_path / "differs.py"
    program.write_text(
        "import torch, torch.distributed as dist\n"
        "dist.init_process_group('gloo')\n"
        "small, large = torch.ones(2, 2), torch.ones(4)\n"
        "for i in range(6):\n"
        "    x = large if i == 5 and dist.get_rank() == 1 else small\n"
        "    dist.all_reduce(x)\n"
    )
    done = launch(2, program)
    assert done.returncode != 0
    text = done.stdout + done.stderr
    assert "Processes called different collectives: communication 6 is all_reduce(" in text
    assert "all_reduce([2, 2] torch.float32) at" in text and "all_reduce([4] torch.float32) at" in text
    assert f"{program}:6" in text


def test_a_prepared_note_is_the_note_of_the_general_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINDTORCH_DISTRIBUTED_STATUS", str(tmp_path))
    for name, value in (("_board", None), ("_own_rank", -1), ("_counts", {}), ("_others", {})):
        monkeypatch.setattr(_status, name, value)
    _status.open_board(0)
    line = sys._getframe().f_lineno + 1
    entry = _status.begin("all_reduce([3])", "all_reduce([3])", 5, " of a group")
    written = (tmp_path / "rank0").read_bytes()
    entry.finish()
    done = (tmp_path / "rank0").read_bytes()
    assert done != written
    _status.withdraw(entry)
    note = _status.Note("all_reduce([3])", __file__, line, 5, " of a group")
    key = note.begin()
    assert note.entry(key) == entry
    assert (tmp_path / "rank0").read_bytes() == written
    note.finish()
    assert (tmp_path / "rank0").read_bytes() == done
    assert note.agrees(key)
    _status.open_board(1)
    _status._others.clear()
    _status.begin("barrier()", "barrier()", 5)
    assert not note.agrees(key)
    assert note.agrees(key + 1)


class _Interrupted:
    """A request of MPI that the user interrupts; done when it is asked for the third time."""

    asked = 0

    def Test(self, status: Any = None) -> bool:  # noqa: N802  - mpi4py's name
        self.asked += 1
        if self.asked == 1:
            raise KeyboardInterrupt
        return self.asked == 3


def test_an_interrupted_call_keeps_its_tensor_until_mpi_has_ended() -> None:
    tensor, request = torch.ones(3), _Interrupted()
    note = _status.Note("all_reduce([3])", __file__, 1, 7, "")
    group = SimpleNamespace(timeout=SimpleNamespace(total_seconds=lambda: 60.0))
    known: Any = SimpleNamespace(note=note, group=group, divisor=2)
    with pytest.raises(KeyboardInterrupt):
        _repeated._is_done(request, known, note.begin(), tensor)
    work_module.sweep()
    assert tensor.tolist() == [1.0] * 3 and len(work_module._dropped) == 1
    work_module.sweep()
    assert tensor.tolist() == [0.5] * 3 and not work_module._dropped

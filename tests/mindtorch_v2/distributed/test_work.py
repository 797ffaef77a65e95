"""Works whose communication has several parts."""

from __future__ import annotations

import weakref
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2.distributed import _status
from mindtorch_v2.distributed.work import Work, sweep


class _Request:
    """What MPI gives: done when it is asked for the `asked`-th time."""

    def __init__(self, asked: int) -> None:
        self.left = asked

    def Test(self, status: Any = None) -> bool:  # noqa: N802  - mpi4py's name
        self.left -= 1
        return self.left <= 0


def test_a_further_part_begins_when_the_one_before_is_done() -> None:
    seen: list[str] = []

    def second() -> tuple[list[Any], Any]:
        seen.append("first is done")
        return [_Request(2)], lambda: seen.append("second is done")

    work = Work([_Request(2)], second, [], _status.Entry("exchange", 0, 0, ""), 60.0)
    assert not work.is_completed()
    assert seen == []
    assert not work.is_completed()
    assert seen == ["first is done"]
    assert work.is_completed()
    assert seen == ["first is done", "second is done"]
    assert work.wait()
    assert seen == ["first is done", "second is done"]
    assert work.source_rank() == -1


def test_tensors_of_a_work_that_nobody_waits_for_live_until_it_has_ended() -> None:
    told: list[str] = []
    tensor = torch.ones(3)
    alive = weakref.ref(tensor)
    Work([_Request(3)], lambda: told.append("arrived"), [tensor], _status.Entry("all_reduce", 0, 0, ""), 60.0)
    del tensor
    sweep()
    sweep()
    assert alive() is not None and told == []
    sweep()
    assert alive() is None and told == ["arrived"]

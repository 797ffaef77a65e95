"""Processes with different numbers of batches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2.distributed.algorithms.join import Join, Joinable, JoinHook

SIZE = 3
STEPS = 2 * (SIZE - 1)


def _alone(kind: Any = torch.optim.SGD, effective: bool = False, accumulate: bool = False) -> list[float]:
    """The same training in one process: each step takes the batches of the processes that have one."""
    torch.manual_seed(0)
    first, second, third = nn.Linear(3, 2), nn.Linear(3, 2), nn.Linear(3, 2)
    net = nn.ModuleList([first, second, third])
    optimizer = kind(net.parameters(), lr=0.1)
    for step in range(STEPS):
        there = [rank for rank in range(SIZE) if step < 2 * rank]
        for rank in there:
            x = torch.randn(4, 3, generator=torch.Generator().manual_seed(10 * rank + step))
            y = first(x) + (second(x) if rank == 2 else 0)
            ((y**2).mean() / (len(there) if effective else SIZE)).backward()
        if accumulate and step % 2 == 0:
            continue
        optimizer.step()
        optimizer.zero_grad()
    return [value for p in net.parameters() for value in p.detach().flatten().tolist()]


def test_processes_without_batches_take_part_in_the_steps_of_the_others(run_ranks: Callable[..., list[Any]]) -> None:
    everyone = run_ranks("uneven.py", SIZE)
    want = {
        "plain": _alone(),
        "effective": _alone(effective=True),
        "accumulated": _alone(accumulate=True),
        "adam": _alone(torch.optim.Adam),
        "zero": _alone(torch.optim.Adam),
    }
    for rank, made in enumerate(everyone):
        for name, values in want.items():
            weights, seen = made[name]
            # Adam divides by the gradient's size, so that an error of one unit in a gradient moves a weight by the
            # learning rate times the gradient's relative error; sums of 12 terms in each step.
            np.testing.assert_allclose(weights, values, rtol=0, atol=STEPS * 0.1 * 12 * 64 * 2.0**-24, err_msg=name)
            assert weights == everyone[0][name][0] and seen == STEPS  # the last process's, which did all steps
        assert made["count"] == [[3, 5, 6][rank], rank == 2, 3]
        assert made["with gradient"] == [True] * 4 + [False] * 2
    assert [made["ended"] for made in everyone] == [
        "Rank 0 exhausted all inputs.",
        *["Detected at least one rank that exhausted inputs. Throwing across all ranks."] * 2,
    ]


def test_a_context_that_is_not_enabled_does_nothing() -> None:
    class Part(Joinable):
        def __init__(self) -> None:
            super().__init__()

        def join_hook(self, **kwargs: Any) -> JoinHook:
            raise AssertionError("not enabled")

        join_device = "cpu"  # type: ignore[assignment]
        join_process_group = None  # type: ignore[assignment]

    part = Part()
    with Join([part], enable=False):
        assert Join.notify_join_context(part) is None
    with pytest.raises(ValueError, match="The join context manager requires at least one joinable"):
        Join([])

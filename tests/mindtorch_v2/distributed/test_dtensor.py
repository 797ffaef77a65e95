"""Tensors that lie in several processes, and layers spread over them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

UNIT = 2.0**-24


def test_dtensors_give_what_whole_tensors_give(run_ranks: Callable[..., list[Any]]) -> None:
    for rank, made in enumerate(run_ranks("dtensor.py", 2)):
        # sums of at most 24 products whose terms are below 8, in another order; a chain of four such steps
        assert {name: value for name, value in made["rules"].items() if value > 4 * 24 * 8 * UNIT} == {}
        assert len(made["rules"]) == 9 * 7 + 3 * 8
        assert made["uneven"] == [[0, 1, 2] if rank == 0 else [3, 4], [0, 2, 4, 6, 8], [5]]
        assert made["partial"] == [[3, 3, 3], [rank + 1] * 3]
        assert made["parameter"] == [True, True, [5]] and made["mixed"]
        # Adam moves a weight by the learning rate times the relative error of its gradient, at most by all of it
        assert max(made["training"]) <= 3 * 0.01 * 2.0**-6
        assert max(made["sequence"]) <= 64 * 24 * UNIT

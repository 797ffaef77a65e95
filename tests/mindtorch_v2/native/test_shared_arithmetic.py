"""Sums, products and quotients that several threads share equal those of numpy bit by bit."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import mindtorch_v2 as torch

OPERATIONS: list[Callable[[Any, Any], Any]] = [operator.add, operator.mul, operator.truediv]


@pytest.fixture(params=[1, 2])
def threads(request: pytest.FixtureRequest) -> Iterator[int]:
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


@pytest.mark.parametrize("kind", ["float32", "float64", "int64"])
@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda o: o.__name__)
@pytest.mark.parametrize("shape", [(3000,), (700, 900), (2, 0, 4000), (1, 600_001)], ids=str)
def test_results_are_those_of_numpy(operation: Any, shape: tuple[int, ...], kind: str, threads: int) -> None:
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-9, 9, shape).astype(kind) for _ in range(2))
    if kind != "int64":
        a.flat[::97], b.flat[::89] = np.nan, np.inf
    elif operation is operator.truediv:
        b[b == 0] = 1
    with np.errstate(all="ignore"):
        wanted = operation(a, b)
    made = operation(torch.from_numpy(a), torch.from_numpy(b)).numpy()
    np.testing.assert_array_equal(made, wanted.astype(made.dtype))


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda o: o.__name__)
def test_operands_of_other_layouts(operation: Any, threads: int) -> None:
    a = torch.arange(1.0, 640_001.0).reshape(800, 800)
    wide = torch.arange(1.0, 1_280_001.0).reshape(800, 1600)
    for b in (a.t(), wide[:, :800], wide[:, ::2], a[:1], a[0, 0]):
        with np.errstate(all="ignore"):
            wanted = operation(a.numpy(), b.numpy())
        made = operation(a, b)
        np.testing.assert_array_equal(made.numpy(), wanted)
        assert made.is_contiguous()


def test_gradients_pass_through(threads: int) -> None:
    x = torch.full((600, 1000), 3.0, requires_grad=True)
    y = torch.full((600, 1000), 2.0, requires_grad=True)
    ((x * y) / y + x).sum().backward()
    assert (x.grad == 2).all()
    assert (y.grad == 0).all()

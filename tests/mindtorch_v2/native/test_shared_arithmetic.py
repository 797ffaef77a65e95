"""Sums, products and quotients of large operands, which several threads share, equal those of numpy bit by bit."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import mindtorch_v2 as torch

OPERATIONS: list[Callable[[Any, Any], Any]] = [operator.add, operator.sub, operator.mul, operator.truediv]


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


# pairs of shapes that are spread over each other
SPREAD = [
    ((300, 1), (400,)),
    ((1, 300), (400, 1)),
    ((4, 16, 24, 32), (1, 16, 1, 1)),
    ((4, 16, 24, 32), (4, 16, 1, 1)),
    ((4, 16, 24, 32), (16, 1, 32)),
    ((4, 16, 24, 32), (24, 32)),
    ((4, 1, 24, 32), (1, 16, 1, 32)),
    ((2, 1, 3, 1, 5000), (1, 4, 1, 2, 1)),
    ((3, 1, 1), (90_001,)),
]


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda o: o.__name__)
@pytest.mark.parametrize("shapes", SPREAD, ids=str)
def test_operands_that_are_spread(operation: Any, shapes: Any, threads: int) -> None:
    rng = np.random.default_rng(1)
    a, b = (rng.standard_normal(shape).astype("float32") for shape in shapes)
    for first, second in ((a, b), (b, a)):
        made = operation(torch.from_numpy(first), torch.from_numpy(second))
        np.testing.assert_array_equal(made.numpy(), operation(first, second))
        assert made.is_contiguous()


def test_results_lie_in_memory_as_their_operands(threads: int) -> None:
    heads = torch.randn(2, 40, 8, 64).transpose(1, 2)
    image = torch.randn(2, 16, 30, 40).to(memory_format=torch.channels_last)
    assert (heads * torch.randn(40, 64)).stride() == heads.stride()
    assert (image * torch.randn(1, 16, 1, 1)).stride() == image.stride()


def test_gradients_pass_through(threads: int) -> None:
    x = torch.full((600, 1000), 3.0, requires_grad=True)
    y = torch.full((600, 1000), 2.0, requires_grad=True)
    ((x * y) / y + x).sum().backward()
    assert (x.grad == 2).all()
    assert (y.grad == 0).all()


SMALLER = [(3000, 1), (7,), (1, 7), (1, 1), (), (1,)]


@pytest.mark.parametrize("kind", ["float32", "float64"])
@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda o: o.__name__)
def test_one_operand_is_repeated(operation: Any, kind: str, threads: int) -> None:
    rng = np.random.default_rng(0)
    large = rng.standard_normal((3000, 7)).astype(kind)
    large.flat[::97] = np.nan
    for shape in SMALLER:
        small = rng.standard_normal(shape).astype(kind)
        for first, second in ((large, small), (small, large)):
            made = operation(torch.from_numpy(first), torch.from_numpy(second))
            np.testing.assert_array_equal(made.numpy(), operation(first, second), err_msg=str(shape))
            assert made.is_contiguous()


def test_repeated_operands_of_many_dimensions(threads: int) -> None:
    x = torch.arange(2.0 * 3 * 500 * 9).reshape(2, 3, 500, 9)
    for other in (
        x[..., :1],
        x[0, 0, 0],
        x[:, :1, :1],
        x[:1, :, :, :1],
        x[:, :, 0:1].expand_as(x),
        x[..., 3:4].expand_as(x),
        x.flip(2),
    ):
        np.testing.assert_array_equal((x * other).numpy(), x.numpy() * other.numpy())
        np.testing.assert_array_equal((other - x).numpy(), other.numpy() - x.numpy())
    outer = x[..., :1] + x[0, 0, 0]
    np.testing.assert_array_equal(outer.numpy(), x[..., :1].numpy() + x[0, 0, 0].numpy())
    channels_last = x.to(memory_format=torch.channels_last)
    assert (channels_last * channels_last[..., :1]).is_contiguous(memory_format=torch.channels_last)


def test_shapes_that_do_not_fit_are_refused(threads: int) -> None:
    with pytest.raises(RuntimeError, match="must match the size of tensor b"):
        torch.ones(3000, 7) * torch.ones(3000, 3)

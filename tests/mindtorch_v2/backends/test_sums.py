"""Sums over any dimensions and layouts, and running sums in blocks, are as exact as a sum of that many terms can be."""

from __future__ import annotations

import itertools
from math import prod

import numpy as np
import pytest

import mindtorch_v2 as torch
from mindtorch_v2._backends.cpu.reduction_scans import _cumsum_in_blocks
from mindtorch_v2._backends.cpu.sums import sum_over

from ...tolerances import rounding_of_sum

SHAPES = [
    (700,),
    (3, 400),
    (400, 3),
    (5, 7, 300),
    (300, 7, 5),
    (7, 300, 5),
    (2, 3, 4, 5, 6),
    (1, 600),
    (0, 5),
    (2, 3000, 3),
    (3, 3000),
]


def _axes(ndim):
    return [a for r in range(1, ndim + 1) for a in itertools.combinations(range(ndim), r)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sum_over_any_dimensions(shape, dtype):
    whole = np.random.default_rng(0).random(shape).astype(dtype)
    for order in itertools.islice(itertools.permutations(range(len(shape))), 6):
        a = whole.transpose(order)
        for axes, keep in itertools.product(_axes(len(shape)), (False, True)):
            got, want = np.asarray(sum_over(a, axes, keep)), a.astype(np.float64).sum(axes, keepdims=keep)
            assert got.shape == want.shape and got.dtype == dtype and got.flags.c_contiguous
            terms = prod(a.shape[i] for i in axes)
            assert (np.abs(got - want) <= rounding_of_sum(terms, want, dtype)).all()  # all terms are positive


def test_long_sums_do_not_drift():
    """Blocks of at most 1024 terms are added up, and their sums again: the error is at most that of two such blocks."""
    a = np.full((1_000_000, 3), 0.1, np.float32)  # every addition rounds the same way
    exact = a.astype(np.float64).sum(0)
    bound = 2 * 1024 * 2.0**-24 * exact
    assert (np.abs(np.add.accumulate(a, 0)[-1] - exact) > bound).all()  # a plain loop drifts
    assert (np.abs(sum_over(a, 0) - exact) <= bound).all()
    assert (np.abs(sum_over(a.T.copy(), 1) - exact) <= bound).all()
    assert abs(sum_over(a, None) - exact.sum()) <= bound.sum()


def test_infinities_stay_where_they_are():
    a = np.ones((600, 600), np.float32)
    a[3, 4], a[5, 6] = np.inf, np.nan
    assert np.isinf(sum_over(a, 0)).nonzero()[0].tolist() == [4] and np.isnan(sum_over(a, 0)).nonzero()[0].tolist() == [
        6
    ]
    assert np.isinf(sum_over(a, 1)).nonzero()[0].tolist() == [3] and np.isnan(sum_over(a, None))


@pytest.mark.parametrize(
    "shape, axis", [((64, 200), 1), ((64, 256), 1), ((200, 64), 0), ((3, 100, 50), 1), ((9000,), 0)]
)
def test_cumsum_in_blocks(shape, axis):
    a = np.random.default_rng(2).standard_normal(shape).astype(np.float32)
    got = _cumsum_in_blocks(a, axis)
    assert got is not None and got.flags.c_contiguous
    exact = a.astype(np.float64)
    # blocks of 32; what stands before them is added in double
    bound = rounding_of_sum(32, np.cumsum(np.abs(exact), axis), np.float32)
    assert (np.abs(got - np.cumsum(exact, axis)) <= bound).all()


def test_cumsum_in_blocks_refuses_what_a_product_would_spread():
    a = np.ones((4, 100), np.float32)
    a[2, 50] = np.inf
    assert _cumsum_in_blocks(a, 1) is None


@pytest.mark.parametrize("length", [1, 16, 17, 100, 1023])
@pytest.mark.parametrize("layout", ["rows", "columns", "every second"])
def test_products_of_rows(length: int, layout: str) -> None:
    """Powers of two, whose products are exact in any order, and the special numbers."""
    x = 2.0 ** np.random.default_rng(length).integers(-1, 2, (5000 // length + 2, length)).astype(np.float32)
    x[0, -1], x[1, 0] = np.nan, 0
    x = {"rows": x, "columns": np.asfortranarray(x), "every second": np.repeat(x, 2, -1)[:, ::2]}[layout]
    made = torch.from_numpy(x).prod(-1).numpy()
    np.testing.assert_array_equal(made, [np.prod(row.tolist()) for row in x])


@pytest.mark.parametrize("weight", [0.25, 0.75, 1.0])
def test_lerp_of_many_elements_is_that_of_few(weight: float) -> None:
    a, b = (torch.from_numpy(np.random.default_rng(s).standard_normal(40_000).astype("float32")) for s in (0, 1))
    parts = [torch.lerp(p, q, weight) for p, q in zip(a.split(1000), b.split(1000))]
    assert torch.equal(torch.lerp(a, b, weight), torch.cat(parts))
    assert torch.equal(torch.lerp(a, a[:1], weight), torch.cat([torch.lerp(p, a[:1], weight) for p in a.split(1000)]))

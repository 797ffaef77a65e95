"""Ordering of lines: stable with ties, NaN greatest; selection finds the value and its first index."""

from __future__ import annotations

import numpy as np
import pytest

from mindtorch_v2._backends.cpu import lines
from mindtorch_v2._backends.cpu.sorting import _select


def _samples():
    rng = np.random.default_rng(0)
    smooth = rng.standard_normal((40, 50)).astype(np.float32)
    holes = smooth.copy()
    holes[::3, ::7] = np.nan
    return {
        "smooth": smooth,
        "ties": np.round(smooth),
        "holes": holes,
        "ints": rng.integers(-5, 5, (40, 50)),
        "transposed": smooth.T,
    }


@pytest.mark.parametrize("name", _samples())
def test_ascending_is_stable(name):
    a = _samples()[name]
    np.testing.assert_array_equal(lines.ascending(a), np.argsort(a, axis=-1, kind="stable"))


@pytest.mark.parametrize("name", ["smooth", "ties", "ints"])
def test_descending_keeps_equal_values_in_order(name):
    a = _samples()[name]
    np.testing.assert_array_equal(lines.descending(a), np.argsort(-a.astype(np.float64), axis=-1, kind="stable"))


def test_descending_puts_nan_first():
    order = lines.descending(np.array([1.0, np.nan, 3.0, np.nan], np.float32))
    assert order.tolist() == [1, 3, 2, 0]


@pytest.mark.parametrize("k", [1, 3, 12, 20, 50])
@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("name", _samples())
def test_select_agrees_with_sorting(name, largest, k):
    a = _samples()[name]
    k = min(k, a.shape[-1])
    order = (lines.descending if largest else lines.ascending)(a)[..., :k]
    got = _select(a, k, largest)
    np.testing.assert_array_equal(np.take_along_axis(a, got, -1), np.take_along_axis(a, order, -1))
    assert all(len(set(row)) == k for row in got.tolist())


def test_select_tells_infinities_from_taken_values():
    a = np.full((2, 40), -np.inf, np.float32)
    a[:, 5] = 1
    assert all(len(set(row)) == 4 and row[0] == 5 for row in _select(a, 4, True).tolist())


def test_nth():
    a = np.array([[3.0, 1.0, 2.0, 1.0], [0.0, 0.0, 0.0, 0.0]])
    values, indices = lines.nth(a, 1)
    assert values.tolist() == [1.0, 0.0] and indices.tolist() == [1, 0]

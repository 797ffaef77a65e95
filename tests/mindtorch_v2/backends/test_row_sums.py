"""Rows added at repeated indices: the same as numpy's slow way, whichever way is taken."""

from __future__ import annotations

import numpy as np
import pytest

from mindtorch_v2._backends.cpu.row_sums import add_rows


@pytest.mark.parametrize(
    "count, rows, width", [(10, 32, 16), (1000, 4096, 64), (3, 2000, 80), (500, 500, 200), (5, 5000, 3), (7, 0, 4)]
)
@pytest.mark.parametrize("spread", ["even", "skewed", "once"])
def test_add_rows(count, rows, width, spread):
    rng = np.random.default_rng(0)
    index = {
        "even": rng.integers(0, count, rows),
        "skewed": np.minimum(rng.zipf(1.3, rows) - 1, count - 1),
        "once": rng.permutation(max(count, rows))[:rows],
    }[spread]
    count = max(count, rows) if spread == "once" else count
    values = rng.standard_normal((rows, width)).astype(np.float32)
    start = rng.standard_normal((count, width)).astype(np.float32)
    want = start.astype(np.float64)
    np.add.at(want, index, values)
    got = start.copy()
    add_rows(got, index, values)
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-3)


def test_integers_are_exact():
    out = np.zeros((3, 100), np.int64)
    add_rows(out, np.array([0, 2] * 5000), np.full((10000, 100), 2**40))
    assert out[0, 0] == out[2, 99] == 5000 * 2**40 and not out[1].any()

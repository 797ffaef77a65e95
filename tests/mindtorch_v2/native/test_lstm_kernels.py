"""The steps of an LSTM layer in C against the same steps in numpy: sizes that fill panels and rows, and that do not."""

import numpy as np
import pytest

from mindtorch_v2._backends.cpu.rnn import _steps, _steps_back
from mindtorch_v2._native import native_module

pytestmark = pytest.mark.skipif(native_module("_kernels") is None, reason="needs the native part")

SIZES = [(1, 1, 1), (3, 7, 5), (4, 6, 16), (2, 13, 33), (2, 31, 24)]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(("steps", "batch", "n"), SIZES)
def test_both_passes_agree_with_numpy(steps: int, batch: int, n: int, reverse: bool, dtype: type) -> None:
    draw = np.random.default_rng(0)
    gates, weight, h, c, grad = (
        draw.standard_normal(shape).astype(dtype)
        for shape in ((steps, batch, 4 * n), (4 * n, n), (batch, n), (batch, n), (steps, batch, n))
    )
    results = []
    for forward, backward in ((_steps, _steps_back), (_steps.__wrapped__, _steps_back.__wrapped__)):
        out, work = np.empty((steps, batch, n), dtype), np.empty((steps, batch, 6 * n), dtype)
        forward(gates.copy(), weight, h, c, out, work, reverse)
        dz, dh, dc = np.empty_like(gates), h.copy(), c.copy()
        backward(dz, weight, dh, c, dc, work, grad, reverse)
        results.append((out, work, dz, dh, dc))
    for mine, numpys in zip(*results, strict=True):
        # every element is a sum of up to 4n products, over all steps; 8 covers the functions' own errors
        assert np.abs(mine - numpys).max() <= 8 * steps * 4 * n * np.finfo(dtype).eps * (1 + np.abs(numpys).max())

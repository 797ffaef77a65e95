"""Native activations where numbers, limits or gradients are special."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from .kernel_runs import TYPES, Run, close, random_array
from .test_kernels import SLOPES


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", [(3,), (5, 7), (3, 400)])
def test_gradients_of_activations_that_are_summed(run: Run, dtype: str, shape: Any) -> None:
    x, g = random_array(shape, dtype), np.broadcast_to(np.asarray(1.5, dtype), shape)
    for op, (args, slope) in SLOPES.items():
        close(run(op, g, x, *args), 1.5 * slope(x.astype(np.float64)), dtype)


@pytest.mark.parametrize("dtype", TYPES)
def test_limits_of_activations_in_parts(run: Run, dtype: str) -> None:
    x = np.array([np.nan, -np.inf, -7, -3, -0.0, 3, 7, np.inf], dtype)
    g = np.arange(1, 9, dtype=dtype)
    np.testing.assert_array_equal(run("hardtanh", x, -3, 3), [np.nan, -3, -3, -3, 0, 3, 3, 3])
    np.testing.assert_array_equal(run("hardtanh", x, 3, -3), [np.nan, -3, -3, -3, -3, -3, -3, -3])
    np.testing.assert_array_equal(run("leaky_relu", x, -2.0), [np.nan, np.inf, 14, 6, 0, 3, 7, np.inf])
    np.testing.assert_array_equal(run("hardtanh_backward", g, x, -3, 3)[1:], [0, 0, 0, 5, 0, 0, 0])
    np.testing.assert_array_equal(run("hardswish_backward", g, x)[1:], [0, 0, 0, 2.5, 6, 7, 8])
    np.testing.assert_array_equal(run("leaky_relu_backward", g, x, 2.0, True)[1:], [4, 6, 8, 10, 6, 7, 8])
    y = x.copy()
    run("hardtanh_", y, -1, 6)
    np.testing.assert_array_equal(y, [np.nan, -1, -1, -1, 0, 3, 6, 6])

"""Native activations where numbers, limits or gradients are special."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mindtorch_v2._backends.cpu import loss

from .kernel_runs import TYPES, Run, close, random_array, registered
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


# what a kernel computes in double precision, by its numbers
FUNCTIONS: dict[str, Any] = {
    "reciprocal": ((), lambda x: 1 / x),
    "rsqrt": ((), lambda x: 1 / np.sqrt(x)),
    "sign": ((), lambda x: np.where(np.isnan(x), 0, np.sign(x))),
    "log1p": ((), np.log1p),
    "softplus": ((2.0, 20.0), lambda x: np.where(2 * x > 20, x, np.logaddexp(0, 2 * x) / 2)),
    "elu": ((1.5, 1.25, 0.5), lambda x: np.where(x > 0, 1.25 * x, 1.5 * 1.25 * np.expm1(np.minimum(x, 0) * 0.5))),
}


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("op", FUNCTIONS)
def test_functions_everywhere(run: Run, op: str, dtype: str) -> None:
    """Small, large, near every branch, and special: relative errors of some units in the last place."""
    powers = np.concatenate([s * 2.0 ** np.linspace(-120, 120, 4001) for s in (1, -1)])
    special = [0.0, -0.0, 1, -1, np.inf, -np.inf, np.nan, -0.29289, -0.29290, 0.41421, 0.41422, -1 + 1e-6, -25.9, -26.1]
    x = np.concatenate([powers, np.linspace(-1.1, 3, 4001), special]).astype(dtype)
    numbers, function = FUNCTIONS[op]
    with np.errstate(all="ignore"):
        made, want = run(op, x, *numbers), function(x.astype(np.float64))
        limit = np.finfo(dtype).max
        want = np.where(np.abs(want) > limit, np.copysign(np.inf, want), want)
    np.testing.assert_array_equal(np.isnan(made), np.isnan(want))
    np.testing.assert_allclose(made, want, rtol=6 * np.finfo(dtype).eps, atol=float(np.finfo(dtype).tiny))


@pytest.mark.parametrize("dtype", TYPES)
def test_gradients_of_bent_functions(run: Run, dtype: str) -> None:
    x, g = random_array((3, 500), dtype) * 4, random_array((3, 500), dtype)
    wide, slope = x.astype(np.float64), g.astype(np.float64)
    soft = np.where(2 * wide > 3, slope, slope / (1 + np.exp(-2 * wide)))
    close(run("softplus_backward", g, x, 2.0, 3.0), soft, dtype)
    bent = np.where(wide > 0, slope * 1.25, slope * 1.5 * 1.25 * 0.5 * np.exp(np.minimum(wide, 0) * 0.5))
    close(run("elu_backward", g, 1.5, 1.25, 0.5, False, x), bent, dtype)
    result = registered("elu")(x, 1.5, 1.25, 0.5)
    close(registered("elu_backward")(g, 1.5, 1.25, 0.5, True, result), bent, dtype)


@pytest.mark.parametrize("dtype", TYPES)
def test_losses_that_bend(run: Run, dtype: str) -> None:
    a, b = random_array((5, 300), dtype), random_array((5, 300), dtype)
    d = a.astype(np.float64) - b
    size = np.abs(d)
    close(run("smooth_l1", a, b, 0.5), np.where(size < 0.5, size**2, size - 0.25), dtype)
    close(run("huber", a, b, 0.5), np.where(size <= 0.5, size**2 / 2, 0.5 * (size - 0.25)), dtype)
    close(run("smooth_l1_slope", a, b, 0.5, 0.25), np.clip(d / 0.5, -1, 1) / 4, dtype)
    close(run("huber_slope", a, b, 0.5, 0.25), np.clip(d, -0.5, 0.5) / 4, dtype)
    close(loss._smooth_l1(a, b, 0.0), size, dtype)
    close(loss._smooth_l1_slope(a, b[:1], 0.0, 1.0), np.sign(a.astype(np.float64) - b[:1]), dtype)


@pytest.mark.parametrize("dtype", TYPES)
def test_numbers_in_place_of_nan_and_infinities(run: Run, dtype: str) -> None:
    x = np.array([np.nan, np.inf, -np.inf, 1, -0.0], dtype)
    np.testing.assert_array_equal(run("nan_to_num", x, 2.0, 3.0, -4.0), [2, 3, -4, 1, 0])
    np.testing.assert_array_equal(run("nan_to_num", x, np.inf, 3.0, np.nan), [np.inf, 3, np.nan, 1, 0])

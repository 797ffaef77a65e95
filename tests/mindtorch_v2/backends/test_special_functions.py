"""Special functions against the C library, in units of the last place."""

from __future__ import annotations

import math

import numpy as np
import pytest

import mindtorch_v2 as torch
from mindtorch_v2._backends.cpu import special_functions as special

RNG = np.random.default_rng(7)
WIDE = np.concatenate([RNG.uniform(-6, 6, 3000), RNG.uniform(-1.2, 1.2, 2000), RNG.uniform(-1e-4, 1e-4, 100)])


def _ulps(got: np.ndarray, want: np.ndarray) -> float:
    return float(np.max(np.abs(got.astype(np.float64) - want) / np.spacing(np.abs(want).astype(got.dtype))))


@pytest.mark.parametrize("name, double, single", [("erf", 2, 5), ("erfc", 6, 2)])
def test_error_functions(name, double, single):
    want = np.array([getattr(math, name)(v) for v in WIDE])
    assert _ulps(getattr(special, name)(WIDE), want) <= double
    narrow = WIDE.astype(np.float32)
    want = np.array([getattr(math, name)(float(v)) for v in narrow])
    got = getattr(special, name)(narrow)
    assert got.dtype == np.float32
    assert _ulps(got, want) <= single


def test_erfc_keeps_its_digits_far_out():
    x = RNG.uniform(5, 26, 500)
    want = np.array([math.erfc(v) for v in x])
    np.testing.assert_allclose(special.erfc(x), want, rtol=2e-15)


def test_erfinv_inverts():
    y = np.concatenate([RNG.uniform(-1, 1, 2000), 1 - 10.0 ** RNG.uniform(-14, -1, 200)])
    np.testing.assert_allclose(special.erf(special.erfinv(y)), y, rtol=1e-15, atol=1e-16)


def test_lgamma():
    x = np.concatenate([RNG.uniform(0.001, 40, 3000), RNG.uniform(0.9, 2.1, 500), 10.0 ** RNG.uniform(-6, 12, 300)])
    want = np.array([math.lgamma(v) for v in x])
    # near 1 and 2 it is the C value that is off
    np.testing.assert_allclose(special.lgamma(x), want, rtol=2e-15, atol=3e-15)
    negative = RNG.uniform(-20, 0, 500)
    np.testing.assert_allclose(special.lgamma(negative), [math.lgamma(v) for v in negative], rtol=1e-13, atol=1e-13)


def test_digamma_is_the_slope_of_lgamma():
    x = RNG.uniform(0.2, 20, 200)
    h = 1e-5
    slope = (special.lgamma(x + h) - special.lgamma(x - h)) / (2 * h)
    np.testing.assert_allclose(special.digamma(x), slope, rtol=1e-6, atol=1e-8)


def test_polygamma_recurrence():
    """psi_n(x + 1) - psi_n(x) = (-1)^n n! / x^(n + 1)"""
    x = RNG.uniform(0.3, 30, 200)
    for n in (1, 2, 3):
        step = special.polygamma(n, x + 1) - special.polygamma(n, x)
        np.testing.assert_allclose(step, (-1) ** n * math.factorial(n) / x ** (n + 1), rtol=1e-9, atol=1e-12)


def test_shapes_and_layouts_are_kept():
    x = np.asfortranarray(RNG.uniform(0.5, 2, (9, 7)))
    for function in (special.erf, special.erfc, special.lgamma, special.digamma):
        assert function(x).strides == x.strides
        assert function(x[:0]).shape == (0, 7)
        assert np.shape(function(np.array(0.5))) == ()


@pytest.mark.parametrize(
    "call", ["mvlgamma_(1)", "polygamma_(1)", "ldexp_(torch.tensor([1, 1]))", "sinc_()", "logit_()"]
)
def test_in_place_on_integers_does_not_cut_fractions_off(call):
    x = torch.tensor([1, 2])
    with pytest.raises(RuntimeError, match="result type Float can't be cast to the desired output type Long"):
        eval(f"x.{call}", {"x": x, "torch": torch})
    assert x.tolist() == [1, 2]


@pytest.mark.parametrize("name", ["chebyshev_polynomial_t", "hermite_polynomial_he", "legendre_polynomial_p"])
def test_polynomials_of_numbers_are_refused(name):
    with pytest.raises(
        TypeError, match=rf"special_{name}\(\) received an invalid combination of arguments - got \(int"
    ):
        getattr(torch.special, name)(2, 3)

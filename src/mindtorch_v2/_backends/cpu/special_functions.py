"""erf, its relatives and the gamma functions, which numpy lacks.

Single precision has a fast path where speed matters (erf); elsewhere it is computed in double precision. Inputs are
floating arrays of any shape; results have their type. Double precision is accurate to about one unit in the last place.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .blocks import fused, horner
from .special_coefficients import BERNOULLI, ERF_NEAR_ZERO, ERF_TANH, ERFCX_SCALED, LGAMMA_NEAR_TWO

_LOG_ROOT_TWO_PI = 0.9189385332046727
_TWO_OVER_ROOT_PI = 1.1283791670955126
HANDFUL = 40  # elements


def in_double(function: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """Lets a function of a one-dimensional float64 array take any floating array and give its type and shape back."""

    def wide(x: np.ndarray, *rest: Any) -> np.ndarray:
        out = np.empty_like(x)  # laid out like x
        out[...] = function(np.array(x, np.float64, order="C").reshape(-1), *rest).reshape(x.shape)
        return out

    return wide


# --- the error function
def _erf_single(out: np.ndarray, x: np.ndarray, z: np.ndarray) -> None:
    np.multiply(x, x, out=z)
    horner(z, ERF_TANH, out)
    out *= x
    np.tanh(out, out=out)


def _scaled_tail(x: np.ndarray) -> np.ndarray:
    """exp(x * x) * erfc(x) for x >= 0.5."""
    shifted = x + 3.0
    u = 7.0 / shifted
    np.subtract(1.0, u, out=u)
    p = np.empty_like(u)
    horner(u, ERFCX_SCALED, p)
    p /= shifted
    return p


def _exp_minus_square(x: np.ndarray) -> np.ndarray:
    """exp(-x * x) for x >= 0 without the error that rounding x * x would bring: x is cut into a short head and a
    rest.
    """
    x = np.minimum(x, 40.0)  # where the result is 0 long since; keeps infinity out of the differences
    head = x.astype(np.float32).astype(np.float64)
    return np.exp(-head * head) * np.exp((head - x) * (head + x))


def _erf_small(x: np.ndarray) -> np.ndarray:
    """erf for |x| <= 1."""
    p = np.empty_like(x)
    horner(x * x, ERF_NEAR_ZERO, p)
    p *= x
    return p


@in_double
def _erf_double(x: np.ndarray) -> np.ndarray:
    size = np.abs(x)
    large = size > 1.0
    out = _erf_small(np.where(large, 0.0, x))
    if large.any():
        tail = size[large]
        out[large] = np.copysign(1.0 - np.exp(-tail * tail) * _scaled_tail(tail), x[large])
    return out


def one_by_one(function: Callable[[float], float], x: np.ndarray) -> np.ndarray:
    """A function of a Python number for each of a handful of elements, which costs less than a dozen numpy calls."""
    return np.array([function(v) for v in x.ravel().tolist()], x.dtype).reshape(x.shape)


def erf(x: np.ndarray) -> np.ndarray:
    """2 / sqrt(pi) times the integral of exp(-t * t) from 0 to x."""
    if x.size <= HANDFUL and x.flags.c_contiguous:
        return one_by_one(math.erf, x)
    if x.dtype.char in "fe":
        return fused(_erf_single, x, scratch=1)
    return _erf_double(x)


@in_double
def erfc(x: np.ndarray) -> np.ndarray:
    """1 - erf(x), accurate also where erf is close to 1."""
    large = np.abs(x) > 0.5
    out = 1.0 - _erf_small(np.where(large, 0.0, x))
    if large.any():
        some = x[large]
        size = np.abs(some)
        tail = _exp_minus_square(size) * _scaled_tail(size)
        out[large] = np.where(some > 0, tail, 2.0 - tail)
    out[np.isnan(x)] = np.nan
    return out


@in_double
def erfcx(x: np.ndarray) -> np.ndarray:
    """exp(x * x) * erfc(x)."""
    large = x >= 0.5
    low = np.where(large, 0.0, x)
    out = np.where(large, _scaled_tail(np.where(large, x, 1.0)), np.exp(low * low) * erfc(low))
    out[np.isnan(x)] = np.nan
    return out


@in_double
def erfinv(y: np.ndarray) -> np.ndarray:
    """The x for which erf(x) is y: a closed approximation, then Halley's iteration."""
    a = 0.147
    log = np.log1p(-y * y)
    half = 2.0 / (np.pi * a) + 0.5 * log
    x = np.copysign(np.sqrt(np.sqrt(half * half - log / a) - half), y)
    inside = np.abs(y) < 1.0
    x, want = x[inside], y[inside]
    for _ in range(3):
        # Near 1 the difference of erf values has no digits left; the complement has.
        near_one = np.abs(want) > 0.5
        miss = np.where(
            near_one, np.copysign(1.0, want) * (erfc(np.abs(x)) - (1.0 - np.abs(want))), want - _erf_double(x)
        )
        step = miss / (_TWO_OVER_ROOT_PI * np.exp(-x * x))
        x = x + step / (1.0 - x * step)
    out = np.where(np.abs(y) == 1.0, np.copysign(np.inf, y), np.nan)
    out[inside] = np.where(want == 0.0, want, x)
    return out


def ndtr(x: np.ndarray) -> np.ndarray:
    """The distribution function of the standard normal distribution."""
    return (0.5 * erfc(x.astype(np.float64) * -np.sqrt(0.5))).astype(x.dtype)


def ndtri(p: np.ndarray) -> np.ndarray:
    """The quantile function of the standard normal distribution."""
    wide = p.astype(np.float64)
    x = np.sqrt(2.0) * erfinv(2.0 * wide - 1.0)
    for _ in range(2):  # far below one half, 2p - 1 has lost digits of p
        density = np.exp(-0.5 * x * x) / np.sqrt(2.0 * np.pi)
        step = (0.5 * erfc(-x * np.sqrt(0.5)) - wide) / density
        x = np.where(np.isfinite(step), x - step / (1.0 + 0.5 * x * step), x)
    return x.astype(p.dtype)


# --- gamma functions
def _stirling(x: np.ndarray) -> np.ndarray:
    """log gamma for x >= 10."""
    inverse = 1.0 / x
    z = inverse * inverse
    series = np.empty_like(x)
    horner(z, tuple(b / (2 * k * (2 * k - 1)) for k, b in enumerate(BERNOULLI[:8], 1)), series)
    return (x - 0.5) * (np.log(x) - 1.0) + (_LOG_ROOT_TWO_PI - 0.5) + series * inverse


def _lgamma_positive(x: np.ndarray) -> np.ndarray:
    below_one = x < 1.0
    v = np.where(below_one, x - 1.0, np.minimum(x, 10.0) - 2.0)  # the argument is v + 2, below one after a step up
    product = np.ones_like(x)
    for _ in range(7):  # brings arguments up to 10 down to (2, 3]
        high = v > 1.0
        v = np.where(high, v - 1.0, v)
        product = np.where(high, product * (v + 2.0), product)
    p = np.empty_like(v)
    horner(v, LGAMMA_NEAR_TWO, p)
    p *= v * np.where(below_one, x, v + 1.0)
    small = p + np.log(product) - np.log(np.where(below_one, x, 1.0))
    return np.where(x > 10.0, _stirling(np.maximum(x, 10.0)), small)


@in_double
def lgamma(x: np.ndarray) -> np.ndarray:
    """The logarithm of the absolute value of the gamma function; infinite at 0, -1, -2, ..."""
    positive = x > 0
    size = np.where(positive, x, np.where(x == 0, 1.0, -x))
    out = _lgamma_positive(size)
    if not positive.all():
        fraction = np.abs(x - np.rint(x))
        reflected = np.log(np.pi / (np.abs(x) * np.sin(np.pi * fraction))) - out
        out = np.where(positive, out, np.where(fraction == 0, np.inf, reflected))
    out[np.isinf(x)] = np.inf
    out[np.isnan(x)] = np.nan
    return out


@in_double
def digamma(x: np.ndarray) -> np.ndarray:
    """The derivative of log gamma. At 0 it is infinite with the opposite sign; at -1, -2, ... it is not a number."""
    negative = x < 0
    y = np.where(negative, 1.0 - x, x)
    out = np.zeros_like(y)
    for _ in range(10):
        low = y < 10.0
        out -= np.where(low, 1.0 / np.where(low, y, 1.0), 0.0)
        y = np.where(low, y + 1.0, y)
    z = 1.0 / (y * y)
    series = np.empty_like(y)
    horner(z, tuple(b / (2 * k) for k, b in enumerate(BERNOULLI[:8], 1)), series)
    out += np.log(y) - 0.5 / y - z * series
    if negative.any():
        fraction = x - np.rint(x)
        out = np.where(negative, np.where(fraction == 0, np.nan, out - np.pi / np.tan(np.pi * fraction)), out)
    return np.where(x == 0, np.copysign(np.inf, -x), out)


@in_double
def hurwitz_zeta(x: np.ndarray, s: int) -> np.ndarray:
    """The sum of (x + k) ** -s over k = 0, 1, ... for whole s >= 2, by adding terms and Euler-Maclaurin's remainder."""
    steps = max(0, int(np.ceil(12.0 - np.min(x, initial=12.0)))) if np.isfinite(x).all() else 12
    steps = min(steps, 10000)
    total = np.zeros_like(x)
    for k in range(steps):
        total += (x + k) ** -float(s)
    tail = x + steps
    power = tail ** -float(s)
    total += tail ** (1.0 - s) / (s - 1) + 0.5 * power
    rising = float(s)
    factorial = 2.0
    power = power / tail
    for k, b in enumerate(BERNOULLI, 1):
        total += b * rising / factorial * power
        rising *= (s + 2 * k - 1) * (s + 2 * k)
        factorial *= (2 * k + 1) * (2 * k + 2)
        power = power / (tail * tail)
    return total


def _trigamma(x: np.ndarray) -> np.ndarray:
    """The first derivative of digamma, computed in the type of its argument. Below 1/2 it is reflected: near whole
    numbers the sine's rounding decides, so there is no pole but at 0.
    """
    one = x.dtype.type
    low = x < 0.5
    with np.errstate(all="ignore"):
        sine = np.sin(one(np.pi) * np.where(low, x, one(0.5)))
        y = np.where(low, one(1) - x, x)
        out = np.where(low, -one(np.pi) * one(np.pi) / (sine * sine), one(0))
        for _ in range(6):
            out += one(1) / (y * y)
            y = y + one(1)
        z = one(1) / (y * y)
        tail = one(1) / 6 - z * (one(1) / 30 - z * (one(1) / 42))
        out += (one(1) + one(1) / (2 * y) + z * tail) / y
    return np.where(low, -out, out)


def _all_powers(x: np.ndarray, s: int) -> np.ndarray:
    """The sum of (x + k) ** -s over all whole k, also negative ones: derivatives of the cotangent, which are
    polynomials in it.
    """
    fraction = x - np.rint(x)
    cot = 1.0 / np.tan(np.pi * fraction)
    coefficients = np.array([0.0, 1.0])  # of cot itself; d/dt of cot ** k is -k * cot ** (k - 1) * (1 + cot ** 2)
    for _ in range(s - 1):
        slope = coefficients[1:] * np.arange(1, len(coefficients))
        coefficients = -np.append(slope, (0.0, 0.0))
        coefficients[2:] -= slope
    out = np.zeros_like(x)
    for c in coefficients[::-1]:
        out = out * cot + c
    factorial = 1.0
    for k in range(2, s):
        factorial *= k
    return out * np.pi**s / factorial * (1.0 if s % 2 else -1.0)


def _zeta_everywhere(x: np.ndarray, s: int) -> np.ndarray:
    """`hurwitz_zeta` on the whole line: infinite at 0, -1, -2, ..., not a number at infinity, as PyTorch has it."""
    negative = x < 0
    pole = (x <= 0) & (x == np.floor(x))
    with np.errstate(all="ignore"):
        out = hurwitz_zeta(np.where(negative, 1.0 - x, np.where(x == 0, 1.0, x)), s)
        if negative.any():
            inside = np.where(negative & ~pole, x, 0.5)
            out = np.where(negative, _all_powers(inside, s) - (out if s % 2 == 0 else -out), out)
    return np.where(pole, np.inf, np.where(x == np.inf, np.nan, out))


def polygamma(n: int, x: np.ndarray) -> np.ndarray:
    """The n-th derivative of digamma."""
    if n < 0:
        raise RuntimeError("polygamma(n, x) does not support negative n.")
    if n == 0:
        return digamma(x)
    if n == 1:
        return _trigamma(x.astype(np.float32) if x.dtype.char == "e" else x).astype(x.dtype, copy=False)
    factorial = 1.0
    for k in range(2, n + 1):
        factorial *= k
    return (_zeta_everywhere(x.astype(np.float64), n + 1) * (factorial if n % 2 else -factorial)).astype(x.dtype)

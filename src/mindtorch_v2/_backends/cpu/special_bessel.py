"""Bessel and Airy functions of arrays in double precision.

Each function is computed by whichever of three ways is accurate to rounding for the argument: a power series whose
terms do not cancel (small arguments), the trapezoidal rule on an integral representation, which converges
exponentially for these integrands (arguments of medium size), and the asymptotic expansion, whose smallest term is
about exp(-2 x) (large arguments).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np

_FAR = 25.0  # from here on the asymptotic expansions are exact to rounding
_BLOCK = 4096  # elements at a time where every one needs a row of integrand values
_EULER = 0.5772156649015329


def _piecewise(x: np.ndarray, *pieces: tuple[np.ndarray, Callable[[np.ndarray], np.ndarray]]) -> np.ndarray:
    """Every function applied to the elements of its mask; elements of no mask become nan."""
    out = np.full(x.shape, np.nan)
    for mask, function in pieces:
        if mask.any():
            out[mask] = function(x[mask])
    return out


def _in_blocks(function: Callable[[np.ndarray], np.ndarray]) -> Callable[[np.ndarray], np.ndarray]:
    """Calls a function of a column of elements block by block, so that its table of integrand values stays small."""

    def call(x: np.ndarray) -> np.ndarray:
        return np.concatenate([function(x[i : i + _BLOCK, None]) for i in range(0, x.size, _BLOCK)])

    return call


def _expansion(x: np.ndarray, nu: float, terms: int = 30) -> list[np.ndarray]:
    """The terms a_k(nu) / x^k of the asymptotic expansions, up to the smallest one for the smallest x."""
    out = [np.ones_like(x)]
    for k in range(1, terms):
        out.append(out[-1] * (4 * nu * nu - (2 * k - 1) ** 2) / (8 * k * x))
    return out


# --- modified functions of the first kind
def _i_series(x: np.ndarray, nu: int) -> np.ndarray:
    """exp(-x) I_nu(x) by its power series: all terms are positive."""
    square = x * x / 4
    term = (x / 2) ** nu
    total = term.copy()
    for k in range(1, 80):
        term = term * square / (k * (k + nu))
        total += term
    return total * np.exp(-x)


def _i_far(x: np.ndarray, nu: int) -> np.ndarray:
    signed = sum(t if k % 2 == 0 else -t for k, t in enumerate(_expansion(x, nu)))
    return signed / np.sqrt(2 * math.pi * x)


def _scaled_i(x: np.ndarray, nu: int) -> np.ndarray:
    """exp(-|x|) I_nu(|x|)."""
    a = np.abs(x)
    return _piecewise(
        a,
        (a < _FAR, lambda v: _i_series(v, nu)),
        ((a >= _FAR) & (a < np.inf), lambda v: _i_far(v, nu)),
        (a == np.inf, np.zeros_like),
    )


def i0e(x: np.ndarray) -> np.ndarray:
    return _scaled_i(x, 0)


def i1e(x: np.ndarray) -> np.ndarray:
    return _scaled_i(x, 1) * np.sign(x)


def i0(x: np.ndarray) -> np.ndarray:
    return _multiply_by_exp(i0e(x), x)


def i1(x: np.ndarray) -> np.ndarray:
    return _multiply_by_exp(i1e(x), x)


def _multiply_by_exp(scaled: np.ndarray, x: np.ndarray) -> np.ndarray:
    """scaled * exp(|x|) without an early overflow; nan at infinity, as in PyTorch."""
    half = np.exp(np.abs(x) / 2)
    return scaled * half * half


# --- modified functions of the second kind
def _k_series(x: np.ndarray, nu: int) -> np.ndarray:
    """K_0 or K_1 for x <= 1."""
    square, log = x * x / 4, np.log(x / 2)
    term, total, harmonic = np.ones_like(x), np.zeros_like(x), 0.0
    for k in range(20):
        if k:
            harmonic += 1.0 / k
            term = term * square / (k * (k + nu))
        if nu == 0:
            total += term * (harmonic - _EULER - log)
        else:
            total += term * (log - 0.5 * (2 * harmonic + 1.0 / (k + 1) - 2 * _EULER))
    return total if nu == 0 else 1 / x + total * x / 2


def scaled_k_integral(x: np.ndarray, nu: float) -> np.ndarray:
    """exp(x) K_nu(x) as the integral of exp(-x (cosh t - 1)) cosh(nu t), for x between 0.1 and the far range."""
    step = 0.1
    t = np.arange(0, 7.5, step)
    weight = np.cosh(nu * t) * np.where(t == 0, 0.5, 1.0) * step
    rise = 2 * np.sinh(t / 2) ** 2
    return _in_blocks(lambda column: np.exp(-column * rise) @ weight)(x)


def scaled_k_far(x: np.ndarray, nu: float) -> np.ndarray:
    return sum(_expansion(x, nu)) * np.sqrt(math.pi / (2 * x))  # type: ignore[return-value]


def _scaled_k(x: np.ndarray, nu: int) -> np.ndarray:
    return _piecewise(
        x,
        (x == 0, lambda v: np.full_like(v, np.inf)),
        ((x > 0) & (x <= 1), lambda v: _k_series(v, nu) * np.exp(v)),
        ((x > 1) & (x < _FAR), lambda v: scaled_k_integral(v, nu)),
        ((x >= _FAR) & (x < np.inf), lambda v: scaled_k_far(v, nu)),
        (x == np.inf, np.zeros_like),
    )


def scaled_k0(x: np.ndarray) -> np.ndarray:
    return _scaled_k(x, 0)


def scaled_k1(x: np.ndarray) -> np.ndarray:
    return _scaled_k(x, 1)


def k0(x: np.ndarray) -> np.ndarray:
    return _scaled_k(x, 0) * np.exp(-x)


def k1(x: np.ndarray) -> np.ndarray:
    return _scaled_k(x, 1) * np.exp(-x)


# --- functions of the first and second kind
def _j_integral(x: np.ndarray, nu: int) -> np.ndarray:
    """J_nu as the mean of cos(nu t - x sin t) over a whole turn."""
    t = np.arange(96) * (2 * math.pi / 96)
    return _in_blocks(lambda column: np.cos(nu * t - column * np.sin(t)).mean(1))(x)


@cache
def _second_kind_weights() -> tuple[np.ndarray, np.ndarray]:
    """(sin t, the sum over k of (-1)^(k+1) cos(2 k t) / k) at the points of a turn: Neumann's series for Y_0 under
    the integral.
    """
    count = 256
    t = np.arange(count) * (2 * math.pi / count)
    series = np.sum([(-1) ** (k + 1) * np.cos(2 * k * t) / k for k in range(1, 49)], axis=0)
    return np.sin(t), series / count


def _y0_near(x: np.ndarray) -> np.ndarray:
    sine, weight = _second_kind_weights()
    rest = _in_blocks(lambda column: np.cos(column * sine) @ weight)(x)
    return 2 / math.pi * (np.log(x / 2) + _EULER) * _j_integral(x, 0) + 4 / math.pi * rest


def _y1_near(x: np.ndarray) -> np.ndarray:
    sine, weight = _second_kind_weights()
    rest = _in_blocks(lambda column: np.sin(column * sine) @ (sine * weight))(x)
    return 2 / math.pi * ((np.log(x / 2) + _EULER) * _j_integral(x, 1) - _j_integral(x, 0) / x) + 4 / math.pi * rest


def _waves(x: np.ndarray, nu: int) -> tuple[np.ndarray, np.ndarray]:
    """(J_nu, Y_nu) by the asymptotic expansion."""
    terms = _expansion(x, nu)
    even = sum(t if k % 2 == 0 else -t for k, t in enumerate(terms[0::2]))
    odd = sum(t if k % 2 == 0 else -t for k, t in enumerate(terms[1::2]))
    size = np.sqrt(2 / (math.pi * x))
    sine, cosine = np.sin(x), np.cos(x)  # of x itself: a phase subtracted first would lose its digits
    shift = math.sqrt(0.5)
    if nu == 0:
        c, s = (cosine + sine) * shift, (sine - cosine) * shift
    else:
        c, s = (sine - cosine) * shift, -(sine + cosine) * shift
    return size * (even * c - odd * s), size * (even * s + odd * c)


def _first_kind(x: np.ndarray, nu: int) -> np.ndarray:
    a = np.abs(x)
    return _piecewise(
        a, (a < _FAR, lambda v: _j_integral(v, nu)), ((a >= _FAR) & (a < np.inf), lambda v: _waves(v, nu)[0])
    )


def j0(x: np.ndarray) -> np.ndarray:
    return _first_kind(x, 0)


def j1(x: np.ndarray) -> np.ndarray:
    return np.sign(x) * _first_kind(x, 1)


def _second_kind(x: np.ndarray, nu: int, near: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    return _piecewise(
        x,
        (x == 0, lambda v: np.full_like(v, -np.inf)),
        ((x > 0) & (x < _FAR), near),
        ((x >= _FAR) & (x < np.inf), lambda v: _waves(v, nu)[1]),
    )


def y0(x: np.ndarray) -> np.ndarray:
    return _second_kind(x, 0, _y0_near)


def y1(x: np.ndarray) -> np.ndarray:
    return _second_kind(x, 1, _y1_near)


def spherical_j0(x: np.ndarray) -> np.ndarray:
    with np.errstate(invalid="ignore"):
        return np.where(np.isinf(x), 0.0, np.where(x == 0, 1.0, np.sin(x) / np.where(x == 0, 1.0, x)))


# --- Airy's function
_AIRY_STEP = 0.5


def _airy_taylor(
    center: np.ndarray, value: np.ndarray, slope: np.ndarray, h: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Ai and Ai' at center + h, from those at the center: the Taylor series of y'' = x y."""
    c0, c1, c2 = value, slope, center * value / 2
    total, derivative, power = c0 + c1 * h + c2 * h * h, c1 + 2 * c2 * h, h * h
    for k in range(3, 30):
        c0, c1, c2 = c1, c2, (center * c1 + c0) / (k * (k - 1))
        derivative = derivative + k * c2 * power
        power = power * h
        total = total + c2 * power
    return total, derivative


@cache
def _airy_centers() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(points from 1 down to -10, Ai there, Ai' there), each from the one before, beginning at 0."""
    at: dict[float, tuple[float, float]] = {0.0: (0.3550280538878172, -0.2588194037928068)}
    for sign, last in ((1.0, 1.0), (-1.0, 10.0)):
        x = 0.0
        while abs(x) < last:
            value, slope = _airy_taylor(
                np.float64(x), np.float64(at[x][0]), np.float64(at[x][1]), np.float64(sign * _AIRY_STEP)
            )
            x += sign * _AIRY_STEP
            at[x] = (float(value), float(slope))
    points = np.array(sorted(at))
    return points, np.array([at[p][0] for p in points]), np.array([at[p][1] for p in points])


def _airy_near(x: np.ndarray) -> np.ndarray:
    points, values, slopes = _airy_centers()
    i = np.rint((x - points[0]) / _AIRY_STEP).astype(int)
    return _airy_taylor(points[i], values[i], slopes[i], x - points[i])[0]


def _airy_positive(x: np.ndarray) -> np.ndarray:
    """For x > 1: the modified Bessel function of order 1/3."""
    z = 2 / 3 * x * np.sqrt(x)
    scaled = _piecewise(
        z, (z < _FAR, lambda v: scaled_k_integral(v, 1 / 3)), (z >= _FAR, lambda v: scaled_k_far(v, 1 / 3))
    )
    return np.sqrt(x / 3) / math.pi * scaled * np.exp(-z)


def _airy_negative(x: np.ndarray) -> np.ndarray:
    """For x < -10: the asymptotic expansion."""
    z = 2 / 3 * -x * np.sqrt(-x)
    terms = _expansion(z, 1 / 3)
    even = sum(t if k % 2 == 0 else -t for k, t in enumerate(terms[0::2]))
    odd = sum(t if k % 2 == 0 else -t for k, t in enumerate(terms[1::2]))
    angle = z - math.pi / 4
    return (np.cos(angle) * even - np.sin(angle) * odd) / (math.sqrt(math.pi) * (-x) ** 0.25)


def airy_ai(x: np.ndarray) -> np.ndarray:
    return _piecewise(
        x,
        ((x > 1) & (x < np.inf), _airy_positive),
        (x == np.inf, np.zeros_like),
        ((x >= -10) & (x <= 1), _airy_near),
        ((x < -10) & (x > -np.inf), _airy_negative),
    )

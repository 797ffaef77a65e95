"""Kernels of special functions; they compute in double precision and round once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..._dispatch.registry import kernel
from . import special_bessel as bessel
from .special_functions import erfc, erfcx, lgamma

Function = Callable[..., np.ndarray]


def _register(name: str, function: Function) -> None:
    """A kernel that computes elementwise in double precision and gives back the type it got."""

    @kernel(name)
    def call(*operands: Any) -> np.ndarray:
        kind = next((o.dtype for o in operands if isinstance(o, np.ndarray)), None)
        if kind is None:
            given = ", ".join(type(o).__name__ for o in operands)
            raise TypeError(
                f"{name}() received an invalid combination of arguments - got ({given}), but expected "
                "a Tensor among them"
            )
        arrays = np.broadcast_arrays(*[np.asarray(o, np.float64) for o in operands])
        shape = arrays[0].shape
        return np.asarray(function(*[a.reshape(-1) for a in arrays])).reshape(shape).astype(kind)


for _name, _function in {
    "i0": bessel.i0,
    "special_i0e": bessel.i0e,
    "special_i1": bessel.i1,
    "special_i1e": bessel.i1e,
    "special_bessel_j0": bessel.j0,
    "special_bessel_j1": bessel.j1,
    "special_bessel_y0": bessel.y0,
    "special_bessel_y1": bessel.y1,
    "special_modified_bessel_i0": bessel.i0,
    "special_modified_bessel_i1": bessel.i1,
    "special_modified_bessel_k0": bessel.k0,
    "special_modified_bessel_k1": bessel.k1,
    "special_scaled_modified_bessel_k0": bessel.scaled_k0,
    "special_scaled_modified_bessel_k1": bessel.scaled_k1,
    "special_spherical_bessel_j0": bessel.spherical_j0,
    "special_airy_ai": bessel.airy_ai,
}.items():
    _register(_name, _function)


# --- orthogonal polynomials
_MOST_STEPS = 1 << 14  # of a recurrence: beyond it, without a closed form, the value is NaN


def _recurrence(
    first: Function,
    step: Callable[[int, np.ndarray, np.ndarray, np.ndarray], np.ndarray],
    closed: Function | None = None,
) -> Function:
    """A polynomial P_n(x) by P_0 = 1, P_1 = first(x), P_{k+1} = step(k, x, P_k, P_{k-1}); 0 for negative n.

    A value that has become NaN stays so. Degrees above _MOST_STEPS take the closed form for |x| < 1, where there is
    one.
    """

    def polynomial(x: np.ndarray, n: np.ndarray) -> np.ndarray:
        degree = np.trunc(np.where(np.isfinite(n), n, -1))
        out = np.where(degree < 0, 0.0, 1.0)
        before, now = np.ones_like(x), first(x)
        open_ = degree >= 1
        for k in range(1, _MOST_STEPS + 1):
            ends = open_ & ((degree == k) | np.isnan(now))
            out = np.where(ends, now, out)
            open_ &= ~ends
            if not open_.any():
                return out
            before, now = now, step(k, x, now, before)
        inner = np.abs(x) < 1
        far = np.full_like(x, np.nan) if closed is None else closed(np.arccos(np.where(inner, x, 0.5)), degree)
        return np.where(open_, np.where(inner, far, np.nan), out)

    return polynomial


def _chebyshev(k: int, x: np.ndarray, now: np.ndarray, before: np.ndarray) -> np.ndarray:
    return 2 * x * now - before


def _shift_argument(polynomial: Function) -> Function:
    return lambda x, n: polynomial(2 * x - 1, n)


_T = _recurrence(lambda x: x, _chebyshev, lambda angle, n: np.cos(n * angle))
_U = _recurrence(lambda x: 2 * x, _chebyshev, lambda angle, n: np.sin((n + 1) * angle) / np.sin(angle))
_V = _recurrence(lambda x: 2 * x - 1, _chebyshev, lambda angle, n: np.cos((n + 0.5) * angle) / np.cos(angle / 2))
_W = _recurrence(lambda x: 2 * x + 1, _chebyshev, lambda angle, n: np.sin((n + 0.5) * angle) / np.sin(angle / 2))
for _letter, _polynomial in (("t", _T), ("u", _U), ("v", _V), ("w", _W)):
    _register(f"special_chebyshev_polynomial_{_letter}", _polynomial)
    _register(f"special_shifted_chebyshev_polynomial_{_letter}", _shift_argument(_polynomial))
_register(
    "special_hermite_polynomial_h", _recurrence(lambda x: 2 * x, lambda k, x, now, before: 2 * (x * now - k * before))
)
_register("special_hermite_polynomial_he", _recurrence(lambda x: x, lambda k, x, now, before: x * now - k * before))
_register(
    "special_laguerre_polynomial_l",
    _recurrence(lambda x: 1 - x, lambda k, x, now, before: ((2 * k + 1 - x) * now - k * before) / (k + 1)),
)
_register(
    "special_legendre_polynomial_p",
    _recurrence(lambda x: x, lambda k, x, now, before: ((2 * k + 1) * x * now - k * before) / (k + 1)),
)


# --- logarithms
def _log_ndtr(x: np.ndarray) -> np.ndarray:
    """The logarithm of the normal distribution's cumulative function."""
    t = x * np.sqrt(0.5)
    return np.where(x < -1, np.log(erfcx(-np.minimum(t, 0)) / 2) - t * t, np.log1p(-erfc(np.maximum(t, -1.0)) / 2))


def _xlog1py(self: np.ndarray, other: np.ndarray) -> np.ndarray:
    return np.where(np.isnan(other), np.nan, np.where(self == 0, 0.0, self * np.log1p(other)))


_register("special_log_ndtr", _log_ndtr)
for _overload in ("", ".self_scalar", ".other_scalar"):
    _register(f"special_xlog1py{_overload}", _xlog1py)


# --- zeta
# ----------------------------------------------------------------------------------------------------------------- B_2k
# / (2k)!, k = 1 ... 12: the terms of Euler and Maclaurin's sum.
_BERNOULLI = (
    1 / 12,
    -1 / 720,
    1 / 30240,
    -1 / 1209600,
    1 / 47900160,
    -691 / 1307674368000,
    1 / 74724249600,
    -3617 / 10670622842880000,
    43867 / 5109094217170944000,
    -174611 / 802857662698291200000,
    1.396544e-18,
    -3.534707e-20,
)


def _zeta(x: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Hurwitz's zeta function for x > 1: the first terms of its sum one by one, the rest by Euler and Maclaurin."""
    good = (x > 1) & ((q > 0) | (q == np.floor(x * 0 + q)) | (x == np.floor(x)))
    x1, q1 = np.where(good, x, 2.0), np.where(good, q, 1.0)
    total = np.zeros_like(x1)
    lowest = -np.fmin.reduce(q1, initial=0.0)  # fmin passes over NaN
    count = 10 + int(np.ceil(min(lowest, 9990.0)))
    for k in range(count):
        total += np.power(q1 + k, -x1)
    w = q1 + count
    power = np.power(w, -x1)
    total += power * w / (x1 - 1) + 0.5 * power
    factor, power = x1.copy(), power / w
    for k, b in enumerate(_BERNOULLI[:10]):
        total += b * factor * power
        factor = factor * (x1 + 2 * k + 1) * (x1 + 2 * k + 2)
        power = power / (w * w)
    total = np.where((q <= 0) & (q == np.floor(q)), np.inf, total)
    return np.where(x == 1, np.inf, np.where(good, total, np.nan))


for _overload in ("", ".self_scalar", ".other_scalar"):
    _register(f"special_zeta{_overload}", _zeta)


# --- incomplete gamma functions
def _factor(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    """x^a exp(-x) / gamma(a + 1), without losing the digits of a large a."""
    direct = np.exp(a * np.log(x) - x - lgamma(a + 1))
    ratio = (x - a) / a
    stirling = 1 / (12 * a) - 1 / (360 * a**3) + 1 / (1260 * a**5)
    large = np.exp(a * (np.log1p(ratio) - ratio) - stirling) / np.sqrt(2 * np.pi * a)
    return np.where((a > 50) & (np.abs(ratio) < 0.5), large, direct)


def _lower_series(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    """P(a, x) for x < a + 1."""
    term, total = np.ones_like(x), np.ones_like(x)
    for k in range(1, 20000):
        term = term * x / (a + k)
        total += term
        if not (term > total * 1e-17).any():
            break
    return total * _factor(a, x)


def _upper_fraction(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Q(a, x) for x >= a + 1, by Lentz's way of computing a continued fraction."""
    b = x + 1 - a
    c, d = np.full_like(x, 1e300), 1 / b
    h = d.copy()
    for k in range(1, 20000):
        an = -k * (k - a)
        b = b + 2
        d = an * d + b
        d = 1 / np.where(np.abs(d) < 1e-300, 1e-300, d)
        c = b + an / c
        c = np.where(np.abs(c) < 1e-300, 1e-300, c)
        change = c * d
        h = h * change
        if not (np.abs(change - 1) > 1e-16).any():
            break
    return h * _factor(a, x) * a


def _incomplete(a: np.ndarray, x: np.ndarray, wants_upper: bool) -> np.ndarray:
    good = (a > 0) & (x > 0) & np.isfinite(a) & np.isfinite(x)
    series = good & (x < a + 1)
    fraction = good & ~series
    out = np.full(a.shape, np.nan)
    if series.any():
        lower = _lower_series(a[series], x[series])
        out[series] = 1 - lower if wants_upper else lower
    if fraction.any():
        upper = _upper_fraction(a[fraction], x[fraction])
        out[fraction] = upper if wants_upper else 1 - upper
    ends = (a >= 0) & (x >= 0) & ~(np.isnan(a) | np.isnan(x))
    at_zero = ends & (x == 0) & (a > 0)
    out[at_zero] = 1.0 if wants_upper else 0.0
    none = ends & (a == 0) & (x > 0)
    out[none] = 0.0 if wants_upper else 1.0
    out[ends & (x == np.inf) & np.isfinite(a)] = 0.0 if wants_upper else 1.0
    out[ends & (a == np.inf) & np.isfinite(x)] = 1.0 if wants_upper else 0.0
    return out


_register("igamma", lambda a, x: _incomplete(a, x, False))
_register("igammac", lambda a, x: _incomplete(a, x, True))

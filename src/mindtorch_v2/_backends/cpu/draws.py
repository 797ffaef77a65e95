"""Kernels of draws element by element, and of their gradients with respect to the parameters."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import _dtype as dt
from ..._dispatch.registry import kernel
from ..generators import stream_of
from . import generator_rejection as rejection
from .special_functions import digamma


def _check_floating(self: np.ndarray, name: str) -> None:
    if self.dtype.kind != "f":
        word = {"i": "Long", "b": "Bool", "u": "Byte", "c": "ComplexFloat"}[self.dtype.kind]
        raise NotImplementedError(f"\"{name}\" not implemented for '{word}'")


@kernel("_standard_gamma")
def standard_gamma(self: np.ndarray, generator: Any) -> np.ndarray:
    _check_floating(self, "gamma")
    drawn = rejection.standard_gamma(stream_of(generator), self)
    return np.maximum(drawn.astype(self.dtype), np.finfo(self.dtype).tiny)


@kernel("_sample_dirichlet")
def sample_dirichlet(self: np.ndarray, generator: Any) -> np.ndarray:
    """Gamma draws that are divided by their sum along the last dimension."""
    _check_floating(self, "dirichlet")
    drawn = rejection.standard_gamma(stream_of(generator), self)
    share = (drawn / drawn.sum(-1, keepdims=True)).astype(self.dtype)
    limits = np.finfo(self.dtype)
    return np.clip(share, limits.tiny, self.dtype.type(1) - self.dtype.type(limits.epsneg))


@kernel("binomial")
def binomial(count: np.ndarray, prob: np.ndarray, generator: Any) -> np.ndarray:
    if count.dtype != prob.dtype:
        raise RuntimeError(
            f"expected scalar type {dt.from_numpy(count.dtype).cpp_name.capitalize()} but found "
            f"{dt.from_numpy(prob.dtype).cpp_name.capitalize()}"
        )
    _check_floating(count, "binomial_cpu")
    if count.size and (count < 0).any():
        raise RuntimeError("binomial expects all elements of count to be non-negative")
    return rejection.binomial(stream_of(generator), count, prob).astype(count.dtype)


# --- gradients
_FAR_SHAPE = 1e4  # above, gamma and beta variables are close enough to a cubed normal one
_MOST_TERMS = 5000


def _gamma_series(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    """dx/da at a fixed quantile: x * sum over n of x^n / (a (a+1) ... (a+n)) * (digamma(a+n+1) - log x)."""
    slope = digamma(a + 1) - np.log(x)
    factor = 1 / a
    total = factor * slope
    for n in range(1, _MOST_TERMS):
        slope = slope + 1 / (a + n)
        factor = factor * x / (a + n)
        step = factor * slope
        total = total + step
        if not (np.abs(step) > 1e-15 * np.abs(total)).any() and not (x > a + n).any():
            break
    return total * x


def _gamma_tail(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The same above the mean: the integral over s of exp(-s) (1 + s/x)^(a-1) (log(x + s) - digamma(a))."""
    nodes, weights = np.polynomial.laguerre.laggauss(64)
    s = nodes[:, None]
    return weights @ (np.power(1 + s / x, a - 1) * (np.log(x + s) - digamma(a)))


def _gamma_far(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The same by Wilson and Hilferty's normal approximation of the cube root."""
    y = np.cbrt(x / a)
    z = 3 * np.sqrt(a) * (y - 1 + 1 / (9 * a))
    return y**3 + 3 * a * y * y * (1 / (9 * a * a) - z / (6 * a**1.5))


@kernel("_standard_gamma_grad")
def standard_gamma_grad(self: np.ndarray, output: np.ndarray) -> np.ndarray:
    a, x = (np.ravel(v).astype(np.float64) for v in np.broadcast_arrays(self, output))
    out = np.full(a.shape, np.nan)
    good = (a > 0) & (x > 0) & np.isfinite(a) & np.isfinite(x)
    far = good & (a > _FAR_SHAPE)
    tail = good & ~far & (x > a + 1 + 6 * np.sqrt(a))
    near = good & ~far & ~tail
    for mask, function in ((far, _gamma_far), (tail, _gamma_tail), (near, _gamma_series)):
        if mask.any():
            out[mask] = function(a[mask], x[mask])
    return out.reshape(np.broadcast_shapes(self.shape, output.shape)).astype(self.dtype)


def _below_mean(x: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """For x ~ Beta(a, b): dx/da / (1 - x) at a fixed quantile, by the power series of the incomplete beta function
    in x.
    """
    factor = 1 / a
    slope = np.log(x) + digamma(a + b) - digamma(a + 1)
    total = factor * slope
    for n in range(_MOST_TERMS):
        factor = factor * x * (a + b + n) / (a + 1 + n)
        slope = slope + 1 / (a + b + n) - 1 / (a + 1 + n)
        step = factor * slope
        total = total + step
        if not (np.abs(step) > 1e-15 * np.abs(total)).any():
            break
    return -x * total


def _above_mean(x: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The same by the power series in 1 - x."""
    factor = 1 / b
    slope = np.log(x) + digamma(a + b) - digamma(a)
    total = factor * slope
    for n in range(_MOST_TERMS):
        factor = factor * (1 - x) * (a + b + n) / (b + 1 + n)
        slope = slope + 1 / (a + b + n)
        step = factor * slope
        total = total + step
        if not (np.abs(step) > 1e-15 * np.abs(total)).any():
            break
    return x * total


@kernel("_dirichlet_grad")
def dirichlet_grad(x: np.ndarray, alpha: np.ndarray, total: np.ndarray) -> np.ndarray:
    shape = np.broadcast_shapes(x.shape, alpha.shape, total.shape)
    v, a, t = (np.ravel(array).astype(np.float64) for array in np.broadcast_arrays(x, alpha, total))
    b = t - a
    out = np.full(a.shape, np.nan)
    good = (a > 0) & (b > 0) & (v > 0) & (v < 1)
    below = good & (v * t <= a)
    above = good & ~below
    for mask, function in ((below, _below_mean), (above, _above_mean)):
        if mask.any():
            out[mask] = function(v[mask], a[mask], b[mask])
    return out.reshape(shape).astype(x.dtype)

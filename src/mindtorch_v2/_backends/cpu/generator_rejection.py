"""Draws by rejection, element by element, in the order and with the numbers of PyTorch's CPU kernels.

Gamma: Marsaglia and Tsang (2000). Binomial and Poisson: Hörmann's transformed rejection (1993) where the mean is at
least 10; below, sums of geometric waiting times and products of uniforms. All arithmetic is in double precision.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .generator_engine import GeneratorEngine

_BATCH = 256
_THIRD = float(np.float32(1) / np.float32(3))  # PyTorch takes the third in single precision


class _Uniforms:
    """Uniform numbers of an engine one by one, fetched in batches; what was fetched and not used is given back at
    the end.
    """

    def __init__(self, engine: GeneratorEngine) -> None:
        self._engine = engine
        self._start = engine.get_state()
        self._numbers: list[float] = []
        self._next = 0
        self._used_draws = 0

    def draw(self) -> float:
        if self._next == len(self._numbers):
            self._numbers = self._engine.unit64(_BATCH).tolist()
            self._next = 0
        value = self._numbers[self._next]
        self._next += 1
        self._used_draws += 1
        return value

    def close(self) -> None:
        """Leaves the engine where it would be had the numbers been drawn one by one."""
        normal = self._engine.next_normal
        self._engine.set_state(self._start)
        if self._used_draws:
            self._engine.unit64(self._used_draws)
        self._engine.next_normal = normal


def _normal(uniforms: _Uniforms, engine: GeneratorEngine) -> float:
    """A standard normal number; the second one of a pair is kept for the next call."""
    kept = engine.next_normal
    if kept is not None:
        engine.next_normal = None
        return kept
    first, second = uniforms.draw(), uniforms.draw()
    radius, angle = math.sqrt(-2.0 * math.log1p(-second)), 2.0 * math.pi * first
    engine.next_normal = radius * math.sin(angle)
    return radius * math.cos(angle)


def _gamma_one(alpha: Any, uniforms: _Uniforms, engine: GeneratorEngine) -> float:
    """A draw for `alpha`, a numpy number: what PyTorch computes from it alone is rounded to its type."""
    number = type(alpha)
    scale = 1.0
    if alpha < 1:
        if alpha == 0:
            return 0.0
        scale = math.pow(1.0 - uniforms.draw(), float(number(1) / alpha))
        alpha = alpha + number(1)
    d = float(alpha - number(_THIRD))
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        x = _normal(uniforms, engine)
        y = 1.0 + c * x
        while y <= 0:
            x = _normal(uniforms, engine)
            y = 1.0 + c * x
        v = y * y * y
        u = 1.0 - uniforms.draw()
        square = x * x
        if u < 1.0 - 0.0331 * square * square or math.log(u) < 0.5 * square + d * (1.0 - v + math.log(v)):
            return scale * d * v


def _elementwise(engine: GeneratorEngine, draw: Callable[..., float], *parameters: np.ndarray) -> np.ndarray:
    uniforms = _Uniforms(engine)
    try:
        rows = zip(*[p.astype(np.float64).ravel().tolist() for p in parameters])
        return np.array([draw(*row, uniforms) for row in rows], np.float64).reshape(parameters[0].shape)
    finally:
        uniforms.close()


def standard_gamma(engine: GeneratorEngine, alpha: np.ndarray) -> np.ndarray:
    """Gamma-distributed numbers of rate 1, in double precision; nan for nan."""
    uniforms = _Uniforms(engine)
    try:
        drawn = [math.nan if a != a else _gamma_one(a, uniforms, engine) for a in alpha.ravel()]
    finally:
        uniforms.close()
    return np.array(drawn, np.float64).reshape(alpha.shape)


# --- binomial
_TAILS = [
    0.0810614667953272,
    0.0413406959554092,
    0.0276779256849983,
    0.02079067210376509,
    0.0166446911898211,
    0.0138761288230707,
    0.0118967099458917,
    0.0104112652619720,
    0.00925546218271273,
    0.00833056343336287,
]


def _stirling_tail(k: float) -> float:
    """What Stirling's formula leaves of log(k!)."""
    if k <= 9:
        return _TAILS[int(k)]
    square = (k + 1.0) * (k + 1.0)
    return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1.0)


def _binomial_waiting(count: float, prob: float, uniforms: _Uniforms) -> float:
    """How many waiting times of successes fit into `count` trials."""
    log_fail = math.log1p(-prob)
    total, successes = 0.0, 0
    while True:
        u = uniforms.draw()
        total += math.ceil(math.log(u) / log_fail) if u > 0 else math.inf
        if total > count:
            return float(successes)
        successes += 1


def _binomial_transformed(count: float, prob: float, uniforms: _Uniforms) -> float:
    deviation = math.sqrt(count * prob * (1 - prob))
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * prob
    c = count * prob + 0.5
    v_r = 0.92 - 4.2 / b
    r = prob / (1 - prob)
    alpha = (2.83 + 5.1 / b) * deviation
    m = math.floor((count + 1) * prob)
    while True:
        u, v = uniforms.draw() - 0.5, uniforms.draw()
        us = 0.5 - abs(u)
        k = math.floor((2 * a / us + b) * u + c)
        if us >= 0.07 and v <= v_r:
            return k
        if k < 0 or k > count:
            continue
        bound = (
            (m + 0.5) * math.log((m + 1) / (r * (count - m + 1)))
            + (count + 1) * math.log((count - m + 1) / (count - k + 1))
            + (k + 0.5) * math.log(r * (count - k + 1) / (k + 1))
            + _stirling_tail(m)
            + _stirling_tail(count - m)
            - _stirling_tail(k)
            - _stirling_tail(count - k)
        )
        if math.log(v * alpha / (a / (us * us) + b)) <= bound:
            return k


def _binomial_one(count: float, prob: float, uniforms: _Uniforms) -> float:
    if count <= 0 or prob <= 0:
        return 0.0
    if prob >= 1:
        return count
    if prob > 0.5:
        return count - _binomial_one(count, 1.0 - prob, uniforms)
    if prob <= 0.5:
        return (_binomial_transformed if count * prob >= 10 else _binomial_waiting)(count, prob, uniforms)
    return math.nan


def binomial(engine: GeneratorEngine, count: np.ndarray, prob: np.ndarray) -> np.ndarray:
    """Numbers of successes, in double precision."""
    return _elementwise(engine, _binomial_one, *np.broadcast_arrays(count, prob))


# --- Poisson
def _poisson_transformed(rate: float, uniforms: _Uniforms) -> float:
    root, log_rate = math.sqrt(rate), math.log(rate)
    b = 0.931 + 2.53 * root
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    v_r = 0.9277 - 3.6224 / (b - 2)
    while True:
        u, v = uniforms.draw() - 0.5, uniforms.draw()
        us = 0.5 - abs(u)
        k = math.floor((2 * a / us + b) * u + rate + 0.43)
        if us >= 0.07 and v <= v_r:
            return k
        if k < 0 or (us < 0.013 and v > us):
            continue
        if math.log(v) + math.log(inverse_alpha) - math.log(a / (us * us) + b) <= -rate + k * log_rate - math.lgamma(
            k + 1
        ):
            return k


def _poisson_one(rate: float, uniforms: _Uniforms) -> float:
    if rate >= 10:
        return _poisson_transformed(rate, uniforms)
    if rate == 0:
        return 0.0
    limit, product, events = math.exp(-rate), 1.0, 0
    while True:
        product *= uniforms.draw()
        if product <= limit:
            return float(events)
        events += 1


def poisson(engine: GeneratorEngine, rate: np.ndarray) -> np.ndarray:
    """Numbers of events, in double precision."""
    return _elementwise(engine, _poisson_one, rate)

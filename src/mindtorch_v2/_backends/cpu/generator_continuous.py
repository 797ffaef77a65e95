"""Continuous distributions other than the normal one, as PyTorch's CPU kernels.

Only ``uniform`` works in the element type; the others take float64 uniforms,
compute in float64 and round at the end, whatever the element type is.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .generator_cast import (
    Array,
    Kind,
    cast,
    cast_scalar,
    component,
    fma32,
    fma64,
    is_floating,
    kind_of,
    not_implemented,
    of_parts,
    require_floating,
)
from .generator_engine import GeneratorEngine, fill_in_pieces
from .generator_normal import serial_normals


def _check_uniform(kind: Kind, low: float, high: float) -> None:
    require_floating("check_uniform_bounds", kind)
    for name, bound in (("from", low), ("to", high)):
        if not -kind.top <= bound <= kind.top:
            raise RuntimeError(f"{name} is out of bounds for {kind.ctype}")
    if low > high:
        raise RuntimeError(f"uniform_ expects to return a [from, to) range, but found from={low:g} > to={high:g}")
    if high - low > kind.top:
        raise RuntimeError(
            f"uniform_ expects to-from <= std::numeric_limits<{kind.label}>::max(), but found to={high:g} and "
            f"from={low:g} which result in to-from to exceed the limit"
        )


def uniform(engine: GeneratorEngine, shape: Any, dtype: Any = np.float32, low: float = 0.0, high: float = 1.0) -> Array:
    """``uniform_(low, high)``: values in [low, high).

    A value that rounding carries onto ``high`` becomes ``low``.  Complex
    results take two draws per element, real part first.
    """
    kind = kind_of(dtype)
    if kind.store.kind == "c":
        return of_parts(shape, kind, lambda parts: uniform(engine, parts, component(kind).store, low, high))
    _check_uniform(kind, low, high)
    if low == 0.0 and high == 1.0 and kind.digits >= 24:
        unit = engine.unit64 if kind.digits == 53 else engine.unit32
        return fill_in_pieces(shape, kind.store, unit)
    low_stored, high_stored = cast_scalar(low, kind), cast_scalar(high, kind)

    def piece(size: int) -> Array:
        values = cast(_scale(engine, size, kind, float(low), float(high)), kind)
        values[values == high_stored] = low_stored
        return values

    return fill_in_pieces(shape, kind.store, piece)


def _scale(engine: GeneratorEngine, size: int, kind: Kind, low: float, high: float) -> Array:
    """``low + (high - low) * u``, fused, in float64 or float32."""
    if kind.digits == 53:
        return fma64(engine.unit64(size), high - low, low)
    base = np.float32(low)
    return fma32(engine.unit32(size), float(np.float32(high) - base), float(base))


def exponential(engine: GeneratorEngine, shape: Any, dtype: Any = np.float32, lambd: float = 1.0) -> Array:
    """``exponential_(lambd)``."""
    kind = kind_of(dtype)
    if not is_floating(kind):
        raise RuntimeError(
            "Exponential distribution is a continuous probability distribution. "
            f"dtype must be a floating point but you specified {kind.label}"
        )
    if not lambd > 0.0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={lambd:g}")
    scale = -1.0 / lambd

    def piece(size: int) -> Array:
        values = engine.unit64(size)
        np.negative(values, out=values)
        np.log1p(values, out=values)
        values *= scale
        return cast(values, kind)

    return fill_in_pieces(shape, kind.store, piece)


def geometric(engine: GeneratorEngine, shape: Any, dtype: Any = np.float32, p: float = 0.5) -> Array:
    """``geometric_(p)``: number of trials up to the first success."""
    if not 0.0 < p < 1.0:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p:g}")
    kind = kind_of(dtype)
    if kind.store.kind in "bc" or kind.label.startswith("UInt"):
        raise not_implemented("geometric_cpu", kind)
    scale = math.log1p(-p)

    def piece(size: int) -> Array:
        values = engine.unit64(size)
        with np.errstate(divide="ignore", invalid="ignore"):  # a draw of zero
            np.log(values, out=values)
            values /= scale
            np.ceil(values, out=values)
            if kind.store.kind in "iu":
                # Through int64: a double out of a narrow type's range has
                # no defined cast to it.
                return values.astype(np.int64).astype(kind.store)
        return cast(values, kind)

    return fill_in_pieces(shape, kind.store, piece)


def cauchy(
    engine: GeneratorEngine, shape: Any, dtype: Any = np.float32, median: float = 0.0, sigma: float = 1.0
) -> Array:
    """``cauchy_(median, sigma)``."""
    if not sigma > 0.0:
        raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma:g}")
    kind = kind_of(dtype)
    if not is_floating(kind):
        raise RuntimeError(
            "Cauchy distribution is a continuous probability distribution. "
            f"dtype must be a floating point but you specified {kind.ctype}"
        )

    def piece(size: int) -> Array:
        values = engine.unit64(size)
        values -= 0.5
        values *= math.pi
        np.tan(values, out=values)
        return cast(fma64(values, float(sigma), float(median)), kind)

    return fill_in_pieces(shape, kind.store, piece)


def log_normal(
    engine: GeneratorEngine, shape: Any, dtype: Any = np.float32, mean: float = 1.0, std: float = 2.0
) -> Array:
    """``log_normal_(mean, std)``: always built from pairs, whatever the size."""
    if not std > 0.0:
        raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={std:g}")
    kind = kind_of(dtype)
    require_floating("log_normal_cpu", kind)

    def piece(size: int) -> Array:
        values = fma64(serial_normals(engine, size), float(std), float(mean))
        with np.errstate(over="ignore"):
            np.exp(values, out=values)
        return cast(values, kind)

    return fill_in_pieces(shape, kind.store, piece)

"""Normal numbers as PyTorch's CPU kernels make them.

Contiguous targets of 16 or more elements are filled in blocks of 16: eight
uniforms give radii, eight give angles, and the block receives eight cosine
values and then eight sine values.  Everything else takes pairs of float64
uniforms and keeps the unused half of a pair in the generator.

For float32 (and the 16-bit types) PyTorch's AVX2 code evaluates the block with
short float32 polynomials for log, sin and cos.  They are evaluated here with
the same coefficients, order and fused steps, so those results are the same
bits.  PyTorch without AVX2 code (ATEN_CPU_CAPABILITY=default) calls the C
library instead and differs from both by about 2e-6 at most.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._native import accelerated
from .generator_cast import Array, Kind, cast, component, count_of, fma32, fma64, kind_of, of_parts, require_floating
from .generator_engine import CHUNK, GeneratorEngine, fill_in_pieces, uniforms

F32 = NDArray[np.float32]
F64 = NDArray[np.float64]

_BLOCK = 16

_ONE = np.float32(1.0)
_HALF = np.float32(0.5)
_TWO_PI = np.float32(2.0 * math.pi)
_SQRT_HALF = np.float32(0.70710678)

# Minimax coefficients of the Cephes single-precision log, sin and cos.
_LOG = [
    float(np.float32(value))
    for value in (
        7.0376836292e-2,
        -1.1514610310e-1,
        1.1676998740e-1,
        -1.2420140846e-1,
        1.4249322787e-1,
        -1.6668057665e-1,
        2.0000714765e-1,
        -2.4999993993e-1,
        3.3333331174e-1,
    )
]
_LN2_LOW = np.float32(-2.12194440e-4)
_LN2_HIGH = np.float32(0.693359375)
_COS = [float(np.float32(value)) for value in (2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2)]
_SIN = [float(np.float32(value)) for value in (-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1)]
_FOUR_OVER_PI = np.float32(1.27323954473516)
_PI_OVER_4 = [np.float32(value) for value in (0.78515625, 2.4187564849853515625e-4, 3.77489497744594108e-8)]


def _horner(coefficients: list[float], at: F64) -> F32:
    """Polynomial with one rounding to float32 per step, highest power first."""
    wide = at * coefficients[0]
    wide += coefficients[1]
    value = wide.astype(np.float32)
    for coefficient in coefficients[2:]:
        np.copyto(wide, value)
        wide *= at
        wide += coefficient
        value = wide.astype(np.float32)
    return value


def _fused_multiply_add(a: F32, b: F64, c: F32) -> F32:
    """float32 ``a*b + c`` rounded once; ``b`` is float32 values held wide."""
    wide = a.astype(np.float64)
    wide *= b
    wide += c
    return wide.astype(np.float32)


def _log32(x: F32) -> F32:
    """Natural logarithm of normal float32 numbers in (0, 1]."""
    bits = x.view(np.int32)
    power = (bits >> 23) - np.int32(126)
    mantissa = ((bits & np.int32(0x7FFFFF)) | np.int32(0x3F000000)).view(np.float32)
    small = mantissa < _SQRT_HALF
    # Below sqrt(1/2) double the mantissa: (m - 1) + m, and one power less.
    m = mantissa - _ONE
    m += mantissa * small
    power -= small
    exponent = power.astype(np.float32)
    square = m * m
    wide = m.astype(np.float64)
    y = _horner(_LOG, wide)
    y *= m
    y = _fused_multiply_add(y, square.astype(np.float64), exponent * _LN2_LOW)
    y -= square * _HALF
    m += y
    m += exponent * _LN2_HIGH
    return m


def _sincos32(x: F32) -> tuple[F32, F32]:
    """Sine and cosine of float32 angles in [0, 2*pi]."""
    octant = (x * _FOUR_OVER_PI).astype(np.int32)
    octant += 1
    octant &= np.int32(~1)
    turns = octant.astype(np.float32)
    reduced = x - turns * _PI_OVER_4[0]
    for part in _PI_OVER_4[1:]:
        reduced -= turns * part
    square = reduced * reduced
    wide = square.astype(np.float64)
    even = _horner(_COS, wide)
    even *= square
    even = _fused_multiply_add(even, wide, square * -_HALF)
    even += _ONE
    odd = _horner(_SIN, wide)
    odd *= square
    odd = _fused_multiply_add(odd, reduced.astype(np.float64), reduced)
    swapped = (octant & np.int32(2)) != 0
    sine = np.where(swapped, even, odd)
    cosine = np.where(swapped, odd, even)
    # Signs by flipping the top bit: sine is negative in octants 4..7,
    # cosine in 2..5.
    top = np.uint32(29)
    turn = octant.view(np.uint32)
    four = np.uint32(4)
    np.bitwise_xor(sine.view(np.uint32), (turn & four) << top, out=sine.view(np.uint32))
    flip = ((turn + np.uint32(2)) & four) << top
    np.bitwise_xor(cosine.view(np.uint32), flip, out=cosine.view(np.uint32))
    return sine, cosine


def _blocks32(uniforms: F32) -> F32:
    """Standard normals from float32 uniforms, sixteen at a time."""
    out = np.empty_like(uniforms)
    source = uniforms.reshape(-1, 2, 8)
    target = out.reshape(-1, 2, 8)
    radius = _log32(_ONE - source[:, 0])
    radius *= np.float32(-2.0)
    np.sqrt(radius, out=radius)
    sine, cosine = _sincos32(source[:, 1] * _TWO_PI)
    np.multiply(radius, cosine, out=target[:, 0])
    np.multiply(radius, sine, out=target[:, 1])
    return out


def _blocks64(uniforms: F64) -> F64:
    """Standard normals from float64 uniforms, sixteen at a time."""
    out = np.empty_like(uniforms)
    source = uniforms.reshape(-1, 2, 8)
    target = out.reshape(-1, 2, 8)
    radius = np.sqrt(-2.0 * np.log(1.0 - source[:, 0]))
    angle = (2.0 * math.pi) * source[:, 1]
    np.multiply(radius, np.cos(angle), out=target[:, 0])
    np.multiply(radius, np.sin(angle), out=target[:, 1])
    return out


@accelerated("normal_blocks")
def _normal_blocks(words: NDArray[np.uint32], mean: float, std: float) -> F32:
    """Normals of float32 from whole blocks of words; mean and deviation hold float32 values."""
    values = _blocks32(uniforms(words))
    return values if mean == 0.0 and std == 1.0 else fma32(values, std, mean)


def _blocks(engine: GeneratorEngine, count: int, kind: Kind, mean: float, std: float) -> Array:
    """``count`` (a multiple of 16, at most CHUNK) finished values of the type."""
    if kind.digits == 53:
        wide = _blocks64(engine.unit64(count))
        return wide if mean == 0.0 and std == 1.0 else fma64(wide, std, mean)
    return cast(_normal_blocks(engine.words(count), float(np.float32(mean)), float(np.float32(std))), kind)


def _fill(engine: GeneratorEngine, shape: Any, kind: Kind, mean: float, std: float) -> Array:
    """16 and more normals made in blocks; CHUNK is a multiple of the block."""

    count = count_of(shape)
    rest = count % _BLOCK
    if not rest and count <= CHUNK and not isinstance(shape, np.ndarray):
        return _blocks(engine, count, kind, mean, std).reshape(shape)

    def piece(size: int) -> Array:
        return _blocks(engine, size, kind, mean, std)

    if not rest:
        return fill_in_pieces(shape, kind.store, piece)
    made = shape if isinstance(shape, np.ndarray) else np.empty(shape, dtype=kind.store)
    out = made.reshape(-1)
    fill_in_pieces(out[: count - rest], kind.store, piece)
    # The last 16 elements are made once more from fresh uniforms.  float32 and
    # float64 have by then drawn for the incomplete block too; the 16-bit
    # kernels have not.
    if kind.digits >= 24:
        engine.words(rest if kind.digits == 24 else 2 * rest)
    out[count - _BLOCK :] = piece(_BLOCK)
    return made


def _pair(first: float, second: float) -> tuple[float, float]:
    radius = math.sqrt(-2.0 * math.log1p(-second))
    angle = 2.0 * math.pi * first
    return radius * math.cos(angle), radius * math.sin(angle)


def serial_normals(engine: GeneratorEngine, count: int) -> F64:
    """``count`` float64 standard normals, one pair at a time.

    Starts with the value left over from the previous odd-sized call and leaves
    the unused one of the last pair in the engine.
    """
    out = np.empty(count, dtype=np.float64)
    if count == 0:
        return out
    start = 0
    if engine.next_normal is not None:
        out[0] = engine.next_normal
        engine.next_normal = None
        start = 1
    pairs = (count - start + 1) // 2
    if not pairs:
        return out
    uniforms = engine.unit64(2 * pairs)
    if pairs <= 8:
        values = _pairs_small(uniforms)
    else:
        radius = np.sqrt(-2.0 * np.log1p(-uniforms[1::2]))
        angle = (2.0 * math.pi) * uniforms[0::2]
        values = np.empty(2 * pairs, dtype=np.float64)
        np.multiply(radius, np.cos(angle), out=values[0::2])
        np.multiply(radius, np.sin(angle), out=values[1::2])
    out[start:] = values[: count - start]
    if (count - start) % 2:
        engine.next_normal = float(values[-1])
    return out


def _pairs_small(uniforms: F64) -> F64:
    return np.array(_pair_list(uniforms), dtype=np.float64)


def _pair_list(uniforms: F64) -> list[float]:
    # The C library's functions through `math`: faster than numpy for a few
    # values and the very functions PyTorch calls.
    values: list[float] = []
    flat = iter(uniforms.tolist())
    for first in flat:
        values.extend(_pair(first, next(flat)))
    return values


def _few(engine: GeneratorEngine, count: int, std: float, zero: float, store: np.dtype[Any]) -> Array:
    """``serial_normals`` times ``std`` plus ``zero``, for a few values: through a list, as arrays so short take longer
    to make than to fill."""
    left = engine.next_normal
    values = [] if left is None else [left]
    engine.next_normal = None
    pairs = (count - len(values) + 1) // 2
    if pairs:
        values += _pair_list(engine.unit64(2 * pairs))
    if len(values) > count:
        engine.next_normal = values.pop()
    return np.array([value * std + zero for value in values], store)


def normal(
    engine: GeneratorEngine,
    shape: Any,
    dtype: Any = np.float32,
    mean: float = 0.0,
    std: float = 1.0,
    contiguous: bool = True,
) -> Array:
    """``normal_(mean, std)``: a fresh array of the shape and dtype asked for.

    ``contiguous=False`` gives the numbers PyTorch writes into a target that is
    not contiguous (it then works pair by pair whatever the size, in the order
    the elements lie in memory).  Complex results have both parts drawn with
    ``std / sqrt(2)`` and ``mean`` added to both, as PyTorch does.
    """
    if not std >= 0.0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
    kind = kind_of(dtype)
    if kind.store.kind == "c":
        part = component(kind).store
        return of_parts(shape, kind, lambda parts: normal(engine, parts, part, mean, std / math.sqrt(2.0), contiguous))
    require_floating("normal_kernel_cpu", kind)
    mean, std = float(mean), float(std)
    if count_of(shape) >= _BLOCK and contiguous:
        return _fill(engine, shape, kind, mean, std)

    few = mean == 0.0 and kind.digits >= 24 and std < 1e30  # beyond, float32 may overflow

    def piece(size: int) -> Array:
        if few and 0 < size < _BLOCK:
            return _few(engine, size, std, mean, kind.store)
        return cast(fma64(serial_normals(engine, size), std, mean), kind)

    return fill_in_pieces(shape, kind.store, piece)

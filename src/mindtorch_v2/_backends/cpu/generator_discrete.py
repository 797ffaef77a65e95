"""Discrete distributions as PyTorch's CPU kernels draw them.

``bernoulli`` with one probability and the exponentials of ``multinomial``
use a different generator (MKL's) when PyTorch runs on an Intel processor; the
numbers here are those of every other processor.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .generator_cast import Array, Kind, cast, is_floating, kind_of, not_implemented
from .generator_continuous import exponential
from .generator_engine import GeneratorEngine, fill_in_pieces

_INT64_MIN = -(1 << 63)
_MASK_64 = (1 << 64) - 1
# From this span on PyTorch spends a 64-bit word per value, to keep the bias
# of taking a remainder small.
_WIDE_SPAN = 1 << 28
# Longest permutation that takes 32-bit words (2**32 / 20, rounded down).
_SMALL_PERMUTATION = 0xFFFFFFFF // 20
_P_RANGE = (
    "Expected p_in >= 0 && p_in <= 1 to be true, but got false.  (Could this error message be improved?  If so, please "
    "report an enhancement request to PyTorch.)"
)


def _as_kind(values: NDArray[np.int64], kind: Kind) -> Array:
    if is_floating(kind):
        return cast(values.astype(np.float64 if kind.digits == 53 else "f4"), kind)
    return values.astype(kind.store, copy=False)


def _spread(engine: GeneratorEngine, count: int, low: int, span: int) -> NDArray[np.int64]:
    """``low + word % span`` as int64, wrapping like two's complement.

    A span of 2**64 stands for every int64: the word itself, nothing added.
    """
    if span >= _WIDE_SPAN:
        values = engine.words64(count)
        if span <= _MASK_64:
            values %= np.uint64(span)
            values += np.uint64(low & _MASK_64)
        return values.view(np.int64)
    small = (engine.words(count) % np.uint32(span)).astype(np.int64)
    small += low
    return small


def _nearest(value: int, kind: Kind) -> int:
    return int(_as_kind(np.array([value], dtype=np.int64), kind)[0])


def _check_bounds(kind: Kind, low: int, last: int) -> None:
    """Refuse bounds the type cannot hold; warn where it skips integers."""
    if kind.store.kind == "c":
        raise RuntimeError("check_random_bounds handles only integral, floating-point and boolean types")
    if is_floating(kind):
        bottom: float = -kind.top
    else:
        bottom = 0 if kind.store.kind in "bu" else -int(kind.top) - 1
    for name, bound in (("from", low), ("to - 1", last)):
        if not bottom <= bound <= kind.top:
            raise RuntimeError(f"{name} is out of bounds for {kind.ctype}")
    if not is_floating(kind):
        return
    exact = 1 << kind.digits
    for name, bound in (("from", low), ("to - 1", last)):
        if not -exact <= bound <= exact:
            warnings.warn(
                f"{name} is out of bounds [-(2^{kind.digits}), 2^{kind.digits}]. Due to precision limitations "
                f"{kind.ctype} can support discrete uniform distribution only within this range. This warning will "
                "become an error in version 1.7 release, please fix the code in advance",
                UserWarning,
                stacklevel=4,
            )


def _narrow(kind: Kind, low: int, high: int) -> tuple[int, int]:
    """Move float bounds inwards where rounding would step over them."""
    after = _nearest(low + 1, kind)
    if after < low:
        low = after + (1 << (abs(low + 1).bit_length() - kind.digits))
    before = _nearest(high - 1, kind)
    if before >= high:
        high = before - (1 << (abs(high - 1).bit_length() - kind.digits))
    return low, high


def _check_full_64(kind: Kind) -> None:
    """Refuse types PyTorch cannot fill with the whole int64 range."""
    kernel = "random_full_64_bits_range_kernel_cpu"
    if kind.label in ("Byte", "Char", "Short", "Int"):
        raise RuntimeError(f"{kernel} handles only int64, double, float and bfloat16")
    if kind.label not in ("Long", "Double", "Float", "BFloat16"):
        raise not_implemented(kernel, kind)


def random_int(
    engine: GeneratorEngine, shape: Any, dtype: Any = np.int64, low: int = 0, high: int | None = None
) -> Array:
    """``random_(low, high)`` and ``randint``: integers in [low, high).

    ``high=None`` goes up to the largest value of the type (for floating types
    the largest up to which every integer is exact), inclusive.
    """
    kind = kind_of(dtype)
    low = int(low)
    if high is None:
        if low == _INT64_MIN:
            _check_full_64(kind)
            span = 1 << 64
        else:
            last = (1 << kind.digits) if is_floating(kind) else int(kind.top)
            _check_bounds(kind, low, last)
            span = last + 1 - low
        return _integers(engine, shape, kind, low, span)
    high = int(high)
    if low >= high:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    _check_bounds(kind, low, high - 1)
    if is_floating(kind):
        low, high = _narrow(kind, low, high)
        if low >= high:
            raise RuntimeError(
                "random_ expects 'from' casted to dtype to be less than 'to' "
                f"casted to dtype, but got from={low} >= to={high}"
            )
    return _integers(engine, shape, kind, low, high - low)


def _integers(engine: GeneratorEngine, shape: Any, kind: Kind, low: int, span: int) -> Array:
    def piece(size: int) -> Array:
        return _as_kind(_spread(engine, size, low, span), kind)

    return fill_in_pieces(shape, kind.store, piece)


def random_full(engine: GeneratorEngine, shape: Any, dtype: Any = np.int64) -> Array:
    """``random_()`` without bounds: 0 up to the largest value of the type."""
    kind = kind_of(dtype)
    if kind.store.kind == "c" or kind.label.startswith("UInt"):
        raise not_implemented("random_kernel_cpu", kind)
    last = (1 << kind.digits) if is_floating(kind) else int(kind.top)
    # Here the width of the type and not the span decides on 64-bit words.
    words = engine.words64 if kind.store.itemsize == 8 else engine.words

    def piece(size: int) -> Array:
        return _as_kind((words(size) % np.uint64(last + 1)).astype(np.int64, copy=False), kind)

    return fill_in_pieces(shape, kind.store, piece)


def _shuffle(targets: NDArray[np.int64]) -> NDArray[np.int64]:
    """0..n-1 after swapping element i with ``targets[i]`` for i = 0, 1, ...

    ``targets[i] >= i``.  Done without a loop: the value found at position j when
    its turn comes was put there by the last earlier step aiming at j, which
    carried the value found at its own position.  Following those steps back to
    their origin is a pointer-jumping walk over all positions at once.
    """
    count = targets.size
    index = np.arange(count, dtype=np.int64)
    packed = np.sort((targets << 32) | index)
    steps = packed & 0xFFFFFFFF
    positions = packed >> 32
    same = positions[1:] == positions[:-1]
    # For each step the previous one with the same target, or -1.
    before = np.full(count, -1, dtype=np.int64)
    before[steps[1:][same]] = steps[:-1][same]
    ends = np.append(~same, True)
    origin = index.copy()
    origin[positions[ends]] = steps[ends]
    own = targets == index
    origin[own] = np.where(before[own] >= 0, before[own], index[own])
    while True:
        further = origin[origin]
        if np.array_equal(further, origin):
            break
        origin = further
    order: NDArray[np.int64] = np.where(before >= 0, origin[before], targets)
    return order


def permutation(engine: GeneratorEngine, n: int, dtype: Any = np.int64) -> Array:
    """``randperm(n)``: the numbers 0..n-1 in random order."""
    kind = kind_of(dtype)
    if n < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {n}: [{n}]")
    if kind.store.kind in "bc" or kind.label.startswith("UInt"):
        raise not_implemented("randperm", kind)
    if not is_floating(kind) and n > int(kind.top):
        raise RuntimeError(f"value cannot be converted to type {kind.store.name}_t without overflow")
    if kind.digits in (11, 24, 53) and n > (1 << kind.digits) + 1:
        raise RuntimeError(f"n cannot be greater than {(1 << kind.digits) + 1} for {kind.label} type.")
    if n < 2:
        return _as_kind(np.arange(n, dtype=np.int64), kind)
    left = np.arange(n, 1, -1, dtype=np.int64)
    offsets: Array
    if n < _SMALL_PERMUTATION:
        offsets = engine.words(n - 1) % left.astype(np.uint32)
    else:
        offsets = engine.words64(n - 1) % left.astype(np.uint64)
    targets = np.arange(n, dtype=np.int64)
    targets[:-1] += offsets.astype(np.int64)
    if n > 100:
        return _as_kind(_shuffle(targets), kind)
    order = list(range(n))
    for position, other in enumerate(targets.tolist()):
        order[position], order[other] = order[other], order[position]
    return _as_kind(np.array(order, dtype=np.int64), kind)


def bernoulli_scalar(engine: GeneratorEngine, shape: Any, dtype: Any = np.float32, p: float = 0.5) -> Array:
    """``bernoulli_(p)``: ones with probability p.

    With ``1 - p`` this is the mask of ``dropout(p)`` before its scaling.
    """
    if not 0.0 <= p <= 1.0:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p:g}")
    kind = kind_of(dtype)
    if kind.store.kind == "c" or kind.label.startswith("UInt"):
        raise not_implemented("bernoulli_scalar_cpu_", kind)

    def piece(size: int) -> Array:
        return (engine.unit64(size) < p).astype(kind.store, copy=False)

    return fill_in_pieces(shape, kind.store, piece)


def bernoulli_array(engine: GeneratorEngine, p_array: Array, dtype: Any = np.float32) -> Array:
    """``bernoulli(p)`` with one probability per element.

    float64 probabilities spend a 64-bit word each, all others a 32-bit word.
    """
    kind = kind_of(dtype)
    given = kind_of(p_array.dtype)
    if not is_floating(given):
        raise not_implemented("bernoulli_tensor_cpu_p_", given)
    if p_array.size and not (np.minimum.reduce(p_array, None) >= 0 and np.maximum.reduce(p_array, None) <= 1):
        raise RuntimeError(_P_RANGE)
    if given.digits == 53:
        hits = engine.unit64(p_array.size).reshape(p_array.shape) < p_array
    else:
        narrow = p_array.astype(np.float32, copy=False)
        hits = engine.unit32(p_array.size).reshape(p_array.shape) < narrow
    return np.asarray(hits.astype(kind.store, copy=False), order="C")


def _search(cumulative: Array, draws: NDArray[np.float64]) -> NDArray[np.int64]:
    """Row by row, the first position whose cumulative value reaches each draw."""
    if cumulative.shape[0] == 1:
        positions = np.searchsorted(cumulative[0].astype(np.float64), draws[0])
        found: NDArray[np.int64] = positions.astype(np.int64)
        return found.reshape(1, -1)
    low = np.zeros(draws.shape, dtype=np.int64)
    high = np.full(draws.shape, cumulative.shape[1], dtype=np.int64)
    for _ in range(int(cumulative.shape[1]).bit_length()):
        middle = np.minimum((low + high) >> 1, cumulative.shape[1] - 1)
        below = np.take_along_axis(cumulative, middle, axis=1) < draws
        active = low < high
        low = np.where(active & below, middle + 1, low)
        high = np.where(active & ~below, middle, high)
    return low


def _with_replacement(engine: GeneratorEngine, weights: Array, n: int) -> NDArray[np.int64]:
    if bool((weights < 0).any()):
        raise RuntimeError("invalid multinomial distribution (encountering probability entry < 0)")
    if not bool(np.isfinite(weights).all()):
        raise RuntimeError("invalid multinomial distribution (encountering probability entry = infinity or NaN)")
    wide = np.float64 if weights.dtype == np.float64 else np.float32
    cumulative: Array = np.cumsum(weights, axis=1, dtype=wide)
    if not bool((cumulative[:, -1] > 0).all()):
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
    cumulative /= cumulative[:, -1:].copy()
    cumulative[:, -1] = 1
    draws = engine.unit64(weights.shape[0] * n).reshape(-1, n)
    return _search(cumulative, draws)


def _race(engine: GeneratorEngine, weights: Array, n: int, dtype: Any) -> NDArray[np.int64]:
    """The n first arrivals when category i arrives at rate ``weights[i]``."""
    if not bool((np.isfinite(weights) & (weights >= 0)).all()):
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    if not bool((weights.astype(np.float64).sum(axis=1) > 0).all()):
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
    times = exponential(engine, weights.shape, dtype)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        scores = cast(weights / times, kind_of(dtype))
    if n == 1:
        best: NDArray[np.int64] = scores.argmax(axis=1).astype(np.int64)
        return best.reshape(-1, 1)
    order = np.argsort(-scores, axis=1, kind="stable")
    return np.array(order[:, :n], np.int64, order="C")  # not a view, which would keep an index for each category


def multinomial(
    engine: GeneratorEngine, weights2d: Array, n: int, replacement: bool = False, dtype: Any = None
) -> NDArray[np.int64]:
    """``multinomial``: int64 indices of shape (rows, n) for 2-D weights.

    ``dtype`` is the element type of the weights where it is not that of the
    array (``"bfloat16"`` held in float32).
    """
    kind = kind_of(weights2d.dtype if dtype is None else dtype)
    if not is_floating(kind):
        raise RuntimeError(f"multinomial only supports floating-point dtypes for input, got: {kind.label}")
    if n <= 0:
        raise RuntimeError("cannot sample n_sample <= 0 samples")
    if not replacement and n > weights2d.shape[1]:
        raise RuntimeError("cannot sample n_sample > prob_dist.size(-1) samples without replacement")
    if weights2d.size == 0:
        return np.empty((weights2d.shape[0], n), dtype=np.int64)
    if replacement and n > 1:
        return _with_replacement(engine, weights2d, n)
    return _race(engine, weights2d, n, "bfloat16" if kind.digits == 8 else kind.store)

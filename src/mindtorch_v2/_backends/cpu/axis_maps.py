"""Linear maps along one dimension of an array: each output element is a weighted sum of a few input elements.

Padding by reflection or replication has one tap of weight 1, nearest-neighbour resizing too; linear interpolation
has two, cubic four. A map of an image is one map per dimension, and its transpose is the map's transpose per
dimension.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from .pool_arrays import along

_CUBIC = -0.75  # the free coefficient of the convolution kernel
_FEW = 5  # slices that are copied faster than as many elements are gathered


class Tap(NamedTuple):
    """For every output position the input position it reads, and with which weight (None: 1)."""

    positions: np.ndarray
    weights: np.ndarray | None
    # the map as a few slices (output, input, step), if that is possible
    segments: list[tuple[slice, slice, int]] | None
    # (input positions, outputs that read them): no position twice in a round
    rounds: list[tuple[Any, Any]]


def make_tap(positions: np.ndarray, weights: np.ndarray | None = None) -> Tap:
    return Tap(positions, weights, _segments(positions), _rounds(positions))


def _segments(positions: np.ndarray) -> list[tuple[slice, slice, int]] | None:
    """Runs of positions that go up, down or stay; None if there are many."""
    found: list[tuple[slice, slice, int]] = []
    i, n = 0, len(positions)
    while i < n:
        if len(found) == _FEW:
            return None
        step = int(positions[i + 1] - positions[i]) if i + 1 < n else 1
        if abs(step) > 1:
            return None
        j = i + 1
        while j < n and positions[j] - positions[j - 1] == step:
            j += 1
        first, last = int(positions[i]), int(positions[j - 1])
        source = slice(first, last - 1 if last else None, -1) if step < 0 else slice(first, last + 1)
        found.append((slice(i, j), source, step))
        i = j
    return found


def _rounds(positions: np.ndarray) -> list[tuple[Any, Any]]:
    """Outputs grouped so that each round reads every position at most once; positions and outputs are slices where they
    can be.
    """
    order = np.argsort(positions, kind="stable")
    ranked = positions[order]
    starts = np.flatnonzero(np.concatenate(([True], ranked[1:] != ranked[:-1]))) if ranked.size else order
    counts = np.diff(starts, append=ranked.size)
    rounds = []
    for r in range(int(counts.max(initial=0))):
        chosen = starts[counts > r]
        rounds.append((_as_slice(ranked[chosen]), _as_slice(order[chosen + r])))
    return rounds


def _as_slice(index: np.ndarray) -> Any:
    """An arithmetic progression as a slice, any other index as it is."""
    if len(index) == 1:
        return slice(int(index[0]), int(index[0]) + 1)
    step = int(index[1] - index[0])
    if step > 0 and (np.diff(index) == step).all():
        return slice(int(index[0]), int(index[-1]) + 1, step)
    return index


def _column(weights: np.ndarray, axis: int, dtype: Any) -> np.ndarray:
    return weights.astype(dtype, copy=False).reshape(-1, *(1,) * (-axis - 1))


def _shape_with(a: np.ndarray, axis: int, size: int) -> tuple[int, ...]:
    return (*a.shape[:axis], size, *a.shape[a.ndim + axis + 1 :])


def apply_map(x: np.ndarray, axis: int, taps: Sequence[Tap]) -> np.ndarray:
    """The map along a dimension counted from the end."""
    total: Any = None
    for tap in taps:
        if tap.segments is None:
            part = x.take(tap.positions, axis=axis)
        else:
            part = np.empty(_shape_with(x, axis, len(tap.positions)), x.dtype)
            for target, source, _ in tap.segments:
                part[along(axis, target)] = x[along(axis, source)]
        if tap.weights is not None:
            part *= _column(tap.weights, axis, x.dtype)
        if total is None:
            total = part
        else:
            total += part
    return total


def _merge_taps(taps: Sequence[Tap]) -> list[tuple[np.ndarray, np.ndarray]]:
    """Positions and weights of the taps, those of one position added up (at the edges); empty where all weights are
    1.
    """
    found = [(tap.positions, tap.weights.astype(np.float64)) for tap in taps if tap.weights is not None]
    for i, (positions, weights) in enumerate(found):
        for later, others in found[i + 1 :]:
            same = later == positions
            weights[same] += others[same]
            others[same] = 0.0
    return found


def _map_bytes(x: np.ndarray, axis: int, taps: Sequence[Tap]) -> np.ndarray:
    """The map of bytes with weights that are whole numbers of at most 15 bits, rounded to bytes."""
    weighted = _merge_taps(taps)
    if not weighted:
        return x
    largest = max(float(np.max(weights, initial=0.0)) for _, weights in weighted)
    bits = 0
    while bits < 22 and int(0.5 + largest * (1 << (bits + 1))) < 1 << 15:
        bits += 1
    total = np.full(_shape_with(x, axis, len(taps[0].positions)), 1 << (bits - 1), np.int64)
    for positions, weights in weighted:
        whole = np.trunc(weights * (1 << bits) + np.copysign(0.5, weights))
        total += x.take(positions, axis=axis) * _column(whole, axis, np.int64)
    return np.clip(total >> bits, 0, 255).astype(np.uint8)


def resize_bytes(x: np.ndarray, vertical: Sequence[Tap], horizontal: Sequence[Tap]) -> np.ndarray:
    """Resizes images of bytes as PyTorch does: along rows, then along columns, with bytes in between."""
    out = _map_bytes(_map_bytes(x, -1, horizontal), -2, vertical)
    return out.copy() if out is x else out


def apply_transpose(g: np.ndarray, axis: int, taps: Sequence[Tap], size: int) -> np.ndarray:
    """The transposed map: every input position collects from the outputs that read it."""
    out = np.zeros(_shape_with(g, axis, size), g.dtype)
    for tap in taps:
        part = g if tap.weights is None else g * _column(tap.weights, axis, g.dtype)
        if tap.segments is None:
            for positions, readers in tap.rounds:
                out[along(axis, positions)] += part[along(axis, readers)]
            continue
        for target, source, step in tap.segments:
            piece = part[along(axis, target)]
            out[along(axis, source)] += piece if step else piece.sum(axis=axis, keepdims=True)
    return out


# --- padding
@lru_cache(maxsize=256)
def padding_taps(kind: str, size: int, before: int, after: int) -> tuple[Tap, ...]:
    """Reads outside the image come from its mirror image ("reflection_pad") or from its edge ("replication_pad")."""
    positions = np.arange(-before, size + after)
    if kind == "reflection_pad":
        positions = np.abs(positions)
        positions = np.where(positions >= size, 2 * (size - 1) - positions, positions)
    return (make_tap(np.clip(positions, 0, size - 1)),)


# --- resizing
def _step(size: int, out: int, scale: float | None, real: Any) -> Any:
    """Input positions per output position."""
    return real(1.0 / scale) if scale is not None and scale > 0 else real(size) / real(out)


def _nearest(size: int, out: int, scale: float | None, offset: float) -> tuple[Tap, ...]:
    real = np.float32  # PyTorch computes positions in single precision, whatever the image's type
    positions = np.floor((np.arange(out, dtype=real) + real(offset)) * _step(size, out, scale, real))
    return (make_tap(np.minimum(positions.astype(np.int64), size - 1)),)


def _positions(size: int, out: int, corners: bool, scale: float | None, real: Any, clip: bool) -> np.ndarray:
    """Where in the input each output lies."""
    numbers = np.arange(out, dtype=real)
    if corners:
        return numbers * (real(size - 1) / real(out - 1) if out > 1 else real(0))
    positions = (numbers + real(0.5)) * _step(size, out, scale, real) - real(0.5)
    return np.maximum(positions, 0) if clip else positions


def _linear(size: int, out: int, corners: bool, scale: float | None, real: Any) -> tuple[Tap, ...]:
    if size == out:
        return (make_tap(np.arange(out)),)
    positions = _positions(size, out, corners, scale, real, clip=True)
    low = np.minimum(positions.astype(np.int64), size - 1)
    weight = np.clip(positions - low, 0, 1)
    return make_tap(low, 1 - weight), make_tap(np.minimum(low + 1, size - 1), weight)


def _near_cubic(t: np.ndarray) -> np.ndarray:
    return ((_CUBIC + 2) * t - (_CUBIC + 3)) * t * t + 1


def _far_cubic(t: np.ndarray) -> np.ndarray:
    return ((_CUBIC * t - 5 * _CUBIC) * t + 8 * _CUBIC) * t - 4 * _CUBIC


def _cubic(size: int, out: int, corners: bool, scale: float | None, real: Any) -> tuple[Tap, ...]:
    if size == out:
        return (make_tap(np.arange(out)),)
    positions = _positions(size, out, corners, scale, real, clip=False)
    base = np.floor(positions)
    t = np.clip(positions - base, 0, 1).astype(real)
    weights = _far_cubic(t + 1), _near_cubic(t), _near_cubic(1 - t), _far_cubic(2 - t)
    return tuple(
        make_tap(np.clip(base.astype(np.int64) + shift, 0, size - 1), w) for shift, w in zip((-1, 0, 1, 2), weights)
    )


# --- resizing with a filter as wide as the input is dense, so that nothing of it is passed over
def _triangle(x: np.ndarray) -> np.ndarray:
    return np.maximum(1 - np.abs(x), 0)


def _cubic_filter(x: np.ndarray) -> np.ndarray:
    x, a = np.abs(x), -0.5
    near, far = ((a + 2) * x - (a + 3)) * x * x + 1, ((x - 5) * x + 8) * x * a - 4 * a
    return np.where(x < 1, near, np.where(x < 2, far, 0))


def _lanczos_filter(x: np.ndarray) -> np.ndarray:
    return np.where(np.abs(x) < 3, np.sinc(x) * np.sinc(x / 3), 0)


_FILTERS: dict[str, tuple[Callable[[np.ndarray], np.ndarray], int]] = {  # and how many elements they reach over
    "linear_aa": (_triangle, 2),
    "cubic_aa": (_cubic_filter, 4),
    "lanczos_aa": (_lanczos_filter, 6),
}


def _filter_taps(method: str, size: int, out: int, corners: bool, scale: float | None, real: Any) -> tuple[Tap, ...]:
    function, reach = _FILTERS[method]
    if corners:
        step = real(size - 1) / real(out - 1) if out > 1 else real(0)
    else:
        step = _step(size, out, scale, real)
    support = real(reach / 2) * max(step, real(1))
    centers = step * (np.arange(out, dtype=real) + real(0.5))
    first = np.maximum((centers - support + real(0.5)).astype(np.int64), 0)
    counts = np.minimum((centers + support + real(0.5)).astype(np.int64), size) - first
    taps = np.arange(max(int(counts.max(initial=1)), 1))
    narrowing = real(1) / step if step >= 1 else real(1)
    weights = function((taps[:, None] + first - centers + real(0.5)) * narrowing) * (taps[:, None] < counts)
    total = weights.sum(axis=0)
    weights = np.divide(weights, total, out=weights, where=total != 0).astype(real)
    return tuple(make_tap(np.clip(first + k, 0, size - 1), weights[k]) for k in taps)


_METHODS: dict[str, Callable[..., tuple[Tap, ...]]] = {"linear": _linear, "cubic": _cubic}


@lru_cache(maxsize=256)
def resizing_taps(
    method: str, size: int, out: int, corners: bool, scale: float | None, double: bool
) -> tuple[Tap, ...]:
    """The map of one dimension: method "nearest", "exact", "linear" or "cubic", or with a filter "linear_aa",
    "cubic_aa", "lanczos_aa".
    """
    if method in _FILTERS:
        return _filter_taps(method, size, out, corners, scale, np.float64 if double else np.float32)
    if method in ("nearest", "exact"):
        return _nearest(size, out, scale, 0.5 if method == "exact" else 0.0)
    return _METHODS[method](size, out, corners, scale, np.float64 if double else np.float32)

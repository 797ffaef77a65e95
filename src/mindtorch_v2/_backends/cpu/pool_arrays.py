"""Pooling on arrays (..., *space): maximum with positions, mean, and their transposes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from ..._native import accelerated
from ..._ops.pooling_shapes import Windows, adaptive_bounds
from .conv_arrays import inside, tap_slices

Ints = Sequence[int]


def along(axis: int, part: Any) -> tuple[Any, ...]:
    """An index that takes `part` of a dimension counted from the end."""
    return (..., part, *(slice(None),) * (-axis - 1))


@lru_cache(maxsize=256)
def _reach(space: tuple[int, ...], windows: Windows) -> tuple[int, ...] | None:
    """The spatial sizes that hold all windows, or None if the image does."""
    whole = tuple(max(n + p, (o - 1) * s + d * (k - 1) + 1) for n, (k, s, p, d, o) in zip(space, zip(*windows)))
    return None if whole == space else whole


def _pad(x: np.ndarray, windows: Windows, value: Any) -> np.ndarray:
    """The input with `value` around it, as far as the windows reach."""
    rank = len(windows.out)
    space = x.shape[-rank:]
    whole = _reach(space, windows)
    if whole is None:
        return x
    out = np.full((*x.shape[:-rank], *whole), value, x.dtype)
    out[inside(slice(p, p + n) for p, n in zip(windows.padding, space))] = x
    return out


@lru_cache(maxsize=256)
def _tap_indices(windows: Windows) -> list[tuple[Any, ...]]:
    """For every element of a window, the index of what it reads for all outputs."""
    return [inside(window) for _, window in tap_slices(windows.kernel, windows.out, windows.stride, windows.dilation)]


# --- maximum
@lru_cache(maxsize=64)
def _positions(space: tuple[int, ...], windows: Windows) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Flat positions in the image: of each window's start, of each tap relative to it, of each window's first
    element that lies in the image.
    """
    steps = [prod(space[i + 1 :]) for i in range(len(space))]
    start, first = np.zeros((1,) * len(space), np.int64), np.zeros((1,) * len(space), np.int64)
    for i, (step, s, p, d, o) in enumerate(zip(steps, windows.stride, windows.padding, windows.dilation, windows.out)):
        shape = [-1 if j == i else 1 for j in range(len(space))]
        begins = np.arange(o) * s - p
        start = start + (begins * step).reshape(shape)
        valid = np.where(begins < 0, begins + -(begins // d) * d, begins)
        first = first + (valid * step).reshape(shape)
    taps = np.array(
        [sum(t * d * step for t, d, step in zip(tap, windows.dilation, steps)) for tap in np.ndindex(*windows.kernel)],
        np.int64,
    )
    return start, taps, first


def lowest(dtype: np.dtype[Any]) -> Any:
    """A value that no element is below."""
    return -np.inf if dtype.kind == "f" else np.iinfo(dtype).min


@accelerated("max_pool")
def max_pool(x: np.ndarray, windows: Windows) -> tuple[np.ndarray, np.ndarray]:
    """The maximum of every window and its flat position in the image; the first one counts, and NaN is above all."""
    rank = len(windows.out)
    start, taps, first = _positions(x.shape[-rank:], windows)
    padded = _pad(x, windows, lowest(x.dtype))
    parts = [padded[index] for index in _tap_indices(windows)]
    if len(parts) == 4 and padded is x:
        best, code = _best_of_four(*parts)
    else:
        best, code = _best_of(parts, whole=padded is x)
    if x.dtype.kind == "f" and best.size and np.isnan(np.maximum.reduce(best, axis=None)):
        for i, part in enumerate(parts):
            np.putmask(code, np.isnan(part), i)
    if padded is x:
        positions = taps.take(code)
        positions += start
        return best, positions
    found = np.append(taps, 0).take(code) + start
    return best, np.where(code == len(parts), first, found)


def _best_of_four(a: np.ndarray, b: np.ndarray, c: np.ndarray, d: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    upper, lower = np.maximum(a, b), np.maximum(c, d)
    code = np.where(lower > upper, (d > c) + np.uint8(2), b > a)
    return np.maximum(upper, lower, out=upper), code


def _best_of(parts: list[np.ndarray], whole: bool) -> tuple[np.ndarray, np.ndarray]:
    """The elementwise maximum and the count of the part it comes from. Unless the parts are `whole`, the windows
    reach into padding, and those in which nothing exceeds it get the number after the last.
    """
    number = np.min_scalar_type(len(parts))
    if whole:
        best, code = parts[0].copy(), np.zeros(parts[0].shape, number)
    else:
        best, code = (
            np.full(parts[0].shape, lowest(parts[0].dtype), parts[0].dtype),
            np.full(parts[0].shape, len(parts), number),
        )
    for i, part in enumerate(parts):
        if whole and i == 0:
            continue
        np.putmask(code, part > best, i)
        np.maximum(best, part, out=best)
    return best, code


@accelerated("scatter_positions")
def scatter_positions(grad: np.ndarray, positions: np.ndarray, shape: Ints, rank: int, overlapping: bool) -> np.ndarray:
    """Puts every element at its flat position in its plane; where windows overlap, they add up."""
    plane = prod(shape[-rank:])
    planes = prod(shape[:-rank])
    flat = (positions.reshape(planes, prod(positions.shape[-rank:])) + np.arange(planes)[:, None] * plane).ravel()
    if overlapping:
        return np.bincount(flat, grad.ravel(), planes * plane).astype(grad.dtype).reshape(shape)
    out = np.zeros(planes * plane, grad.dtype)
    out[flat] = grad.ravel()
    return out.reshape(shape)


# --- mean
@lru_cache(maxsize=64)
def _divisors(space: tuple[int, ...], windows: Windows, include_pad: bool) -> Any:
    """How many elements each window averages: one number where all have the same, else an array."""
    counts: Any = np.ones((1,) * len(space), np.int64)
    for i, (n, k, s, p, o) in enumerate(zip(space, windows.kernel, windows.stride, windows.padding, windows.out)):
        begin = np.arange(o) * s - p
        end = np.minimum(begin + k, n + p)
        if not include_pad:
            begin, end = np.maximum(begin, 0), np.minimum(end, n)
        counts = counts * (end - begin).reshape([-1 if j == i else 1 for j in range(len(space))])
    return int(counts.flat[0]) if counts.size and (counts == counts.flat[0]).all() else counts


def _divide_in_place(total: np.ndarray, divisor: Any) -> np.ndarray:
    """`total` divided in place; integers are cut towards zero."""
    if total.dtype.kind == "f":
        total /= divisor if isinstance(divisor, int) else divisor.astype(total.dtype)
        return total
    return (np.sign(total) * np.sign(divisor) * (np.abs(total) // np.abs(divisor))).astype(total.dtype)


def avg_pool(x: np.ndarray, windows: Windows, include_pad: bool, divisor: int | None) -> np.ndarray:
    """The mean of every window."""
    rank = len(windows.out)
    total = _pad(x, windows, 0)
    for axis in range(-rank, 0):
        k, s, o = windows.kernel[axis], windows.stride[axis], windows.out[axis]
        parts = [total[along(axis, slice(t, t + (o - 1) * s + 1, s))] for t in range(k)]
        total = parts[0].copy() if k == 1 else np.add(parts[0], parts[1])
        for part in parts[2:]:
            total += part
    return _divide_in_place(total, divisor or _divisors(x.shape[-rank:], windows, include_pad))


def avg_pool_backward(
    grad: np.ndarray, space: Ints, windows: Windows, include_pad: bool, divisor: int | None
) -> np.ndarray:
    """The transpose of `avg_pool`: every input receives its share from the windows it lies in."""
    rank = len(windows.out)
    share = _divide_in_place(np.array(grad), divisor or _divisors(tuple(space), windows, include_pad))
    for axis in range(-rank, 0):
        k, s, o, p = windows.kernel[axis], windows.stride[axis], windows.out[axis], windows.padding[axis]
        whole = max((o - 1) * s + k, space[axis] + p)
        lead = share.shape[:axis]
        spread = np.zeros((*lead, whole, *share.shape[share.ndim + axis + 1 :]), grad.dtype)
        for t in range(k):
            target = spread[along(axis, slice(t, t + (o - 1) * s + 1, s))]
            if s >= k:
                target[...] = share
            else:
                target += share
        share = spread[along(axis, slice(p, p + space[axis]))]
    return np.ascontiguousarray(share)


# --- adapted windows
@lru_cache(maxsize=64)
def _adapted_rounds(size: int, out: int) -> tuple[np.ndarray, list[tuple[np.ndarray, np.ndarray]]]:
    """The lengths of the windows; and for each r the windows with more than r elements and the position of the r-th."""
    bounds = np.array(adaptive_bounds(size, out), np.int64).reshape(out, 2)
    lengths = bounds[:, 1] - bounds[:, 0]
    rounds = []
    for r in range(int(lengths.max(initial=0))):
        longer = np.flatnonzero(lengths > r)
        rounds.append((longer, bounds[longer, 0] + r))
    return lengths, rounds


def _lengths(lengths: np.ndarray, axis: int, dtype: Any) -> np.ndarray:
    return lengths.astype(dtype).reshape(-1, *(1,) * (-axis - 1))


def adaptive_avg_pool(x: np.ndarray, output_size: Ints) -> np.ndarray:
    """The mean of windows that cover the image in `output_size` pieces, one dimension after the other."""
    for axis, out in zip(range(-len(output_size), 0), output_size):
        lengths, rounds = _adapted_rounds(x.shape[axis], out)
        total = np.zeros((*x.shape[:axis], out, *x.shape[x.ndim + axis + 1 :]), x.dtype)
        for windows, elements in rounds:
            if len(windows) == out:
                total += x.take(elements, axis=axis)
            else:
                total[along(axis, windows)] += x.take(elements, axis=axis)
        total /= _lengths(lengths, axis, x.dtype)
        x = total
    return x


def adaptive_avg_pool_backward(grad: np.ndarray, space: Ints) -> np.ndarray:
    """The transpose of `adaptive_avg_pool`."""
    for axis, size in zip(range(-len(space), 0), space):
        lengths, rounds = _adapted_rounds(size, grad.shape[axis])
        share = grad / _lengths(lengths, axis, grad.dtype)
        made = np.zeros((*grad.shape[:axis], size, *grad.shape[grad.ndim + axis + 1 :]), grad.dtype)
        for windows, elements in rounds:
            if grad.shape[axis] <= size:  # windows start at different elements
                made[along(axis, elements)] += share[along(axis, windows)]
            else:
                for window, element in zip(windows, elements):
                    made[along(axis, element)] += share[along(axis, window)]
        grad = made
    return grad


def adaptive_max_pool(x: np.ndarray, output_size: Ints) -> tuple[np.ndarray, np.ndarray]:
    """The maximum of adapted windows, and its flat position in the image."""
    rank = len(output_size)
    lead, space = x.shape[:-rank], x.shape[-rank:]
    values = np.empty((*lead, *output_size), x.dtype)
    positions = np.empty(values.shape, np.int64)
    bounds = [adaptive_bounds(n, o) for n, o in zip(space, output_size)]
    flat_index = np.arange(prod(space)).reshape(space)
    for output in np.ndindex(*output_size):
        window = tuple(slice(*b[i]) for b, i in zip(bounds, output))
        block = x[inside(window)].reshape(*lead, flat_index[window].size)
        best = block.argmax(-1)
        values[inside(output)] = np.take_along_axis(block, best[..., None], -1)[..., 0]
        positions[inside(output)] = flat_index[window].ravel()[best]
    return values, positions

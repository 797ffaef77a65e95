"""Convolution on arrays: the forward map, and its transposes with respect to input and weight, in any count of
dimensions.

An image is unrolled into columns, one row per (channel, kernel position), so that the sum over both becomes one matrix
product. Arrays are (batch, channels, *space); weights are (out, in / groups, *kernel).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from math import prod
from types import FunctionType
from typing import Any

import numpy as np

from ..._native import accelerated, load_blas

load_blas()

Ints = Sequence[int]
COLUMN_BYTES = 1 << 25  # columns are made for as many images at a time as fit into this
SHORT_ROW = 64  # output positions per image below which one product for the whole batch beats one per image


def inside(parts: Iterable[Any]) -> tuple[Any, ...]:
    """An index of the last dimensions, one part for each."""
    return (..., *parts)


def pad_space(x: np.ndarray, padding: Ints) -> np.ndarray:
    """A contiguous array with zeros around every image; negative padding cuts."""
    if not any(padding):
        return np.ascontiguousarray(x)
    if min(padding) < 0:
        x = x[inside(slice(-p, n + p) if p < 0 else slice(None) for p, n in zip(padding, x.shape[2:]))]
        padding = [max(p, 0) for p in padding]
    space = x.shape[2:]
    out = np.zeros((*x.shape[:2], *(n + 2 * p for n, p in zip(space, padding))), x.dtype)
    out[inside(slice(p, p + n) for p, n in zip(padding, space))] = x
    return out


def crop_space(x: np.ndarray, padding: Ints) -> np.ndarray:
    """What `pad_space` put zeros around, as a contiguous array."""
    if not any(padding):
        return x
    return np.ascontiguousarray(x[inside(slice(p, n - p) for p, n in zip(padding, x.shape[2:]))])


def window_view(
    padded: np.ndarray, kernel: Ints, out: Ints, stride: Ints, dilation: Ints, batch_inside: bool
) -> np.ndarray:
    """A view (N, C, *kernel, *out) of a contiguous array; with `batch_inside` it is (C, *kernel, N, *out)."""
    batch, channel, *steps = padded.strides
    taps = [s * d for s, d in zip(steps, dilation)]
    moves = [s * t for s, t in zip(steps, stride)]
    n, c = padded.shape[:2]
    if batch_inside:
        return np.ndarray((c, *kernel, n, *out), padded.dtype, padded, 0, (channel, *taps, batch, *moves))
    return np.ndarray((n, c, *kernel, *out), padded.dtype, padded, 0, (batch, channel, *taps, *moves))


@accelerated("unroll")
def unroll(
    x: np.ndarray, kernel: Ints, out: Ints, stride: Ints, padding: Ints, dilation: Ints, batch_inside: bool
) -> np.ndarray:
    """The columns (N, C, *kernel, *out) of images, or (C, *kernel, N, *out) with `batch_inside`."""
    return window_view(pad_space(x, padding), kernel, out, stride, dilation, batch_inside).copy()


def tap_slices(
    kernel: Ints, out: Ints, stride: Ints, dilation: Ints
) -> Iterator[tuple[tuple[int, ...], tuple[slice, ...]]]:
    """For every kernel position, the slices of a padded array that it reads for all outputs."""
    for tap in product(*map(range, kernel)):
        yield tap, tuple(slice(t * d, t * d + (n - 1) * s + 1, s) for t, d, n, s in zip(tap, dilation, out, stride))


def batch_chunks(batch: int, column_elements: int, itemsize: int) -> Iterator[slice]:
    """Slices of the batch whose columns stay below COLUMN_BYTES."""
    step = max(1, COLUMN_BYTES // max(1, column_elements * itemsize))
    return (slice(i, min(i + step, batch)) for i in range(0, batch, step))


# --- forward
def correlate(
    x: np.ndarray,
    weight: np.ndarray,
    out: Ints,
    stride: Ints,
    padding: Ints,
    dilation: Ints,
    groups: int,
    bias: np.ndarray | None = None,
) -> np.ndarray:
    """The convolution itself, plus the bias; `out` are the spatial sizes of the result."""
    result = np.empty((x.shape[0], weight.shape[0], *out), x.dtype)
    kernel = weight.shape[2:]
    image, weights, target = _as_images(x, weight, result)
    sizes: list[Any] = [*_as_pairs(kernel, out, stride, padding, dilation), groups]
    _correlate(image, weights, bias, target, *sizes)
    return result


@accelerated("conv_forward")
def _correlate(
    x: np.ndarray,
    weight: np.ndarray,
    bias: np.ndarray | None,
    result: np.ndarray,
    kernel: Ints,
    out: Ints,
    stride: Ints,
    padding: Ints,
    dilation: Ints,
    groups: int,
) -> None:
    """Fills `result`."""
    batch, length = x.shape[0], prod(out)
    flat = result.reshape(batch, weight.shape[0], length)
    if prod(kernel) == 1 and max(stride) == 1:
        _multiply(weight, pad_space(x, padding), groups, flat)
    else:
        together = length < SHORT_ROW and batch > 1
        for part in batch_chunks(batch, x.shape[1] * prod(kernel) * length, x.itemsize):
            columns = unroll(x[part], kernel, out, stride, padding, dilation, together)
            if together:
                _multiply_together(weight, columns, groups, flat[part])
            else:
                _multiply(weight, columns, groups, flat[part])
    if bias is not None:
        flat += bias.reshape(-1, 1)


def _as_images(*arrays: np.ndarray) -> tuple[np.ndarray, ...]:
    """Lines (N, C, L) as images of one row, which the native kernels take; others as they are."""
    return tuple(a.reshape(*a.shape[:2], 1, a.shape[2]) if a.ndim == 3 else a for a in arrays)


def _as_pairs(kernel: Ints, out: Ints, stride: Ints, padding: Ints, dilation: Ints) -> tuple[Ints, ...]:
    """The sizes of a convolution of lines as those of images of one row."""
    if len(kernel) > 1:
        return tuple(map(tuple, (kernel, out, stride, padding, dilation)))
    return (1, *kernel), (1, *out), (1, *stride), (0, *padding), (1, *dilation)


def _multiply(weight: np.ndarray, columns: np.ndarray, groups: int, into: np.ndarray | None = None) -> np.ndarray:
    """weight (O, I, *K) times columns (N, groups * I * K, L), per group: (N, O, L)."""
    o, n = weight.shape[0], columns.shape[0]
    depth = prod(weight.shape[1:])
    if groups == 1:
        return np.matmul(weight.reshape(o, depth), columns.reshape(n, depth, -1 if columns.size else 0), out=into)
    length = columns.size // max(1, n * groups * depth)
    by_group = weight.reshape(groups, o // groups, depth)
    target = None if into is None else into.reshape(n, groups, o // groups, length)
    return np.matmul(by_group, columns.reshape(n, groups, depth, length), out=target).reshape(n, o, length)


def _multiply_together(weight: np.ndarray, columns: np.ndarray, groups: int, into: np.ndarray) -> None:
    """One product for all images, whose positions form one row: weight (O, I, *K) times columns (groups * I * K, N,
    L).
    """
    n, o, length = into.shape
    depth = prod(weight.shape[1:])
    rows = np.matmul(weight.reshape(groups, o // groups, depth), columns.reshape(groups, depth, n * length))
    into[...] = rows.reshape(o, n, length).swapaxes(0, 1)


# --- transpose with respect to the input
def input_gradient(
    grad: np.ndarray, weight: np.ndarray, size: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int
) -> np.ndarray:
    """The gradient of `correlate` with respect to its input, whose spatial sizes are `size`."""
    kernel = weight.shape[2:]
    reach = [d * (k - 1) for d, k in zip(dilation, kernel)]
    if weight.shape[:2] == (groups, 1) and max(stride) == 1 and all(r >= p for r, p in zip(reach, padding)):
        mirrored = np.ascontiguousarray(weight[inside((slice(None, None, -1),) * len(kernel))])
        return correlate(grad, mirrored, size, stride, [r - p for r, p in zip(reach, padding)], dilation, groups)
    total = np.zeros((grad.shape[0], weight.shape[1] * groups, *size), grad.dtype)
    together = _together(grad, groups)
    image, weights, gradient = _as_images(total, weight, grad.swapaxes(0, 1).copy() if together else grad)
    sizes: list[Any] = [*_as_pairs(kernel, grad.shape[2:], stride, padding, dilation), groups]
    _add_input_gradient(image, weights, gradient, together, *sizes)
    return total


def _together(grad: np.ndarray, groups: int) -> bool:
    """Whether products are made for the whole batch: images have few positions. The gradient then is (O, N, *out)."""
    return groups == 1 and grad.shape[0] > 1 and prod(grad.shape[2:]) < SHORT_ROW


@accelerated("conv_input_gradient")
def _add_input_gradient(
    total: np.ndarray,
    weight: np.ndarray,
    grad: np.ndarray,
    together: bool,
    kernel: Ints,
    out: Ints,
    stride: Ints,
    padding: Ints,
    dilation: Ints,
    groups: int,
) -> None:
    """Adds to `total`, which holds zeros."""
    grad = grad.swapaxes(0, 1) if together else grad
    total[...] = _input_gradient(np.ascontiguousarray(grad), weight, total.shape[2:], stride, padding, dilation, groups)


def _input_gradient(
    grad: np.ndarray, weight: np.ndarray, size: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int
) -> np.ndarray:
    channels = weight.shape[1] * groups
    kernel, out = weight.shape[2:], grad.shape[2:]
    reach = [d * (k - 1) for d, k in zip(dilation, kernel)]
    if max(stride) > 1 or any(n + 2 * p - r != o for n, p, r, o in zip(size, padding, reach, out)):
        return _add_up(grad, weight, size, stride, padding, dilation, groups)
    if prod(kernel) == 1 and not any(padding):
        flat = _multiply(_swap_channels(weight, groups), np.ascontiguousarray(grad), groups)
        return flat.reshape(grad.shape[0], channels, *size)
    if grad.shape[1] <= channels:  # fewer columns to make from the gradient than to add up from the product
        mirrored = np.ascontiguousarray(_swap_channels(weight, groups)[inside((slice(None, None, -1),) * len(kernel))])
        return correlate(grad, mirrored, size, stride, [r - p for r, p in zip(reach, padding)], dilation, groups)
    if isinstance(fold, FunctionType):
        return _add_up_flat(grad, weight, size, padding, dilation, groups)
    return _add_up(grad, weight, size, stride, padding, dilation, groups)


def _swap_channels(weight: np.ndarray, groups: int) -> np.ndarray:
    """(groups * O, I, *K) -> (groups * I, O, *K)."""
    o, i = weight.shape[0] // groups, weight.shape[1]
    kernel = weight.shape[2:]
    return weight.reshape(groups, o, i, *kernel).swapaxes(1, 2).reshape(groups * i, o, *kernel)


def _column_gradient(grad: np.ndarray, weight: np.ndarray, groups: int) -> np.ndarray:
    """grad (N, O, L) -> (N, C, K, L): what every column element receives."""
    n, o = grad.shape[:2]
    depth = prod(weight.shape[1:])
    length = prod(grad.shape[2:])
    by_group = weight.reshape(groups, o // groups, depth).swapaxes(1, 2)
    if groups == 1:
        made = np.matmul(by_group[0], grad.reshape(n, o, length))
    else:
        made = np.matmul(by_group, grad.reshape(n, groups, o // groups, length))
    return made.reshape(n, groups * weight.shape[1], prod(weight.shape[2:]), length)


def _add_up_flat(
    grad: np.ndarray, weight: np.ndarray, size: Ints, padding: Ints, dilation: Ints, groups: int
) -> np.ndarray:
    """For stride 1. A shift of a padded image is a shift of its flat memory, so whole images are added in one run each;
    the gradient is widened to the padded row length with zeros, which is what the run reads between its rows."""
    n, out, kernel = grad.shape[0], grad.shape[2:], weight.shape[2:]
    whole = [s + 2 * p for s, p in zip(size, padding)]
    steps = [prod(whole[i + 1 :]) for i in range(len(whole))]
    length = out[0] * steps[0]
    reach = sum(d * (k - 1) * s for d, k, s in zip(dilation, kernel, steps))
    channels = weight.shape[1] * groups
    middle = inside(slice(p, p + m) for p, m in zip(padding, size))
    total = np.empty((n, channels, *size), grad.dtype)
    for part in batch_chunks(n, channels * prod(kernel) * length, grad.itemsize):
        count = part.stop - part.start
        wide = np.zeros((count, grad.shape[1], out[0], *whole[1:]), grad.dtype)
        wide[inside(slice(0, o) for o in out)] = grad[part]
        columns = _column_gradient(wide.reshape(count, grad.shape[1], length), weight, groups)
        flat = np.zeros((count, channels, length + reach), grad.dtype)
        for i, tap in enumerate(product(*map(range, kernel))):
            offset = sum(t * d * s for t, d, s in zip(tap, dilation, steps))
            flat[:, :, offset : offset + length] += columns[:, :, i]
        total[part] = flat[:, :, : prod(whole)].reshape(count, channels, *whole)[middle]
    return total


@accelerated("fold")
def fold(
    columns: np.ndarray, size: Ints, kernel: Ints, out: Ints, stride: Ints, padding: Ints, dilation: Ints
) -> np.ndarray:
    """The transpose of `unroll`: columns (N, C, kernel positions, output positions) added up to images of this size."""
    n, channels = columns.shape[:2]
    total = np.zeros((n, channels, *(s + 2 * p for s, p in zip(size, padding))), columns.dtype)
    columns = columns.reshape(n, channels, prod(kernel), *out)
    for i, (_, window) in enumerate(tap_slices(kernel, out, stride, dilation)):
        total[inside(window)] += columns[:, :, i]
    return crop_space(total, padding)


def _add_up(
    grad: np.ndarray, weight: np.ndarray, size: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int
) -> np.ndarray:
    """For any stride: every kernel position adds its share to the inputs it read."""
    n, out, kernel = grad.shape[0], grad.shape[2:], weight.shape[2:]
    channels = weight.shape[1] * groups
    total = np.empty((n, channels, *size), grad.dtype)
    for part in batch_chunks(n, channels * prod(kernel) * prod(out), grad.itemsize):
        total[part] = fold(_column_gradient(grad[part], weight, groups), size, kernel, out, stride, padding, dilation)
    return total


# --- transpose with respect to the weight
def weight_gradient(
    grad: np.ndarray, x: np.ndarray, shape: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int
) -> np.ndarray:
    """The gradient of `correlate` with respect to a weight of this shape."""
    total = np.empty(shape, grad.dtype)
    together = _together(grad, groups)
    image, weights, gradient = _as_images(x, total, grad.swapaxes(0, 1).copy() if together else grad)
    sizes: list[Any] = [*_as_pairs(shape[2:], grad.shape[2:], stride, padding, dilation), groups]
    _fill_weight_gradient(image, weights, gradient, together, *sizes)
    return total


@accelerated("conv_weight_gradient")
def _fill_weight_gradient(
    x: np.ndarray,
    weight: np.ndarray,
    grad: np.ndarray,
    together: bool,
    kernel: Ints,
    out: Ints,
    stride: Ints,
    padding: Ints,
    dilation: Ints,
    groups: int,
) -> None:
    """Fills `weight` with its gradient."""
    grad = grad.swapaxes(0, 1) if together else grad
    n, o = grad.shape[:2]
    depth = prod(weight.shape[1:])
    total = np.zeros((groups, depth, o // groups), grad.dtype)
    for part in batch_chunks(n, x.shape[1] * prod(kernel) * prod(out), x.itemsize):
        columns = unroll(x[part], kernel, out, stride, padding, dilation, True)
        rows = (part.stop - part.start) * prod(out)
        gradient = grad[part].swapaxes(0, 1).reshape(groups, o // groups, rows)
        total += np.matmul(columns.reshape(groups, depth, rows), gradient.swapaxes(1, 2))
    weight[...] = total.swapaxes(1, 2).reshape(weight.shape)

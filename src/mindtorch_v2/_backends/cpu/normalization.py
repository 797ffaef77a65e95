"""Kernels of the normalizations. Sums are matrix products, temporaries are reused, and large inputs are taken in
blocks of rows that stay in the cache between passes.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from ..._dispatch.registry import kernel
from ..._ops.normalization import check_channels, check_normalized_shape
from .memory_format import laid_out_like
from .sums import sum_over
from .unsupported import not_implemented, type_word

Ints = Sequence[int]
Mask = Sequence[bool]
_BLOCK = 1 << 17  # elements
_ROW = 1024  # longer rows are summed in pieces
_ONES: dict[np.dtype[Any], np.ndarray] = {np.dtype(t): np.ones(_ROW, t) for t in (np.float32, np.float64)}


def _wide(a: np.ndarray | None, dtype: np.dtype[Any]) -> Any:
    """A contiguous array of the type that is computed in."""
    return None if a is None else np.ascontiguousarray(a, dtype)


def _computing_type(name: str, x: np.ndarray, *parameters: np.ndarray | None) -> np.dtype[Any]:
    """float32 for float16, else the input's; errors for types PyTorch refuses."""
    dtype = x.dtype
    if dtype.kind != "f":
        raise not_implemented(name, x)
    for p in parameters:
        if p is not None and p.dtype != dtype and not (dtype == np.float16 and p.dtype == np.float32):
            but = f" or {type_word(x)}, but got {type_word(p)}" if dtype == np.float16 else ""
            raise RuntimeError(f"mixed dtype (CPU): expect parameter to have scalar type of Float{but}")
    return dtype if dtype.char != "e" else np.dtype(np.float32)


def _statistics_dtype(x: np.ndarray, *parameters: np.ndarray | None) -> np.dtype[Any]:
    """The type of statistics and of parameters' gradients: the parameters'."""
    for p in parameters:
        if p is not None:
            return p.dtype
    return x.dtype


def _as(a: np.ndarray, dtype: np.dtype[Any]) -> np.ndarray:
    return a if a.dtype is dtype else a.astype(dtype)


def _row_sums(rows: np.ndarray) -> np.ndarray:
    """(m, n) -> (m,): a matrix product where that is exact enough."""
    n = rows.shape[1]
    return rows @ _ONES[rows.dtype][:n] if n <= _ROW else sum_over(rows, 1)


# --- rows: each is normalized on its own
def _center(rows: np.ndarray, into: np.ndarray, eps: float) -> tuple[np.ndarray, np.ndarray]:
    """Writes rows minus their means; returns the means and the reciprocals of the standard deviations, as columns."""
    m, n = rows.shape
    mean = _row_sums(rows).reshape(m, 1)
    if n:  # the mean of nothing stays 0
        mean /= n
    np.subtract(rows, mean, out=into)
    rstd = np.vecdot(into, into).reshape(m, 1)
    rstd /= n
    rstd += eps
    np.sqrt(rstd, out=rstd)
    return mean, np.reciprocal(rstd, out=rstd)


def _normalize_rows(rows: np.ndarray, w: np.ndarray | None, b: np.ndarray | None, eps: float, out: np.ndarray) -> Any:
    """Writes the normalized rows; returns means and reciprocal deviations."""
    mean, rstd = _center(rows, out, eps)
    out *= rstd
    if w is not None:
        out *= w
    if b is not None:
        out += b
    return mean, rstd


@kernel("native_layer_norm")
def native_layer_norm(
    input: np.ndarray, normalized_shape: Ints, weight: np.ndarray | None, bias: np.ndarray | None, eps: float
) -> tuple[np.ndarray, ...]:
    axis = check_normalized_shape(input.shape, normalized_shape, weight=weight, bias=bias)
    dtype = _computing_type("LayerNormKernelImpl", input, weight, bias)
    length = prod(normalized_shape)
    count = prod(input.shape[:axis])
    rows = _wide(input, dtype).reshape(count, length)
    w = None if weight is None else _wide(weight, dtype).reshape(length)
    b = None if bias is None else _wide(bias, dtype).reshape(length)
    out = np.empty(rows.shape, dtype)
    if rows.size <= _BLOCK:
        mean, rstd = _normalize_rows(rows, w, b, eps, out)
    else:
        step = max(1, _BLOCK // length)
        pairs = [_normalize_rows(rows[i : i + step], w, b, eps, out[i : i + step]) for i in range(0, count, step)]
        mean, rstd = (np.concatenate(parts) for parts in zip(*pairs))
    kept = _statistics_dtype(input, weight, bias)
    shape = (*input.shape[:axis], *(1,) * len(normalized_shape))
    return _as(out, input.dtype).reshape(input.shape), _as(mean, kept).reshape(shape), _as(rstd, kept).reshape(shape)


@kernel("native_layer_norm_backward")
def native_layer_norm_backward(
    grad_out: np.ndarray,
    input: np.ndarray,
    normalized_shape: Ints,
    mean: np.ndarray,
    rstd: np.ndarray,
    weight: np.ndarray | None,
    bias: np.ndarray | None,
    output_mask: Mask,
) -> tuple[Any, ...]:
    dtype = _computing_type("LayerNormBackwardKernelImpl", input)
    length = prod(normalized_shape)
    count = prod(input.shape[: input.ndim - len(normalized_shape)])
    g, x = _wide(grad_out, dtype).reshape(count, length), _wide(input, dtype).reshape(count, length)
    mean, rstd = _wide(mean, dtype).reshape(count), _wide(rstd, dtype).reshape(count)
    w = None if weight is None else _wide(weight, dtype).reshape(length)
    to_input, to_weight, to_bias = output_mask
    gx = np.empty(x.shape, dtype) if to_input else None
    gw = np.zeros(length, dtype) if to_weight else None
    if to_input or to_weight:
        step = max(1, _BLOCK // max(length, 1))
        for i in range(0, count, step):
            part = slice(i, i + step)
            _layer_norm_block(g[part], x[part], mean[part], rstd[part], w, None if gx is None else gx[part], gw)
    gb = sum_over(g, 0) if to_bias else None
    kept = _statistics_dtype(input, weight, bias)
    shape = tuple(normalized_shape)
    return (
        None if gx is None else _as(gx, input.dtype).reshape(input.shape),
        None if gw is None else _as(gw, kept).reshape(shape),
        None if gb is None else _as(gb, kept).reshape(shape),
    )


def _layer_norm_block(
    g: np.ndarray,
    x: np.ndarray,
    mean: np.ndarray,
    rstd: np.ndarray,
    w: np.ndarray | None,
    gx: np.ndarray | None,
    gw: np.ndarray | None,
) -> None:
    """Writes the input's gradient of some rows into `gx` and adds to the weight's in `gw`."""
    n = x.shape[1]
    centred = x - mean[:, None]
    products = g * centred
    if gw is not None:
        gw += rstd @ products
    if gx is None:
        return
    along = _row_sums(products) if w is None else products @ w
    along *= rstd
    along *= rstd
    along /= n
    shift = _row_sums(g) if w is None else g @ w
    shift /= n
    weighted = g if w is None else np.multiply(g, w, out=products)
    np.subtract(weighted, shift[:, None], out=gx)
    centred *= along[:, None]
    gx -= centred
    gx *= rstd[:, None]


# --- channels: each is normalized over batch and space
def _channels_apart(x: np.ndarray, dtype: np.dtype[Any]) -> np.ndarray:
    """(N, C, L) with L = 1 for inputs without space."""
    space = prod(x.shape[2:])
    return _wide(x, dtype).reshape(x.shape[0], x.shape[1], space)


def _channel_sums(x: np.ndarray) -> np.ndarray:
    """(N, C, L) -> (C,)"""
    return sum_over(x if x.shape[2] == 1 else sum_over(x, 2)[:, :, None], 0)[:, 0]


def _channel_products(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The sums over batch and space of a * b."""
    return _channel_sums((a * b) if a.shape[2] == 1 else np.vecdot(a, b)[:, :, None])


def _update(running: np.ndarray | None, value: np.ndarray, momentum: float) -> None:
    """Moves a running statistic towards the batch's, in place."""
    if running is not None:
        running[...] = (1 - momentum) * running + momentum * value


@kernel("native_batch_norm")
def native_batch_norm(
    input: np.ndarray,
    weight: np.ndarray | None,
    bias: np.ndarray | None,
    running_mean: np.ndarray | None,
    running_var: np.ndarray | None,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[np.ndarray, ...]:
    channels = input.shape[1] if input.ndim > 1 else 0
    check_channels(channels, training, running_mean=running_mean, running_var=running_var, weight=weight, bias=bias)
    dtype = _computing_type("batch_norm", input, weight, bias, running_mean, running_var)
    kept = _statistics_dtype(input, weight, bias, running_mean)
    if training and not input.size:
        raise RuntimeError(f"input tensor must have at least one element, but got input_sizes = {list(input.shape)}")
    x = _channels_apart(input, dtype)
    count = x.shape[0] * x.shape[2]
    if training:
        mean = _channel_sums(x) / dtype.type(count)
        out = x - mean[:, None]
        squares = _channel_products(out, out)
        rstd = 1 / np.sqrt(squares / dtype.type(count) + dtype.type(eps))
        _update(running_mean, mean, momentum)
        _update(running_var, squares / dtype.type(count - 1), momentum)
        saved = _as(mean, kept), _as(rstd, kept)
    else:
        assert running_mean is not None and running_var is not None
        mean = _wide(running_mean, dtype)
        rstd = 1 / np.sqrt(_wide(running_var, dtype) + dtype.type(eps))
        saved = np.empty(0, kept), np.empty(0, kept)
    scale = rstd if weight is None else rstd * weight
    if training:
        out *= scale[:, None]
        shift = bias
    else:
        out = x * scale[:, None]
        shift = -mean * scale if bias is None else bias - mean * scale
    if shift is not None:
        out += shift[:, None]
    return laid_out_like(_as(out, input.dtype).reshape(input.shape), input), *saved


@kernel("native_batch_norm_backward")
def native_batch_norm_backward(
    grad_out: np.ndarray,
    input: np.ndarray,
    weight: np.ndarray | None,
    running_mean: np.ndarray | None,
    running_var: np.ndarray | None,
    save_mean: np.ndarray | None,
    save_invstd: np.ndarray | None,
    train: bool,
    eps: float,
    output_mask: Mask,
) -> tuple[Any, ...]:
    dtype = _computing_type("batch_norm_backward", input)
    g, x = _channels_apart(grad_out, dtype), _channels_apart(input, dtype)
    if train:
        mean, rstd = _wide(save_mean, dtype), _wide(save_invstd, dtype)
    else:
        mean, rstd = _wide(running_mean, dtype), 1 / np.sqrt(_wide(running_var, dtype) + dtype.type(eps))
    to_input, to_weight, to_bias = output_mask
    scale = rstd if weight is None else rstd * _wide(weight, dtype)
    total = _channel_sums(g) if to_bias or (train and to_input) else None
    centred = x - mean[:, None] if to_weight or (train and to_input) else None
    products = None if centred is None else _channel_products(g, centred)
    gx = None
    if to_input and train:
        count = dtype.type(x.shape[0] * x.shape[2])
        assert centred is not None and products is not None and total is not None
        centred *= (products * rstd * rstd / count)[:, None]
        centred += (total / count)[:, None]
        gx = np.subtract(g, centred, out=centred)
        gx *= scale[:, None]
    elif to_input:
        gx = g * scale[:, None]
    kept = _statistics_dtype(input, weight)
    return (
        None if gx is None else laid_out_like(_as(gx, input.dtype).reshape(input.shape), input),
        _as(products * rstd, kept) if to_weight and products is not None else None,
        _as(total, kept) if to_bias and total is not None else None,
    )


# --- groups: each is normalized on its own, parameters belong to channels
@kernel("native_group_norm")
def native_group_norm(
    input: np.ndarray,
    weight: np.ndarray | None,
    bias: np.ndarray | None,
    N: int,
    C: int,
    HxW: int,
    group: int,
    eps: float,
) -> tuple[np.ndarray, ...]:
    dtype = _computing_type("GroupNormKernelImpl", input, weight, bias)
    rows = _wide(input, dtype).reshape(N * group, C // group * HxW)
    out = np.empty(rows.shape, dtype)
    mean, rstd = _center(rows, out, eps)
    if weight is None and bias is None:
        out *= rstd
    else:
        scale = np.repeat(rstd.reshape(N, group), C // group, axis=1)
        by_channel = out.reshape(N, C, HxW)
        by_channel *= (scale if weight is None else scale * weight)[:, :, None]
        if bias is not None:
            by_channel += bias[:, None]
    kept = _statistics_dtype(input, weight, bias)
    shaped = laid_out_like(_as(out, input.dtype).reshape(input.shape), input)
    return shaped, _as(mean, kept).reshape(N, group), _as(rstd, kept).reshape(N, group)


@kernel("native_group_norm_backward")
def native_group_norm_backward(
    grad_out: np.ndarray,
    input: np.ndarray,
    mean: np.ndarray,
    rstd: np.ndarray,
    weight: np.ndarray | None,
    N: int,
    C: int,
    HxW: int,
    group: int,
    output_mask: Mask,
) -> tuple[Any, ...]:
    dtype = _computing_type("GroupNormBackwardKernelImpl", input)
    each = C // group
    g = _wide(grad_out, dtype).reshape(N, C, HxW)
    mean, rstd = (_wide(a, dtype).reshape(N, group) for a in (mean, rstd))
    w = None if weight is None else _wide(weight, dtype)
    centred = _wide(input, dtype).reshape(N, group, each * HxW) - mean[:, :, None]
    by_channel = centred.reshape(N, C, HxW)
    products = np.vecdot(g, by_channel)
    totals = sum_over(g, 2)
    scale = np.repeat(rstd, each, axis=1)
    kept = _statistics_dtype(input, weight)
    to_input, to_weight, to_bias = output_mask
    gx = None
    if to_input:
        count = dtype.type(each * HxW)
        along, shift = ((t if w is None else t * w).reshape(N, group, each).sum(2) / count for t in (products, totals))
        centred *= (along * rstd * rstd * rstd)[:, :, None]
        centred += (shift * rstd)[:, :, None]
        np.subtract(g * (scale if w is None else scale * w)[:, :, None], by_channel, out=by_channel)
        gx = _as(centred, input.dtype).reshape(input.shape)
    return (
        gx,
        _as((products * scale).sum(0), kept) if to_weight else None,
        _as(totals.sum(0), kept) if to_bias else None,
    )

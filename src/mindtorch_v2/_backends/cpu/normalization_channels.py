"""Kernels of batch and group normalization, which scale and shift channels. The loops over an array (batch, channels,
length) have a native form.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ..._dispatch.registry import kernel
from ..._native import accelerated
from ..._ops.normalization import check_channels
from .memory_format import laid_out_like
from .normalization import Mask, as_type, center, computing_type, statistics_dtype, wide
from .sums import SMALL, add_reduce, sum_over


# --- channels: each is normalized over batch and space
def _channels_apart(x: np.ndarray, dtype: np.dtype[Any]) -> np.ndarray:
    """(N, C, L) with L = 1 for inputs without space."""
    space = prod(x.shape[2:])
    return wide(x, dtype).reshape(x.shape[0], x.shape[1], space)


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


@accelerated("normalize_channels")
def _normalize_channels(
    x: np.ndarray,
    weight: np.ndarray | None,
    bias: np.ndarray | None,
    eps: float,
    out: np.ndarray,
    mean: np.ndarray,
    rstd: np.ndarray,
    squares: np.ndarray,
) -> None:
    """Fills `out` and, for each channel, the mean, the reciprocal deviation and the sum of squared differences."""
    count = x.dtype.type(x.shape[0] * x.shape[2])
    if x.shape[2] == 1 and x.size < SMALL:  # one dimension less: the same sums, and fewer views
        x, out = x[:, :, 0], out[:, :, 0]
        np.divide(add_reduce(x, 0), count, out=mean)
        np.subtract(x, mean, out=out)
        add_reduce(out * out, 0, None, squares)
        np.divide(1, np.sqrt(squares / count + x.dtype.type(eps)), out=rstd)
        out *= rstd if weight is None else rstd * weight
        if bias is not None:
            out += bias
        return
    np.divide(_channel_sums(x), count, out=mean)
    np.subtract(x, mean[:, None], out=out)
    squares[...] = _channel_products(out, out)
    rstd[...] = 1 / np.sqrt(squares / count + x.dtype.type(eps))
    out *= (rstd if weight is None else rstd * weight)[:, None]
    if bias is not None:
        out += bias[:, None]


@accelerated("scale_channels")
def _scale_channels(x: np.ndarray, scale: np.ndarray, shift: np.ndarray, out: np.ndarray) -> None:
    np.multiply(x, scale[:, None], out=out)
    out += shift[:, None]


@kernel("native_batch_norm", written=(3, 4))  # the running statistics
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
    dtype = computing_type("batch_norm", input, weight, bias, running_mean, running_var)
    kept = statistics_dtype(input, weight, bias, running_mean)
    if training and not input.size:
        raise RuntimeError(f"input tensor must have at least one element, but got input_sizes = {list(input.shape)}")
    x = _channels_apart(input, dtype)
    count = x.shape[0] * x.shape[2]
    out = np.empty(x.shape, dtype)
    if training:
        mean, rstd, squares = (np.empty(channels, dtype) for _ in range(3))  # apart, as parts are kept
        _normalize_channels(x, weight, bias, eps, out, mean, rstd, squares)
        _update(running_mean, mean, momentum)
        _update(running_var, squares / dtype.type(count - 1), momentum)
        saved = as_type(mean, kept), as_type(rstd, kept)
    else:
        assert running_mean is not None and running_var is not None
        mean = wide(running_mean, dtype)
        rstd = 1 / np.sqrt(wide(running_var, dtype) + dtype.type(eps))
        saved = np.empty(0, kept), np.empty(0, kept)
        scale = rstd if weight is None else rstd * weight
        _scale_channels(x, scale, -mean * scale if bias is None else bias - mean * scale, out)
    return laid_out_like(as_type(out, input.dtype).reshape(input.shape), input), *saved


@accelerated("channel_gradients")
def _channel_gradients(
    g: np.ndarray,
    x: np.ndarray,
    weight: np.ndarray | None,
    mean: np.ndarray,
    rstd: np.ndarray,
    gx: np.ndarray | None,
    sums: np.ndarray,
    products: np.ndarray,
) -> None:
    """Fills, for each channel, the sums of g and of g times what x differs from the mean; and the gradient of x."""
    sums[...] = _channel_sums(g)
    centred = x - mean[:, None]
    products[...] = _channel_products(g, centred)
    if gx is not None:
        count = x.dtype.type(x.shape[0] * x.shape[2])
        centred *= (products * rstd * rstd / count)[:, None]
        centred += (sums / count)[:, None]
        np.subtract(g, centred, out=gx)
        gx *= (rstd if weight is None else rstd * weight)[:, None]


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
    dtype = computing_type("batch_norm_backward", input)
    g, x = _channels_apart(grad_out, dtype), _channels_apart(input, dtype)
    if train:
        mean, rstd = wide(save_mean, dtype), wide(save_invstd, dtype)
    else:
        mean, rstd = wide(running_mean, dtype), 1 / np.sqrt(wide(running_var, dtype) + dtype.type(eps))
    to_input, to_weight, to_bias = output_mask
    w = None if weight is None else wide(weight, dtype)
    gx = np.empty(x.shape, dtype) if to_input else None
    total, products = np.empty(x.shape[1], dtype), np.empty(x.shape[1], dtype)
    if to_weight or to_bias or train:
        _channel_gradients(g, x, w, mean, rstd, gx if train else None, total, products)
    if to_input and not train:
        gx = g * (rstd if w is None else rstd * w)[:, None]
    kept = statistics_dtype(input, weight)
    return (
        None if gx is None else laid_out_like(as_type(gx, input.dtype).reshape(input.shape), input),
        as_type(products * rstd, kept) if to_weight else None,
        as_type(total, kept) if to_bias else None,
    )


# --- groups: each is normalized on its own, parameters belong to channels
@accelerated("normalize_groups")
def _normalize_groups(
    x: np.ndarray,
    weight: np.ndarray | None,
    bias: np.ndarray | None,
    groups: int,
    eps: float,
    out: np.ndarray,
    mean: np.ndarray,
    rstd: np.ndarray,
) -> None:
    """Fills `out` and, for each group of each sample, the mean and the reciprocal deviation; x is (N, C, L)."""
    batch, channels, length = x.shape
    rows = (batch * groups, channels // groups * length)
    mean[...], rstd[...] = (a.reshape(batch, groups) for a in center(x.reshape(rows), out.reshape(rows), eps))
    scale = np.repeat(rstd, channels // groups, axis=1)
    out *= (scale if weight is None else scale * weight)[:, :, None]
    if bias is not None:
        out += bias[:, None]


@accelerated("group_gradients")
def _group_gradients(
    g: np.ndarray,
    x: np.ndarray,
    weight: np.ndarray | None,
    groups: int,
    mean: np.ndarray,
    rstd: np.ndarray,
    gx: np.ndarray | None,
    sums: np.ndarray,
    products: np.ndarray,
) -> None:
    """Fills, for each channel of each sample, the sums of g and of g times what x differs from its group's mean; and
    the gradient of x. All but the statistics are (N, C, L) or (N, C).
    """
    batch, channels, length = x.shape
    each = channels // groups
    centred = x.reshape(batch, groups, each * length) - mean[:, :, None]
    by_channel = centred.reshape(x.shape)
    products[...] = np.vecdot(g, by_channel)
    sums[...] = sum_over(g, 2)
    if gx is not None:
        count = x.dtype.type(each * length)
        along, shift = (
            (t if weight is None else t * weight).reshape(batch, groups, each).sum(2) / count for t in (products, sums)
        )
        centred *= (along * rstd * rstd * rstd)[:, :, None]
        centred += (shift * rstd)[:, :, None]
        scale = np.repeat(rstd, each, axis=1)
        np.subtract(g * (scale if weight is None else scale * weight)[:, :, None], by_channel, out=gx)


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
    dtype = computing_type("GroupNormKernelImpl", input, weight, bias)
    x = wide(input, dtype).reshape(N, C, HxW)
    out, mean, rstd = np.empty(x.shape, dtype), np.empty((N, group), dtype), np.empty((N, group), dtype)
    w, b = (None if p is None else wide(p, dtype) for p in (weight, bias))
    _normalize_groups(x, w, b, group, eps, out, mean, rstd)
    kept = statistics_dtype(input, weight, bias)
    shaped = laid_out_like(as_type(out, input.dtype).reshape(input.shape), input)
    return shaped, as_type(mean, kept), as_type(rstd, kept)


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
    dtype = computing_type("GroupNormBackwardKernelImpl", input)
    g, x = (wide(a, dtype).reshape(N, C, HxW) for a in (grad_out, input))
    mean, rstd = (wide(a, dtype).reshape(N, group) for a in (mean, rstd))
    to_input, to_weight, to_bias = output_mask
    gx, (totals, products) = np.empty(x.shape, dtype) if to_input else None, np.empty((2, N, C), dtype)
    _group_gradients(g, x, None if weight is None else wide(weight, dtype), group, mean, rstd, gx, totals, products)
    kept = statistics_dtype(input, weight)
    return (
        None if gx is None else as_type(gx, input.dtype).reshape(input.shape),
        as_type((products * np.repeat(rstd, C // group, axis=1)).sum(0), kept) if to_weight else None,
        as_type(totals.sum(0), kept) if to_bias else None,
    )

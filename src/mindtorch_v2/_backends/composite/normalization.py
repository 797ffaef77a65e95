"""Normalizations in terms of others."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from ... import _dtype as dt
from ... import _observer
from ..._dispatch import aten
from ..._dispatch.checks import type_word
from ..._dispatch.registry import composite
from ..._keys import CPU, DEVICES
from ..._ops.movement_shapes import is_channels_last
from ..._ops.normalization import check_channels, check_groups, check_normalized_shape
from ..._tensor import wrap

Ints = Sequence[int]


@composite("layer_norm")
def layer_norm(input: Any, normalized_shape: Ints, weight: Any, bias: Any, eps: float, cudnn_enable: bool) -> Any:
    return aten.native_layer_norm(input, normalized_shape, weight, bias, eps)[0]


@composite("batch_norm")
def batch_norm(
    input: Any,
    weight: Any,
    bias: Any,
    running_mean: Any,
    running_var: Any,
    training: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> Any:
    return aten._batch_norm_impl_index(
        input, weight, bias, running_mean, running_var, training, momentum, eps, cudnn_enabled
    )[0]


@composite("_batch_norm_impl_index")
def _batch_norm_impl_index(
    input: Any,
    weight: Any,
    bias: Any,
    running_mean: Any,
    running_var: Any,
    training: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> tuple[Any, ...]:
    """The last two results are workspace and the count of the implementation: there is one."""
    channels = input.shape[1] if input.dim() > 1 else 0
    check_channels(channels, training, running_mean=running_mean, running_var=running_var, weight=weight, bias=bias)
    if _observer.active is None and input._keys & DEVICES == CPU:
        reserve = wrap(np.empty(0, np.uint8), dt.uint8)
    else:
        reserve = aten.empty((0,), dtype=dt.uint8, device=input.device)
    if not input.numel():  # nothing to count: the running statistics stay, the parameters' gradients are zero
        return _copy_of_empty(input, weight, bias), aten.empty_like(input), aten.empty_like(input), reserve, 0
    out, mean, invstd = aten.native_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps)
    return out, mean, invstd, reserve, 0


@composite("_native_batch_norm_legit")
def _native_batch_norm_legit(
    input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, training: bool, momentum: float, eps: float
) -> tuple[Any, ...]:
    return aten.native_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps)


@composite("_native_batch_norm_legit.no_stats")
def _native_batch_norm_without(
    input: Any, weight: Any, bias: Any, training: bool, momentum: float, eps: float
) -> tuple[Any, ...]:
    return aten.native_batch_norm(input, weight, bias, None, None, training, momentum, eps)


@composite("_batch_norm_with_update")
def _batch_norm_with_update(
    input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, momentum: float, eps: float
) -> tuple[Any, ...]:
    """The last result is workspace, of which nothing is needed."""
    made = aten.native_batch_norm(input, weight, bias, running_mean, running_var, True, momentum, eps)
    return (*made, aten.empty((0,), dtype=dt.uint8, device=input.device))


def _copy_of_empty(input: Any, weight: Any, bias: Any) -> Any:
    """A copy of an input without elements, which the parameters take part in."""
    out = aten.clone(input)
    if weight is not None:
        out = aten.mul(out, aten.select(weight, 0, 0))
    if bias is not None:
        out = aten.add(out, aten.select(bias, 0, 0))
    return out


@composite("group_norm")
def group_norm(input: Any, num_groups: int, weight: Any, bias: Any, eps: float, cudnn_enabled: bool) -> Any:
    shape = tuple(input.shape)
    check_groups(shape, num_groups, weight, bias)
    plain = (
        input
        if input.is_contiguous() or is_channels_last(input._array.shape, input._array.strides)
        else aten.contiguous(input)
    )
    return aten.native_group_norm(plain, weight, bias, shape[0], shape[1], prod(shape[2:]), num_groups, eps)[0]


@composite("instance_norm")
def instance_norm(
    input: Any,
    weight: Any,
    bias: Any,
    running_mean: Any,
    running_var: Any,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> Any:
    """A batch norm of a single image that has the channels of all."""
    if not use_input_stats and (running_mean is None or running_var is None):
        raise RuntimeError("Expected running_mean and running_var to be defined when use_input_stats is false")
    shape = tuple(input.shape)
    n, c = shape[:2]
    weight, bias, mean, var = (
        None if t is None else aten.repeat(t, (n,)) for t in (weight, bias, running_mean, running_var)
    )
    plain = input if input.is_contiguous() else aten.contiguous(input)
    out = aten.batch_norm(
        aten.view(plain, (1, n * c, *shape[2:])), weight, bias, mean, var, use_input_stats, momentum, eps, cudnn_enabled
    )
    for statistic, repeated in ((running_mean, mean), (running_var, var)):
        if statistic is not None:
            aten.copy_(aten.alias(statistic), aten.mean(aten.view(repeated, (n, c)), 0, keepdim=False))
    return aten.view(out, shape)


@composite("rms_norm")
def rms_norm(input: Any, normalized_shape: Ints, weight: Any, eps: float | None) -> Any:
    return aten._fused_rms_norm(input, normalized_shape, weight, eps)[0]


@composite("_fused_rms_norm")
def _fused_rms_norm(input: Any, normalized_shape: Ints, weight: Any, eps: float | None) -> tuple[Any, Any]:
    if input.dtype.category < 2:
        raise NotImplementedError(f"\"rms_norm\" not implemented for '{type_word(input.dtype)}'")
    check_normalized_shape(input.shape, normalized_shape, "*", weight=weight)
    real = input.dtype.to_real()
    wide = input.dtype.wide or input.dtype
    x = aten.to(input, wide)
    if eps is None:
        eps = dt.finfo(real.wide or real).eps
    dims = list(range(-len(normalized_shape), 0))
    rstd = aten.rsqrt(aten.add_(aten.mean(aten.pow(x, 2), dims, keepdim=True), eps))
    out = aten.mul(x, rstd)
    if weight is not None:
        out = aten.mul(out, weight)
    if not out.is_contiguous():
        out = aten.contiguous(out)
    return aten.type_as(out, input), rstd

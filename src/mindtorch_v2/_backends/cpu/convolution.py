"""Kernels of the convolutions. The arithmetic is in `conv_arrays`."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from ..._dispatch.registry import kernel
from ..._ops.convolution import conv_output_size, conv_transpose_output_size
from .conv_arrays import correlate, input_gradient, weight_gradient
from .memory_format import channels_last, in_channels_last, laid_out_like

Ints = Sequence[int]


def _widen(*arrays: np.ndarray) -> tuple[np.ndarray, ...]:
    """Contiguous arrays, float16 as float32: products are added up in single precision and matrix products need
    plain memory.
    """
    return tuple(np.ascontiguousarray(a, np.float32 if a.dtype.char == "e" else None) for a in arrays)


def _finish(result: np.ndarray, bias: np.ndarray | None, dtype: np.dtype[Any]) -> np.ndarray:
    """Adds the bias (in place: the result is fresh) and returns to the type of the input."""
    if bias is not None:
        result += bias.reshape(-1, *(1,) * (result.ndim - 2))
    return result if result.dtype == dtype else result.astype(dtype)


@kernel("mkldnn_convolution")
def mkldnn_convolution(
    self: np.ndarray,
    weight: np.ndarray,
    bias: np.ndarray | None,
    padding: Ints,
    stride: Ints,
    dilation: Ints,
    groups: int,
) -> np.ndarray:
    x, w = _widen(self, weight)
    out = conv_output_size(x.shape[2:], w.shape[2:], stride, padding, dilation)
    made = correlate(
        x, w, out, stride, padding, dilation, groups, None if bias is None else bias.astype(x.dtype, copy=False)
    )
    return laid_out_like(_finish(made, None, self.dtype), self, weight)


@kernel("slow_conv_transpose2d", "slow_conv_transpose3d")
def slow_conv_transpose(
    self: np.ndarray,
    weight: np.ndarray,
    kernel_size: Ints,
    bias: np.ndarray | None,
    stride: Ints,
    padding: Ints,
    output_padding: Ints,
    dilation: Ints,
) -> np.ndarray:
    x, w = _widen(self, weight)
    out = conv_transpose_output_size(x.shape[2:], kernel_size, stride, padding, output_padding, dilation)
    return laid_out_like(
        _finish(input_gradient(x, w, out, stride, padding, dilation, 1), bias, self.dtype), self, weight
    )


@kernel("convolution_backward")
def convolution_backward(
    grad_output: np.ndarray,
    input: np.ndarray,
    weight: np.ndarray,
    bias_sizes: Ints | None,
    stride: Ints,
    padding: Ints,
    dilation: Ints,
    transposed: bool,
    output_padding: Ints,
    groups: int,
    output_mask: Sequence[bool],
) -> tuple[np.ndarray | None, ...]:
    g, x, w = _widen(grad_output, input, weight)
    stride, padding, dilation = (tuple(v) * (w.ndim - 2) if len(v) == 1 else v for v in (stride, padding, dilation))
    to_input, to_weight, to_bias = output_mask
    made: list[np.ndarray | None] = [None, None, None]
    if to_input and transposed:
        made[0] = correlate(g, w, x.shape[2:], stride, padding, dilation, groups)
    elif to_input:
        made[0] = input_gradient(g, w, x.shape[2:], stride, padding, dilation, groups)
    if to_weight:
        image, gradient = (g, x) if transposed else (x, g)
        made[1] = weight_gradient(gradient, image, w.shape, stride, padding, dilation, groups)
    if to_bias:
        length = prod(g.shape[2:])
        made[2] = np.matmul(g.reshape(g.shape[0], g.shape[1], length), np.ones(length, g.dtype)).sum(0)
    made = [m if m is None or m.dtype == grad_output.dtype else m.astype(grad_output.dtype) for m in made]
    if channels_last(input) or channels_last(weight):
        made[:2] = [None if m is None else in_channels_last(m) for m in made[:2]]
    return tuple(made)

"""Derivatives of the convolutions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..._dispatch import aten
from ..rules import derivative

Ints = Sequence[int]


def _gradients(
    g: Any,
    needs: Sequence[bool],
    input: Any,
    weight: Any,
    stride: Ints,
    padding: Ints,
    dilation: Ints,
    transposed: bool,
    output_padding: Ints,
    groups: int,
) -> tuple[Any, ...]:
    """What input, weight and bias receive."""
    bias_sizes = (weight.shape[1] * groups if transposed else weight.shape[0],) if needs[2] else None
    return aten.convolution_backward(
        g, input, weight, bias_sizes, stride, padding, dilation, transposed, output_padding, groups, needs
    )


def _leaf_gradients(
    g: Any, needs: Sequence[bool], self: Any, weight: Any, padding: Ints, stride: Ints, dilation: Ints, groups: int
) -> tuple[Any, ...]:
    return _gradients(g, needs, self, weight, stride, padding, dilation, False, (0,) * len(stride), groups)


def _transposed_gradients(
    g: Any,
    needs: Sequence[bool],
    self: Any,
    weight: Any,
    stride: Ints,
    padding: Ints,
    output_padding: Ints,
    dilation: Ints,
) -> tuple[Any, ...]:
    return _gradients(g, needs, self, weight, stride, padding, dilation, True, output_padding, 1)


def _second_gradients(
    g: Sequence[Any],
    needs: Sequence[bool],
    grad_output: Any,
    input: Any,
    weight: Any,
    stride: Ints,
    padding: Ints,
    dilation: Ints,
    transposed: bool,
    output_padding: Ints,
    groups: int,
) -> tuple[Any, ...]:
    """What the gradient of the output, input and weight receive from the gradients of `convolution_backward`'s
    outputs.
    """
    return aten._convolution_double_backward(
        g[0],
        g[1],
        g[2],
        grad_output,
        weight,
        input,
        stride,
        padding,
        dilation,
        transposed,
        output_padding,
        groups,
        needs,
    )


derivative("convolution", inputs=("input", "weight", "bias"), joint=_gradients)
derivative("_convolution", inputs=("input", "weight", "bias"), joint=_gradients, node="ConvolutionBackward1")
derivative("mkldnn_convolution", inputs=("self", "weight", "bias"), joint=_leaf_gradients)
derivative(
    "slow_conv_transpose2d",
    inputs=("self", "weight", "bias"),
    joint=_transposed_gradients,
    node="SlowConvTranspose2DBackward0",
)
derivative(
    "slow_conv_transpose3d",
    inputs=("self", "weight", "bias"),
    joint=_transposed_gradients,
    node="SlowConvTranspose3DBackward0",
)
derivative("convolution_backward", inputs=("grad_output", "input", "weight"), joint=_second_gradients)

"""Declarations of the convolutions.

`conv2d` and its kin take the forms users write and call `convolution`, which carries the derivative; it calls
`_convolution`, which checks the arguments and picks the leaf that computes.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from .movement_shapes import format_of
from .rules import Spec
from .table import op

Ints = Sequence[int]


# --- arithmetic of sizes
def conv_output_size(
    input_size: Ints, kernel_size: Ints, stride: Ints, padding: Ints, dilation: Ints
) -> tuple[int, ...]:
    """The spatial sizes of a convolution's output."""
    return tuple(
        (n + 2 * p - d * (k - 1) - 1) // s + 1
        for n, k, s, p, d in zip(input_size, kernel_size, stride, padding, dilation)
    )


def conv_transpose_output_size(
    input_size: Ints, kernel_size: Ints, stride: Ints, padding: Ints, output_padding: Ints, dilation: Ints
) -> tuple[int, ...]:
    """The spatial sizes of a transposed convolution's output."""
    return tuple(
        (n - 1) * s - 2 * p + d * (k - 1) + o + 1
        for n, k, s, p, o, d in zip(input_size, kernel_size, stride, padding, output_padding, dilation)
    )


# --- output rules
def _convolution_spec(
    self: Any, weight: Any, bias: Any, padding: Ints, stride: Ints, dilation: Ints, groups: int
) -> Spec:
    sizes = conv_output_size(self.shape[2:], weight.shape[2:], stride, padding, dilation)
    shape = (self.shape[0], weight.shape[0], *sizes)
    return Spec(shape, self.dtype, format_of(shape, self, weight))


def _transposed_convolution_spec(
    self: Any,
    weight: Any,
    kernel_size: Ints,
    bias: Any,
    stride: Ints,
    padding: Ints,
    output_padding: Ints,
    dilation: Ints,
) -> Spec:
    sizes = conv_transpose_output_size(self.shape[2:], kernel_size, stride, padding, output_padding, dilation)
    shape = (self.shape[0], weight.shape[1], *sizes)
    return Spec(shape, self.dtype, format_of(shape, self, weight))


def _gradients(
    grad_output: Any,
    input: Any,
    weight: Any,
    bias_sizes: Ints | None,
    stride: Ints,
    padding: Ints,
    dilation: Ints,
    transposed: bool,
    output_padding: Ints,
    groups: int,
    output_mask: Sequence[bool],
) -> tuple[Any, ...]:
    bias_size = grad_output.shape[1] if len(grad_output.shape) > 1 else 0
    shapes = (tuple(input.shape), tuple(weight.shape), (bias_size,))
    return tuple(
        Spec(shape, grad_output.dtype, format_of(shape, input, weight) if len(shape) > 1 else None) if wanted else None
        for shape, wanted in zip(shapes, output_mask)
    )


# --- what users call
for _n in (1, 2, 3):
    _ones, _zeros = [1] * _n, [0] * _n
    _head = "Tensor input, Tensor weight, Tensor? bias=None"
    op(
        f"conv{_n}d({_head}, SymInt[{_n}] stride={_ones}, SymInt[{_n}] padding={_zeros}, SymInt[{_n}] "
        f"dilation={_ones}, SymInt groups=1) -> Tensor",
        method=False,
    )
    op(
        f'conv{_n}d.padding({_head}, SymInt[{_n}] stride={_ones}, str padding="valid", SymInt[{_n}] dilation={_ones}, '
        "SymInt groups=1) -> Tensor",
        method=False,
    )
    op(
        f"conv_transpose{_n}d{'.input' if _n > 1 else ''}({_head}, SymInt[{_n}] stride={_ones}, SymInt[{_n}] "
        f"padding={_zeros}, "
        f"SymInt[{_n}] output_padding={_zeros}, SymInt groups=1, SymInt[{_n}] dilation={_ones}) -> Tensor",
        method=False,
    )

# --- the steps between
_FORM = (
    "Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, SymInt[] dilation, bool transposed, "
    "SymInt[] output_padding, SymInt groups"
)
op(f"convolution({_FORM}) -> Tensor", method=False)
op(
    f"_convolution({_FORM}, bool benchmark, bool deterministic, bool cudnn_enabled, bool allow_tf32) -> Tensor",
    method=False,
)
op(
    "_convolution_mode(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, str padding, SymInt[] dilation, "
    "SymInt groups) -> Tensor",
    method=False,
)

# --- leaves
op(
    "mkldnn_convolution(Tensor self, Tensor weight, Tensor? bias, SymInt[] padding, SymInt[] stride, SymInt[] "
    "dilation, SymInt groups) -> Tensor",
    meta=_convolution_spec,
    method=False,
)
for _n in (2, 3):
    _ones, _zeros = [1] * _n, [0] * _n
    op(
        f"slow_conv_transpose{_n}d(Tensor self, Tensor weight, SymInt[{_n}] kernel_size, Tensor? bias=None, "
        f"SymInt[{_n}] stride={_ones}, SymInt[{_n}] padding={_zeros}, SymInt[{_n}] output_padding={_zeros}, "
        f"SymInt[{_n}] dilation={_ones}) -> Tensor",
        meta=_transposed_convolution_spec,
        function=False,
        method=False,
    )

_backward = partial(op, function=False, method=False)
_backward(
    "convolution_backward(Tensor grad_output, Tensor input, Tensor weight, SymInt[]? bias_sizes, SymInt[] stride, "
    "SymInt[] padding, SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups, bool[3] "
    "output_mask) -> (Tensor, Tensor, Tensor)",
    meta=_gradients,
)
_backward(
    "_convolution_double_backward(Tensor? ggI, Tensor? ggW, Tensor? ggb, Tensor gO, Tensor weight, Tensor self, "
    "SymInt[] stride, SymInt[] padding, SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups, "
    "bool[3] output_mask) -> (Tensor, Tensor, Tensor)"
)

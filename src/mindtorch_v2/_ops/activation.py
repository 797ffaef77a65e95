"""Declarations of activation functions and the gradients that PyTorch has as ops of their own."""

from __future__ import annotations

from typing import Any

from .. import _dtype as dt
from .._shape import normalize_dim
from .movement_shapes import dense_strides
from .rules import SAME, Spec
from .table import op


# --- output rules
def _softmax_like(self: Any, dim: int, half_to_float: bool) -> Spec:
    normalize_dim(dim, self.dim())
    return Spec(tuple(self.shape), dt.float32 if half_to_float else self.dtype)


def _softmax_backward_like(grad_output: Any, output: Any, dim: int, input_dtype: dt.dtype) -> Spec:
    return Spec(tuple(output.shape), input_dtype)


def glu_shape(shape: tuple[int, ...], dim: int) -> tuple[int, ...]:
    """The shape of glu's output; RuntimeError when there is nothing to halve."""
    if not shape:
        raise RuntimeError("glu does not support 0-dimensional tensors")
    dim = normalize_dim(dim, len(shape))
    if shape[dim] % 2:
        raise RuntimeError(f"Halving dimension must be even, but dimension {dim} is size {shape[dim]}")
    return (*shape[:dim], shape[dim] // 2, *shape[dim + 1 :])


def _glu_like(self: Any, dim: int) -> Spec:
    shape = glu_shape(tuple(self.shape), dim)
    return Spec(shape, self.dtype, dense_strides(shape, self.stride()))


def _like_second(grad_output: Any, self: Any, *rest: Any) -> Spec:
    return Spec(tuple(self.shape), self.dtype)


def _twice(self: Any) -> tuple[Spec, Spec]:
    return Spec(tuple(self.shape), self.dtype), Spec(tuple(self.shape), self.dtype)


def _prelu_backward_like(grad_output: Any, self: Any, weight: Any) -> tuple[Spec, Spec]:
    return _twice(self)


# --- public in torch
op("relu(Tensor self) -> Tensor", SAME, inplace=True)
op("threshold(Tensor self, Scalar threshold, Scalar value) -> Tensor", SAME, inplace=True, out=True, method=False)
op("selu(Tensor self) -> Tensor", inplace=True, method=False)
op("celu(Tensor self, Scalar alpha=1.0) -> Tensor", SAME, inplace=True, method=False)
op("prelu(Tensor self, Tensor weight) -> Tensor")
op(
    "rrelu(Tensor self, Scalar lower=0.125, Scalar upper=0.3333333333333333, bool training=False, Generator? "
    "generator=None)"
    " -> Tensor",
    inplace=True,
    method=False,
)
op("hardshrink(Tensor self, Scalar lambd=0.5) -> Tensor", SAME, out=True)
op("softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", out=True)
op("log_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", out=True)
op("special_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", method=False, namespace="special")
op("special_log_softmax(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor", method=False, namespace="special")

# --- public in torch.nn.functional
op("relu6(Tensor self) -> Tensor", inplace=True, method=False, namespace="nn")
for _text in (
    "hardtanh(Tensor self, Scalar min_val=-1, Scalar max_val=1) -> Tensor",
    "gelu(Tensor self, *, str approximate='none') -> Tensor",
    "silu(Tensor self) -> Tensor",
    "elu(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor",
    "leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor",
    "hardswish(Tensor self) -> Tensor",
    "hardsigmoid(Tensor self) -> Tensor",
    "mish(Tensor self) -> Tensor",
):
    op(_text, SAME, inplace=True, out=True, method=False, namespace="nn")
for _text in (
    "softplus(Tensor self, Scalar beta=1, Scalar threshold=20) -> Tensor",
    "softshrink(Tensor self, Scalar lambd=0.5) -> Tensor",
):
    op(_text, SAME, out=True, method=False, namespace="nn")
op("glu(Tensor self, int dim=-1) -> Tensor", meta=_glu_like, out=True, method=False, namespace="nn")
op("log_sigmoid(Tensor self) -> Tensor", function=False, method=False, out=True)  # F.logsigmoid

# --- steps of the above
op("_softmax(Tensor self, int dim, bool half_to_float) -> Tensor", meta=_softmax_like, method=False)
op("_log_softmax(Tensor self, int dim, bool half_to_float) -> Tensor", meta=_softmax_like, method=False)
op("log_sigmoid_forward(Tensor self) -> (Tensor output, Tensor buffer)", meta=_twice, function=False, method=False)
op("_prelu_kernel(Tensor self, Tensor weight) -> Tensor", SAME, function=False, method=False)
op(
    "rrelu_with_noise(Tensor self, Tensor(b!) noise, Scalar lower=0.125, Scalar upper=0.3333333333333333, bool "
    "training=False, Generator? generator=None) -> Tensor",
    SAME,
    inplace=True,
    function=False,
    method=False,
)

# --- gradients
for _text in (
    "threshold_backward(Tensor grad_output, Tensor self, Scalar threshold) -> Tensor",
    "hardtanh_backward(Tensor grad_output, Tensor self, Scalar min_val, Scalar max_val) -> Tensor",
    "gelu_backward(Tensor grad_output, Tensor self, *, str approximate='none') -> Tensor",
    "silu_backward(Tensor grad_output, Tensor self) -> Tensor",
    "elu_backward(Tensor grad_output, Scalar alpha, Scalar scale, Scalar input_scale, bool is_result, "
    "Tensor self_or_result) -> Tensor",
    "leaky_relu_backward(Tensor grad_output, Tensor self, Scalar negative_slope, bool self_is_result) -> Tensor",
    "rrelu_with_noise_backward(Tensor grad_output, Tensor self, Tensor noise, Scalar lower, Scalar upper, "
    "bool training, bool self_is_result) -> Tensor",
    "softplus_backward(Tensor grad_output, Tensor self, Scalar beta, Scalar threshold) -> Tensor",
    "softshrink_backward(Tensor grad_output, Tensor self, Scalar lambd) -> Tensor",
    "hardshrink_backward(Tensor grad_out, Tensor self, Scalar lambd) -> Tensor",
    "hardswish_backward(Tensor grad_output, Tensor self) -> Tensor",
    "hardsigmoid_backward(Tensor grad_output, Tensor self) -> Tensor",
    "mish_backward(Tensor grad_output, Tensor self) -> Tensor",
    "log_sigmoid_backward(Tensor grad_output, Tensor self, Tensor buffer) -> Tensor",
):
    op(_text, SAME, function=False, method=False)
op("glu_backward(Tensor grad_output, Tensor self, int dim) -> Tensor", meta=_like_second, function=False, method=False)
op(
    "_prelu_kernel_backward(Tensor grad_output, Tensor self, Tensor weight) -> (Tensor, Tensor)",
    meta=_prelu_backward_like,
    function=False,
    method=False,
)
for _name in ("_softmax_backward_data", "_log_softmax_backward_data"):
    op(
        f"{_name}(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> Tensor",
        meta=_softmax_backward_like,
        function=False,
        method=False,
    )

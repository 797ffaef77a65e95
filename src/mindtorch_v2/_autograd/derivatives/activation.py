"""Derivatives of activation functions, and of their gradients, so that second derivatives exist."""

from __future__ import annotations

import math
from typing import Any

from ..._dispatch import aten
from ..rules import derivative


def _zeros(g: Any) -> Any:
    return aten.zeros_like(g)


# In-place forms that PyTorch differentiates from their result have rows of their own, declared first.
# --- piecewise linear: the gradient's own derivative has no part in self
derivative("relu", self=lambda g, result: aten.threshold_backward(g, result, 0))
derivative(
    "threshold_", node="ThresholdBackward1", self=lambda g, self, threshold: aten.threshold_backward(g, self, threshold)
)
derivative("threshold", self=lambda g, self, threshold: aten.threshold_backward(g, self, threshold))
derivative(
    "threshold_backward",
    grad_output=lambda g, self, threshold: aten.threshold_backward(g, self, threshold),
    self=lambda g: _zeros(g),
)
derivative("hardtanh", self=lambda g, self, min_val, max_val: aten.hardtanh_backward(g, self, min_val, max_val))
derivative(
    "hardtanh_backward",
    grad_output=lambda g, self, min_val, max_val: aten.hardtanh_backward(g, self, min_val, max_val),
    self=lambda g: _zeros(g),
)
derivative(
    "leaky_relu_",
    node="LeakyReluBackward1",
    self=lambda g, result, negative_slope: aten.leaky_relu_backward(g, result, negative_slope, True),
)
derivative("leaky_relu", self=lambda g, self, negative_slope: aten.leaky_relu_backward(g, self, negative_slope, False))
derivative(
    "leaky_relu_backward",
    grad_output=lambda g, self, negative_slope, self_is_result: aten.leaky_relu_backward(
        g, self, negative_slope, self_is_result
    ),
    self=lambda g: _zeros(g),
)
derivative("hardshrink", self=lambda g, self, lambd: aten.hardshrink_backward(g, self, lambd))
derivative(
    "hardshrink_backward",
    grad_out=lambda g, self, lambd: aten.hardshrink_backward(g, self, lambd),
    self=lambda g: _zeros(g),
)
derivative("softshrink", self=lambda g, self, lambd: aten.softshrink_backward(g, self, lambd))
derivative(
    "softshrink_backward",
    grad_output=lambda g, self, lambd: aten.softshrink_backward(g, self, lambd),
    self=lambda g: _zeros(g),
)
derivative("hardsigmoid", self=lambda g, self: aten.hardsigmoid_backward(g, self))
derivative(
    "hardsigmoid_backward", grad_output=lambda g, self: aten.hardsigmoid_backward(g, self), self=lambda g: _zeros(g)
)
derivative("hardswish", self=lambda g, self: aten.hardswish_backward(g, self))
derivative(
    "hardswish_backward",
    grad_output=lambda g, self: aten.hardswish_backward(g, self),
    self=lambda g, grad_output, self: aten.where(aten.logical_and(self > -3, self < 3), g * grad_output / 3, 0),
)


# --- gelu
def _gelu_curvature(g: Any, grad_output: Any, self: Any, approximate: str) -> Any:
    """The second derivative of gelu times both gradients."""
    squared = self * self
    if approximate == "none":
        return g * grad_output * (2 - squared) * aten.exp(squared * -0.5) * (1 / math.sqrt(2 * math.pi))
    a = 2 * math.sqrt(2 / math.pi)
    b = a * 0.044715
    gate = aten.sigmoid(self * (squared * b + a))
    slope = squared * (3 * b) + a
    bend = self * (6 * b)
    return g * grad_output * gate * (1 - gate) * (2 * slope + self * ((1 - 2 * gate) * slope * slope + bend))


derivative("gelu", self=lambda g, self, approximate: aten.gelu_backward(g, self, approximate=approximate))
derivative(
    "gelu_backward",
    grad_output=lambda g, self, approximate: aten.gelu_backward(g, self, approximate=approximate),
    self=_gelu_curvature,
)


# --- silu, mish
def _silu_curvature(g: Any, grad_output: Any, self: Any) -> Any:
    gate = aten.sigmoid(self)
    return g * grad_output * gate * (1 - gate) * (2 + self * (1 - 2 * gate))


def _mish_curvature(g: Any, grad_output: Any, self: Any) -> Any:
    gate = aten.sigmoid(self)
    bound = aten.tanh(aten.softplus(self))
    return g * grad_output * (1 - bound * bound) * gate * (2 + self * (1 - gate - 2 * bound * gate))


derivative("silu", self=lambda g, self: aten.silu_backward(g, self))
derivative("silu_backward", grad_output=lambda g, self: aten.silu_backward(g, self), self=_silu_curvature)
derivative("mish", self=lambda g, self: aten.mish_backward(g, self))
derivative("mish_backward", grad_output=lambda g, self: aten.mish_backward(g, self), self=_mish_curvature)


# --- elu and celu
def _elu_curvature(
    g: Any, grad_output: Any, alpha: Any, scale: Any, input_scale: Any, is_result: bool, self_or_result: Any
) -> Any:
    if is_result:
        bent = g * grad_output * input_scale
    else:
        bent = g * grad_output * aten.exp(self_or_result * input_scale) * (alpha * scale * input_scale * input_scale)
    return aten.where(self_or_result < 0, bent, 0)


derivative(
    "elu_",
    node="EluBackward1",
    self=lambda g, alpha, scale, input_scale, result: aten.elu_backward(g, alpha, scale, input_scale, True, result),
)
derivative(
    "elu", self=lambda g, alpha, scale, input_scale, self: aten.elu_backward(g, alpha, scale, input_scale, False, self)
)
derivative(
    "celu_",
    node="CeluBackward1",
    self=lambda g, alpha, result: aten.elu_backward(g, alpha, 1, 1.0 / alpha, True, result),
)
derivative("celu", self=lambda g, alpha, self: aten.elu_backward(g, alpha, 1, 1.0 / alpha, False, self))
derivative(
    "elu_backward",
    grad_output=lambda g, alpha, scale, input_scale, is_result, self_or_result: aten.elu_backward(
        g, alpha, scale, input_scale, is_result, self_or_result
    ),
    self_or_result=_elu_curvature,
)


# --- softplus, log sigmoid
def _softplus_curvature(g: Any, grad_output: Any, self: Any, beta: Any, threshold: Any) -> Any:
    scaled = self * beta
    gate = aten.sigmoid(scaled)
    return aten.where(scaled > threshold, 0, g * grad_output * gate * (1 - gate) * beta)


derivative("softplus", self=lambda g, self, beta, threshold: aten.softplus_backward(g, self, beta, threshold))
derivative(
    "softplus_backward",
    grad_output=lambda g, self, beta, threshold: aten.softplus_backward(g, self, beta, threshold),
    self=_softplus_curvature,
)
derivative(
    "log_sigmoid_forward",
    node="LogSigmoidBackward0",
    self=lambda g, self, result1: aten.log_sigmoid_backward(g[0], self, result1),
)
derivative(
    "log_sigmoid_backward",
    grad_output=lambda g, self, buffer: aten.log_sigmoid_backward(g, self, buffer),
    self=lambda g, grad_output, self: (
        -g * grad_output * aten.sigmoid_backward(aten.ones_like(self), aten.sigmoid(self))
    ),
)


# --- gated linear unit
def _glu_parts(self: Any, dim: int) -> tuple[Any, Any]:
    value, gate = aten.chunk(self, 2, dim)
    return value, aten.sigmoid(gate)


def _glu_backward_grad(g: Any, self: Any, dim: int) -> Any:
    value, gate = _glu_parts(self, dim)
    to_value, to_gate = aten.chunk(g, 2, dim)
    return to_value * gate + to_gate * value * gate * (1 - gate)


def _glu_curvature(g: Any, grad_output: Any, self: Any, dim: int) -> Any:
    value, gate = _glu_parts(self, dim)
    to_value, to_gate = aten.chunk(g, 2, dim)
    slope = grad_output * gate * (1 - gate)
    return aten.cat([to_gate * slope, to_value * slope + to_gate * slope * value * (1 - 2 * gate)], dim)


derivative("glu", self=lambda g, self, dim: aten.glu_backward(g, self, dim))
derivative("glu_backward", grad_output=_glu_backward_grad, self=_glu_curvature)


# --- with weights or noise
def _prelu_second(g: Any, grad_output: Any, self: Any, weight: Any) -> tuple[Any, Any, Any]:
    to_input, to_weight = g
    positive = self > 0
    nothing = aten.zeros_like(self)
    to_input = nothing if to_input is None else to_input
    to_weight = nothing if to_weight is None else to_weight
    return (
        aten.where(positive, to_input, weight * to_input + self * to_weight),
        aten.where(positive, 0, to_weight * grad_output),
        aten.where(positive, 0, to_input * grad_output),
    )


derivative(
    "_prelu_kernel",
    inputs=("self", "weight"),
    joint=lambda g, self, weight: aten._prelu_kernel_backward(g, self, weight),
)
derivative("_prelu_kernel_backward", inputs=("grad_output", "self", "weight"), joint=_prelu_second)
derivative(
    "rrelu_with_noise_",
    node="RreluWithNoiseBackward1",
    self=lambda g, result, noise, lower, upper, training: aten.rrelu_with_noise_backward(
        g, result, noise, lower, upper, training, True
    ),
)
derivative(
    "rrelu_with_noise",
    self=lambda g, self, noise, lower, upper, training: aten.rrelu_with_noise_backward(
        g, self, noise, lower, upper, training, False
    ),
)
derivative(
    "rrelu_with_noise_backward",
    grad_output=lambda g, self, noise, lower, upper, training, self_is_result: aten.rrelu_with_noise_backward(
        g, self, noise, lower, upper, training, self_is_result
    ),
    self=lambda g: _zeros(g),
)


# --- softmax
def _softmax_curvature(g: Any, grad_output: Any, output: Any, dim: int) -> Any:
    inner = aten.sum(grad_output * output, dim, keepdim=True)
    outer = aten.sum(g * output, dim, keepdim=True)
    return g * (grad_output - inner) - grad_output * outer


def _log_softmax_backward_grad(g: Any, output: Any, dim: int) -> Any:
    return g - aten.sum(g * aten.exp(output), dim, keepdim=True)


derivative("_softmax", self=lambda g, result, dim, self_dtype: aten._softmax_backward_data(g, result, dim, self_dtype))
derivative(
    "_log_softmax", self=lambda g, result, dim, self_dtype: aten._log_softmax_backward_data(g, result, dim, self_dtype)
)
derivative(
    "_softmax_backward_data",
    grad_output=lambda g, output, dim, input_dtype: aten._softmax_backward_data(g, output, dim, input_dtype),
    output=_softmax_curvature,
)
derivative(
    "_log_softmax_backward_data",
    grad_output=_log_softmax_backward_grad,
    output=lambda g, grad_output, output, dim: -g * aten.exp(output) * aten.sum(grad_output, dim, keepdim=True),
)

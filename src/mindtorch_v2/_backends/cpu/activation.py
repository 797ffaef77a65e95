"""Kernels of activation functions and their gradients. Softmax stands in softmax.py."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._dispatch.registry import inplace_kernel, kernel
from ..._ops.activation import glu_shape
from ..generators import stream_of
from . import (
    activation_smooth,  # noqa: F401  - registers gelu, silu, mish, softplus and others with exponentials
    softmax,  # noqa: F401  - registers softmax and log_softmax
)
from .blocks import FEW, fused
from .elementwise_mixtures import clip, not_negative
from .select import keep, select
from .unsupported import not_implemented


def check_floating(name: str, array: np.ndarray) -> None:
    """NotImplementedError, with the name of PyTorch's kernel, for anything but floating types."""
    if array.dtype.kind != "f":
        raise not_implemented(name, array)


# --- limits ---------------------------------------------------------------------------------------------------------
@kernel("relu")
def relu(self: np.ndarray) -> Any:
    if self.dtype.kind in "bc":
        _check_relu(self)
    return not_negative(self)


@inplace_kernel("relu")
def relu_into(self: np.ndarray) -> None:
    _check_relu(self)
    clip(self, 0, None, self)


def _check_relu(self: np.ndarray) -> None:
    if self.dtype.kind == "b":
        raise RuntimeError("Boolean inputs not supported for relu")
    if self.dtype.kind == "c":
        raise NotImplementedError("clamp is not supported for complex types")


def _limits(self: np.ndarray, min_val: Any, max_val: Any) -> tuple[Any, Any]:
    """The limits in the type of self, which hardtanh never changes."""
    kind = self.dtype.kind
    if kind == "b":
        raise RuntimeError("Bool inputs not supported for hardtanh")
    if kind == "c":
        raise NotImplementedError("clamp is not supported for complex types")
    if kind == "f":
        return min_val, max_val
    low, high = int(min_val), int(max_val)
    if kind == "u" and (low < 0 or high < 0):
        raise RuntimeError("cannot do hardtanh on an unsigned type with negative limits")
    return low, high


@kernel("hardtanh")
def hardtanh(self: np.ndarray, min_val: Any, max_val: Any) -> Any:
    return clip(self, *_limits(self, min_val, max_val))


@inplace_kernel("hardtanh")
def hardtanh_into(self: np.ndarray, min_val: Any, max_val: Any) -> None:
    clip(self, *_limits(self, min_val, max_val), self)


@kernel("threshold")
def threshold(self: np.ndarray, threshold: Any, value: Any) -> Any:
    if self.dtype.kind in "bc":
        raise not_implemented("threshold_cpu", self)
    below = np.less_equal(self, threshold)
    return np.where(below, np.array(value).astype(self.dtype), self)


@kernel("threshold_backward")
def threshold_backward(grad_output: np.ndarray, self: np.ndarray, threshold: Any) -> np.ndarray:
    return keep(np.less_equal(self, threshold), grad_output, inverted=True)


@kernel("hardtanh_backward")
def hardtanh_backward(grad_output: np.ndarray, self: np.ndarray, min_val: Any, max_val: Any) -> np.ndarray:
    inside = np.greater(self, min_val)
    inside &= np.less(self, max_val)
    return keep(inside, grad_output)


@kernel("leaky_relu")
def leaky_relu(self: np.ndarray, negative_slope: Any) -> Any:
    check_floating("leaky_relu_cpu", self)
    # The larger (for steep slopes the smaller) of x and slope * x; much cheaper than a choice by a mask.
    return (np.maximum if negative_slope <= 1 else np.minimum)(self, self * negative_slope)


@kernel("leaky_relu_backward")
def leaky_relu_backward(grad_output: np.ndarray, self: np.ndarray, negative_slope: Any, self_is_result: bool) -> Any:
    if self_is_result and negative_slope < 0:
        raise RuntimeError(
            "In-place leakyReLu backward calculation is triggered with a negative slope which is not supported. This "
            "is caused by calling in-place forward function with a negative slope, please call out-of-place version "
            "instead. File an issue at https://github.com/pytorch/pytorch if you do require supporting in-place "
            "leakRelu backward calculation with negative slope"
        )
    return select(np.greater(self, 0), grad_output, grad_output * negative_slope)


@kernel("hardshrink")
def hardshrink(self: np.ndarray, lambd: Any) -> np.ndarray:
    check_floating("hardshrink_cpu", self)
    return keep(_within(self, lambd), self, inverted=True)


@kernel("hardshrink_backward")
def hardshrink_backward(grad_out: np.ndarray, self: np.ndarray, lambd: Any) -> np.ndarray:
    return keep(_beyond(self, lambd), grad_out)


def _within(x: np.ndarray, limit: Any) -> Any:
    inside = np.greater_equal(x, -limit)
    inside &= np.less_equal(x, limit)
    return inside


def _beyond(x: np.ndarray, limit: Any) -> Any:
    """Where something is passed on: what is not a number is not."""
    outside = np.less(x, -limit)
    outside |= np.greater(x, limit)
    return outside


@kernel("softshrink")
def softshrink(self: np.ndarray, lambd: Any) -> Any:
    check_floating("softshrink_check", self)
    if lambd < 0:
        word = {"e": "Half", "f": "Float", "d": "Double"}[self.dtype.char]
        raise RuntimeError(
            f"lambda must be in range [0, {np.finfo(self.dtype).max:g}] for input dtype {word}, but found {lambd:g}"
        )
    return self - np.clip(self, -lambd, lambd)


@kernel("softshrink_backward")
def softshrink_backward(grad_output: np.ndarray, self: np.ndarray, lambd: Any) -> np.ndarray:
    return keep(_beyond(self, lambd), grad_output)


# --- piecewise linear
@kernel("hardsigmoid")
def hardsigmoid(self: np.ndarray) -> Any:
    check_floating("hardsigmoid_cpu", self)
    return np.divide(clip(np.asarray(self + 3), 0, 6), 6)


@kernel("hardsigmoid_backward")
def hardsigmoid_backward(grad_output: np.ndarray, self: np.ndarray) -> np.ndarray:
    inside = np.greater(self, -3)
    inside &= np.less(self, 3)
    # PyTorch's constant is a float in every type
    return keep(inside, grad_output * grad_output.dtype.type(np.float32(1 / 6)))


@kernel("hardswish")
def hardswish(self: np.ndarray) -> Any:
    check_floating("hardswish_cpu", self)
    if self.size > FEW:
        return fused(_hardswish_body, self)
    return np.divide(np.multiply(self, np.minimum(np.maximum(self + 3, 0), 6)), 6)


def _hardswish_body(out: np.ndarray, x: np.ndarray) -> None:
    np.add(x, 3, out=out)
    np.clip(out, 0, 6, out=out)
    out *= x
    out /= 6


@kernel("hardswish_backward")
def hardswish_backward(grad_output: np.ndarray, self: np.ndarray) -> Any:
    slope = np.where(self < 3, self / 3 + self.dtype.type(0.5), self.dtype.type(1))
    return keep(np.less_equal(self, -3), grad_output * slope, inverted=True)


# --- with weights or noise
@kernel("_prelu_kernel")
def prelu(self: np.ndarray, weight: np.ndarray) -> Any:
    check_floating("prelu_cpu", self)
    return select(np.greater(self, 0), self, self * weight)


@kernel("_prelu_kernel_backward")
def prelu_backward(grad_output: np.ndarray, self: np.ndarray, weight: np.ndarray) -> tuple[Any, Any]:
    positive = np.greater(self, 0)
    return select(positive, grad_output, grad_output * weight), keep(positive, self * grad_output, inverted=True)


@kernel("rrelu_with_noise")
def rrelu_with_noise(
    self: np.ndarray, noise: np.ndarray, lower: Any, upper: Any, training: bool, generator: Any
) -> Any:
    """Negative elements times a random slope in training (kept in `noise`), times the middle slope otherwise."""
    if lower > upper:
        raise RuntimeError("Lower bound should be less than or equal to the upper bound")
    if not training:
        return np.asarray(leaky_relu(self, (float(lower) + float(upper)) / 2), order="C")
    check_floating("rrelu_with_noise_out_cpu", self)
    slopes = np.ones(self.shape, self.dtype)
    negative = np.less_equal(self, 0)
    count = int(np.count_nonzero(negative))
    slopes[negative] = stream_of(generator).uniform((count,), np.float64, float(lower), float(upper)).astype(self.dtype)
    noise[...] = slopes
    return self * slopes


@kernel("rrelu_with_noise_backward")
def rrelu_with_noise_backward(
    grad_output: np.ndarray,
    self: np.ndarray,
    noise: np.ndarray,
    lower: Any,
    upper: Any,
    training: bool,
    self_is_result: bool,
) -> Any:
    if training and float(upper) - float(lower) > 1e-6:
        return grad_output * noise
    return leaky_relu_backward(grad_output, self, (float(lower) + float(upper)) / 2, self_is_result)


# --- gated linear unit
def _halves(self: np.ndarray, dim: int) -> tuple[np.ndarray, np.ndarray, int]:
    axis = dim % self.ndim
    n = glu_shape(self.shape, dim)[axis]
    moved = np.moveaxis(self, axis, 0)
    return np.moveaxis(moved[:n], 0, axis), np.moveaxis(moved[n:], 0, axis), axis


def _logistic(x: np.ndarray) -> Any:
    return 1 / (1 + np.exp(-x))


@kernel("glu")
def glu(self: np.ndarray, dim: int) -> Any:
    glu_shape(self.shape, dim)
    check_floating("glu_cpu", self)
    value, gate, _ = _halves(self, dim)
    return value * _logistic(gate)


@kernel("glu_backward")
def glu_backward(grad_output: np.ndarray, self: np.ndarray, dim: int) -> np.ndarray:
    value, gate, axis = _halves(self, dim)
    open_ = _logistic(gate)
    first = grad_output * open_
    return np.concatenate([first, first * (1 - open_) * value], axis=axis)

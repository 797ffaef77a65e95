"""Activation functions that PyTorch writes with other ops, and the steps inside others."""

from __future__ import annotations

from typing import Any

from ... import _dtype as dt
from ..._dispatch import aten
from ..._dispatch.checks import type_word
from ..._dispatch.registry import composite, stepwise
from . import kernel_steps as _kernel_steps  # noqa: F401  registers steps

SELU_ALPHA = 1.6732632423543772
SELU_SCALE = 1.0507009873554805


# --- steps that an observer sees
@stepwise("hardtanh")
def hardtanh(kernel: Any, self: Any, min_val: Any, max_val: Any) -> Any:
    return aten.overload("clamp")(self, min_val, max_val) if self.dtype.inexact else kernel(self, min_val, max_val)


@stepwise("hardtanh_")
def hardtanh_(kernel: Any, self: Any, min_val: Any, max_val: Any) -> Any:
    return aten.overload("clamp_")(self, min_val, max_val) if self.dtype.inexact else kernel(self, min_val, max_val)


@stepwise("celu")
def celu(kernel: Any, self: Any, alpha: Any) -> Any:
    return aten.elu(self, alpha, 1.0, 1.0 / alpha) if alpha else kernel(self, alpha)


@stepwise("celu_")
def celu_(kernel: Any, self: Any, alpha: Any) -> Any:
    return aten.elu_(self, alpha, 1.0, 1.0 / alpha) if alpha else kernel(self, alpha)


# --- made of other activations
@composite("relu6")
def relu6(self: Any) -> Any:
    return aten.hardtanh(self, 0, 6)


@composite("relu6_")
def relu6_(self: Any) -> Any:
    return aten.hardtanh_(self, 0, 6)


@composite("selu")
def selu(self: Any) -> Any:
    return aten.elu(self, SELU_ALPHA, SELU_SCALE)


@composite("selu_")
def selu_(self: Any) -> Any:
    return aten.elu_(self, SELU_ALPHA, SELU_SCALE)


# --- with weights or noise
@composite("prelu")
def prelu(self: Any, weight: Any) -> Any:
    if self.dtype is not weight.dtype:
        raise RuntimeError(
            f"prelu: Type promoting not supported. Got {type_word(self.dtype)} and {type_word(weight.dtype)}"
        )
    if weight.dim() > 1:
        raise RuntimeError(f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {weight.dim()}")
    ndim, count = self.dim(), weight.numel()
    if count != 1:
        if ndim == 0:
            raise RuntimeError("Not allow zero-dim input tensor.")
        channels = self.shape[1] if ndim > 1 else 1
        if channels != count:
            raise RuntimeError(
                "Mismatch of parameter numbers and input channel size. Found parameter numbers = "
                f"{count} and channel size = {channels}."
            )
    if ndim != weight.dim() or ndim == 1:
        weight = aten.reshape(weight, [count if i == 1 else 1 for i in range(ndim)])
    return aten._prelu_kernel(self, weight)


@composite("rrelu")
def rrelu(self: Any, lower: Any, upper: Any, training: bool, generator: Any) -> Any:
    return aten.rrelu_with_noise(self, aten.empty_like(self), lower, upper, training, generator)


@composite("rrelu_")
def rrelu_(self: Any, lower: Any, upper: Any, training: bool, generator: Any) -> Any:
    return aten.rrelu_with_noise_(self, aten.empty_like(self), lower, upper, training, generator)


# --- along a dimension
@composite("softmax.int")
def softmax(self: Any, dim: int, dtype: dt.dtype | None) -> Any:
    return aten._softmax(self if dtype is None else aten.overload("to.dtype")(self, dtype), dim, False)


@composite("log_softmax.int")
def log_softmax(self: Any, dim: int, dtype: dt.dtype | None) -> Any:
    return aten._log_softmax(self if dtype is None else aten.overload("to.dtype")(self, dtype), dim, False)


@composite("special_softmax")
def special_softmax(self: Any, dim: int, dtype: dt.dtype | None) -> Any:
    return aten.softmax(self, dim, dtype)


@composite("special_log_softmax")
def special_log_softmax(self: Any, dim: int, dtype: dt.dtype | None) -> Any:
    return aten.log_softmax(self, dim, dtype)


@composite("log_sigmoid")
def log_sigmoid(self: Any) -> Any:
    return aten.log_sigmoid_forward(self)[0]

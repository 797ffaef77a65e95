"""Activation functions that PyTorch writes with other ops."""
from __future__ import annotations

from typing import Any

from ... import _dtype as dt
from ..._dispatch import aten
from ..._dispatch.registry import composite

SELU_ALPHA = 1.6732632423543772
SELU_SCALE = 1.0507009873554805


# --- made of limits -----------------------------------------------------------------------------------------------------
def _no_bool(self: Any) -> None:
    if self.dtype is dt.bool_:
        raise RuntimeError("Boolean inputs not supported for relu")


@composite("relu")
def relu(self: Any) -> Any:
    _no_bool(self)
    return aten.overload("clamp_min")(self, 0)


@composite("relu_")
def relu_(self: Any) -> Any:
    _no_bool(self)
    return aten.overload("clamp_min_")(self, 0)


def _limits(self: Any, min_val: Any, max_val: Any) -> tuple[Any, Any]:
    """The limits in the type of self, which hardtanh never changes."""
    if self.dtype is dt.bool_:
        raise RuntimeError("Bool inputs not supported for hardtanh")
    if self.dtype.inexact:
        return min_val, max_val
    low, high = int(min_val), int(max_val)
    if not self.dtype.is_signed and (low < 0 or high < 0):
        raise RuntimeError("cannot do hardtanh on an unsigned type with negative limits")
    return low, high


@composite("hardtanh")
def hardtanh(self: Any, min_val: Any, max_val: Any) -> Any:
    return aten.overload("clamp")(self, *_limits(self, min_val, max_val))


@composite("hardtanh_")
def hardtanh_(self: Any, min_val: Any, max_val: Any) -> Any:
    return aten.overload("clamp_")(self, *_limits(self, min_val, max_val))


@composite("relu6")
def relu6(self: Any) -> Any:
    return aten.hardtanh(self, 0, 6)


@composite("relu6_")
def relu6_(self: Any) -> Any:
    return aten.hardtanh_(self, 0, 6)


# --- made of elu --------------------------------------------------------------------------------------------------------
@composite("selu")
def selu(self: Any) -> Any:
    return aten.elu(self, SELU_ALPHA, SELU_SCALE)


@composite("selu_")
def selu_(self: Any) -> Any:
    return aten.elu_(self, SELU_ALPHA, SELU_SCALE)


def _inverse(alpha: Any) -> float:
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    return 1.0 / float(alpha)


@composite("celu")
def celu(self: Any, alpha: Any) -> Any:
    return aten.elu(self, alpha, 1.0, _inverse(alpha))


@composite("celu_")
def celu_(self: Any, alpha: Any) -> Any:
    return aten.elu_(self, alpha, 1.0, _inverse(alpha))


# --- with weights or noise ----------------------------------------------------------------------------------------------
@composite("prelu")
def prelu(self: Any, weight: Any) -> Any:
    from ..._dispatch.resolve import type_word
    if self.dtype is not weight.dtype:
        raise RuntimeError(f"prelu: Type promoting not supported. Got {type_word(self.dtype)} and {type_word(weight.dtype)}")
    if weight.dim() > 1:
        raise RuntimeError(f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {weight.dim()}")
    ndim, count = self.dim(), weight.numel()
    if count != 1:
        if ndim == 0:
            raise RuntimeError("Not allow zero-dim input tensor.")
        channels = self.shape[1] if ndim > 1 else 1
        if channels != count:
            raise RuntimeError("Mismatch of parameter numbers and input channel size. Found parameter numbers = "
                               f"{count} and channel size = {channels}.")
    if ndim != weight.dim() or ndim == 1:
        weight = aten.reshape(weight, [count if i == 1 else 1 for i in range(ndim)])
    return aten._prelu_kernel(self, weight)


@composite("rrelu")
def rrelu(self: Any, lower: Any, upper: Any, training: bool, generator: Any) -> Any:
    return aten.rrelu_with_noise(self, aten.empty_like(self), lower, upper, training, generator)


@composite("rrelu_")
def rrelu_(self: Any, lower: Any, upper: Any, training: bool, generator: Any) -> Any:
    return aten.rrelu_with_noise_(self, aten.empty_like(self), lower, upper, training, generator)


# --- along a dimension --------------------------------------------------------------------------------------------------
@composite("softmax.int")
def softmax(self: Any, dim: int, dtype: dt.dtype | None) -> Any:
    return aten._softmax(self if dtype is None else aten.to(self, dtype), dim, False)


@composite("log_softmax.int")
def log_softmax(self: Any, dim: int, dtype: dt.dtype | None) -> Any:
    return aten._log_softmax(self if dtype is None else aten.to(self, dtype), dim, False)


@composite("special_softmax")
def special_softmax(self: Any, dim: int, dtype: dt.dtype | None) -> Any:
    return aten.softmax(self, dim, dtype)


@composite("special_log_softmax")
def special_log_softmax(self: Any, dim: int, dtype: dt.dtype | None) -> Any:
    return aten.log_softmax(self, dim, dtype)


@composite("log_sigmoid")
def log_sigmoid(self: Any) -> Any:
    return aten.log_sigmoid_forward(self)[0]

"""Derivatives of the elementwise family: functions of one operand and complex parts. Those of several operands stand in
elementwise_binary.py."""

from __future__ import annotations

import math
from typing import Any

from ..._dispatch import aten
from ..rules import derivative
from . import elementwise_binary  # noqa: F401  - declares the rows of ops with several operands
from .common import conj, no_derivative

_LN2 = math.log(2.0)
_LN10 = math.log(10.0)
_TWO_OVER_ROOT_PI = 2.0 / math.sqrt(math.pi)


# --- exponentials, logarithms, roots
derivative("exp", self=lambda g, result: g * conj(result))
derivative("exp2", self=lambda g, result: g * conj(result) * _LN2)
derivative("expm1", self=lambda g, result: g * (conj(result) + 1))
derivative("log", self=lambda g, self: aten.div(g, conj(self)))
derivative("log2", self=lambda g, self: g / (conj(self) * _LN2))
derivative("log10", self=lambda g, self: g / (conj(self) * _LN10))
derivative("log1p", node="Log1PBackward0", self=lambda g, self: g / (conj(self) + 1))
derivative("sqrt", self=lambda g, result: g / (2 * conj(result)))
derivative("rsqrt", self=lambda g, result: -0.5 * g * conj(aten.pow(result, 3)))
derivative("reciprocal", self=lambda g, result: -g * conj(result * result))

# --- circles and hyperbolas
derivative("sin", self=lambda g, self: g * conj(aten.cos(self)))
derivative("cos", self=lambda g, self: g * -conj(aten.sin(self)))
derivative("tan", self=lambda g, result: g * conj(1 + result * result))
derivative("asin", self=lambda g, self: g * conj(aten.rsqrt(1 - self * self)))
derivative("acos", self=lambda g, self: g * -conj(aten.rsqrt(1 - self * self)))
derivative("atan", self=lambda g, self: g / conj(self * self + 1))
derivative("sinh", self=lambda g, self: g * conj(aten.cosh(self)))
derivative("cosh", self=lambda g, self: g * conj(aten.sinh(self)))
derivative("tanh", self=lambda g, result: aten.tanh_backward(g, result))
derivative("asinh", self=lambda g, self: g * conj(aten.rsqrt(self * self + 1)))
derivative(
    "acosh",
    self=lambda g, self: (
        g
        * (conj(aten.rsqrt(self - 1) * aten.rsqrt(self + 1)) if self.dtype.is_complex else aten.rsqrt(self * self - 1))
    ),
)
derivative("atanh", self=lambda g, self: g * conj(aten.reciprocal(1 - self * self)))
derivative("sigmoid", self=lambda g, result: aten.sigmoid_backward(g, result))
derivative("logit", self=lambda g, self, eps: aten.logit_backward(g, self, eps))


def _sinc_grad(g: Any, self: Any) -> Any:
    angle = self * math.pi
    area = self * self * math.pi
    slope = (angle * aten.cos(angle) - aten.sin(angle)) / area
    return aten.masked_fill(g * conj(slope), area == 0, 0)


derivative("sinc", self=_sinc_grad)
derivative("deg2rad", node="Deg2RadBackward0", self=lambda g: g * (math.pi / 180.0))
derivative("rad2deg", node="Rad2DegBackward0", self=lambda g: g * (180.0 / math.pi))

derivative(
    "sigmoid_backward",
    grad_output=lambda g, output: aten.sigmoid_backward(g, conj(output)),
    output=lambda g, grad_output, output: conj(g) * grad_output * (1 - 2 * conj(output)),
)
derivative(
    "tanh_backward",
    grad_output=lambda g, output: aten.tanh_backward(g, conj(output)),
    output=lambda g, grad_output, output: conj(g) * grad_output * (-2 * conj(output)),
)


def _logit_curvature(g: Any, grad_output: Any, self: Any, eps: float | None) -> Any:
    spread = self * (1 - self)
    slope = g * grad_output * (2 * self - 1) / (spread * spread)
    low, high = (0.0, 1.0) if eps is None else (eps, 1.0 - eps)
    return aten.masked_fill(slope, aten.logical_or(self < low, self > high), 0.0)


derivative("logit_backward", grad_output=lambda g, self, eps: aten.logit_backward(g, self, eps), self=_logit_curvature)

# --- special functions
derivative("erf", self=lambda g, self: _TWO_OVER_ROOT_PI * aten.exp(-aten.pow(self, 2)) * g)
derivative("erfc", self=lambda g, self: -_TWO_OVER_ROOT_PI * aten.exp(-aten.pow(self, 2)) * g)
derivative("erfinv", self=lambda g, result: 0.5 * math.sqrt(math.pi) * aten.exp(aten.pow(result, 2)) * g)
derivative("lgamma", self=lambda g, self: g * aten.digamma(self))
derivative("digamma", self=lambda g, self: g * aten.polygamma(1, self))
derivative("polygamma", self=lambda g, n, self: g * aten.polygamma(n + 1, self))
derivative("special_entr", self=lambda g, self: g * (-aten.log(self) - 1))
derivative("special_erfcx", self=lambda g, self, result: (2.0 * self * result - _TWO_OVER_ROOT_PI) * g)
derivative("special_ndtr", self=lambda g, self: g * aten.exp(-0.5 * self * self) / math.sqrt(2.0 * math.pi))
derivative("special_ndtri", self=lambda g, result: g * math.sqrt(2.0 * math.pi) * aten.exp(0.5 * result * result))


# --- sign, size, steps
def _sgn_grad(g: Any, self: Any, result: Any) -> Any:
    """Only the direction of a complex number changes its sign."""
    if not self.dtype.is_complex:
        return aten.zeros_like(g)
    size = aten.abs(self)
    across = (g - aten.real(g * aten._conj(result)) * result) / size
    return aten.masked_fill(across, size == 0, 0)


derivative("neg", self=lambda g: -g)
derivative("abs", self=lambda g, self: g * aten.sgn(self))
derivative("sgn", self=_sgn_grad)
derivative("frac", self=lambda g: g)
derivative("nan_to_num", self=lambda g, self: g * aten.isfinite(self))
for _name in ("sign", "floor", "ceil", "trunc", "round"):
    derivative(_name, self=lambda g: aten.zeros_like(g))
derivative("round.decimals", node="RoundBackward1", self=lambda g: aten.zeros_like(g))


# --- writes
derivative("copy_", node="CopyBackwards", self=lambda g: aten.zeros_like(g), src=lambda g: g)
derivative("zero_", self=lambda g: aten.zeros_like(g))
derivative("fill_.Scalar", node="FillBackward2", self=lambda g: aten.zeros_like(g))
derivative("fill_.Tensor", node="FillBackward3", self=lambda g: aten.zeros_like(g), value=lambda g: aten.sum(g))
derivative("fill.Scalar", self=lambda g: aten.zeros_like(g))
derivative("fill.Tensor", node="FillBackward1", self=lambda g: aten.zeros_like(g), value=lambda g: aten.sum(g))
derivative("masked_fill.Scalar", self=lambda g, mask: aten.masked_fill(g, mask, 0))
derivative(
    "masked_fill.Tensor",
    node="MaskedFillBackward1",
    self=lambda g, mask: aten.masked_fill(g, mask, 0),
    value=lambda g, mask: aten.sum(aten.where(mask, g, 0)),
)


# --- complex numbers
def _angle_grad(g: Any, self: Any) -> Any:
    """An angle grows across the direction of its number, by the inverse of the size."""
    if not self.dtype.is_complex:
        return aten.zeros_like(g)
    squared = aten.abs(self) ** 2
    return aten.masked_fill(g * (self * 1j) / squared, squared == 0, 0)


derivative("angle", self=_angle_grad)
derivative("view_as_real", self=lambda g: aten.view_as_complex(aten.contiguous(g)))
derivative("view_as_complex", self=lambda g: aten.view_as_real(g))
derivative("_conj", self=lambda g: conj(g))
derivative("_conj_physical", self=lambda g: aten._conj_physical(g))
derivative("complex", real=lambda g: aten.real(g), imag=lambda g: aten.imag(g))
derivative(
    "polar",
    abs=lambda g, result: aten.real(conj(g) * aten.sgn(result)),
    angle=lambda g, result: aten.real(conj(g) * (result * 1j)),
)


derivative(
    "nextafter",
    self=lambda g, self, other: aten.masked_fill(g, aten.eq(self, other), 0),
    other=lambda g: aten.zeros_like(g),
)


# --- what PyTorch refuses to differentiate
no_derivative("floor_divide", "self", "other")
no_derivative("remainder.Scalar_Tensor", "other")
no_derivative("heaviside", "self", "values")

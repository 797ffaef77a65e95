"""Derivatives of elementwise ops with several operands.

The engine sums over dimensions along which an operand was broadcast.
"""

from __future__ import annotations

import math
from typing import Any

from ..._dispatch import aten
from ..rules import derivative
from .common import conj


# --- sums and products
def _times(g: Any, factor: Any) -> Any:
    return g if factor == 1 else g * conj(factor)


derivative("add.Tensor", self=lambda g: g, other=lambda g, alpha: _times(g, alpha))
derivative("sub.Tensor", self=lambda g: g, other=lambda g, alpha: _times(-g, alpha))
derivative("rsub.Tensor", self=lambda g, alpha: _times(-g, alpha), other=lambda g: g)
derivative("rsub.Scalar", node="RsubBackward1", self=lambda g, alpha: _times(-g, alpha))
derivative("mul.Tensor", self=lambda g, other: g * conj(other), other=lambda g, self: g * conj(self))
derivative(
    "div.Tensor", self=lambda g, other: g / conj(other), other=lambda g, self, other: -g * conj((self / other) / other)
)
derivative(
    "div.Tensor_mode",
    node="DivBackward2",
    self=lambda g, other, rounding_mode: g / conj(other) if rounding_mode is None else aten.zeros_like(g),
    other=lambda g, self, other, rounding_mode: (
        -g * conj((self / other) / other) if rounding_mode is None else aten.zeros_like(g)
    ),
)
derivative("remainder.Scalar", self=lambda g: g)
derivative(
    "remainder.Tensor",
    node="RemainderBackward1",
    self=lambda g: g,
    other=lambda g, self, other: -g * aten.div(self, other, rounding_mode="floor"),
)
derivative("fmod.Scalar", self=lambda g: g)
derivative(
    "fmod.Tensor",
    node="FmodBackward1",
    self=lambda g: g,
    other=lambda g, self, other: -g * aten.div(self, other, rounding_mode="trunc"),
)


# --- powers
def _power_of_number(g: Any, self: Any, exponent: Any) -> Any:
    if exponent == 0:
        return aten.zeros_like(g)
    return g * conj(exponent * aten.pow(self, exponent - 1))


def _power_base(g: Any, self: Any, exponent: Any) -> Any:
    slope = g * conj(exponent * aten.pow(self, exponent - 1))
    return aten.masked_fill(slope, exponent == 0, 0)


def _power_exponent(g: Any, self: Any, exponent: Any, result: Any) -> Any:
    """0 ** e stays 0 when e grows, although the logarithm of 0 is infinite."""
    flat = aten.logical_and(self == 0, aten.real(exponent) >= 0)
    return aten.masked_fill(g * conj(result * aten.log(self)), flat, 0)


def _power_of_constant(g: Any, self: Any, exponent: Any, result: Any) -> Any:
    if self == 0:
        return aten.masked_fill(g * conj(result * -math.inf), aten.real(exponent) >= 0, 0)
    if isinstance(self, complex):
        return g * conj(result * complex(math.log(abs(self)), math.atan2(self.imag, self.real)))
    return g * conj(result * (math.log(self) if self > 0 else math.nan))


derivative("pow.Tensor_Scalar", self=_power_of_number)
derivative("pow.Tensor_Tensor", node="PowBackward1", self=_power_base, exponent=_power_exponent)
derivative("pow.Scalar", node="PowBackward2", exponent=_power_of_constant)
derivative(
    "ldexp.Tensor",
    self=lambda g, other: g * conj(aten.pow(2.0, other)),
    other=lambda g, result: g * conj(result) * math.log(2.0),
)


# --- other functions of two operands
def _atan2_scaled(g: Any, self: Any, other: Any) -> Any:
    squared = self * self + other * other
    return aten.masked_fill(g / squared, squared == 0, 0)


derivative(
    "atan2",
    self=lambda g, self, other: _atan2_scaled(g, self, other) * other,
    other=lambda g, self, other: _atan2_scaled(g, self, other) * -self,
)
derivative(
    "hypot", self=lambda g, self, result: g * (self / result), other=lambda g, other, result: g * (other / result)
)
derivative(
    "logaddexp",
    self=lambda g, self, other: g / conj(1 + aten.exp(other - self)),
    other=lambda g, self, other: g / conj(1 + aten.exp(self - other)),
)
derivative(
    "logaddexp2",
    self=lambda g, self, other: g / (1 + aten.pow(2, other - self)),
    other=lambda g, self, other: g / (1 + aten.pow(2, self - other)),
)


def _xlogy_self(g: Any, self: Any, other: Any) -> Any:
    silent = aten.logical_and(self == 0, other <= 0)
    return aten.masked_fill(g * aten.log(other), silent, 0)


derivative("xlogy.Tensor", self=_xlogy_self, other=lambda g, self, other: g * self / other)
derivative("xlogy.Scalar_Self", node="XlogyBackward1", other=lambda g, self, other: g * self / other)
derivative(
    "xlogy.Scalar_Other",
    node="XlogyBackward2",
    self=lambda g, self, other: (
        g
        * (
            math.log(other)
            if other > 0
            else aten.masked_fill(aten.full_like(self, -math.inf if other == 0 else math.nan), self == 0, 0)
        )
    ),
)


def _copysign_self(g: Any, self: Any, result: Any) -> Any:
    return aten.masked_fill(g * (result / self), self == 0, 0)


derivative("copysign.Tensor", self=_copysign_self, other=lambda g: aten.zeros_like(g))
derivative("copysign.Scalar", node="CopysignBackward1", self=_copysign_self)


# --- larger and smaller
def _share_among_equal(g: Any, self: Any, other: Any) -> Any:
    """Equal operands share the gradient."""
    return aten.where(self == other, g / 2, g)


derivative(
    "maximum",
    self=lambda g, self, other: aten.masked_fill(_share_among_equal(g, self, other), self < other, 0),
    other=lambda g, self, other: aten.masked_fill(_share_among_equal(g, self, other), self > other, 0),
)
derivative(
    "minimum",
    self=lambda g, self, other: aten.masked_fill(_share_among_equal(g, self, other), self > other, 0),
    other=lambda g, self, other: aten.masked_fill(_share_among_equal(g, self, other), self < other, 0),
)


def _first_wins(better: Any, other: Any) -> Any:
    return aten.logical_or(better, aten.isnan(other))


derivative(
    "fmax",
    self=lambda g, self, other: aten.masked_fill(g, aten.logical_not(_first_wins(self >= other, other)), 0),
    other=lambda g, self, other: aten.masked_fill(g, _first_wins(self >= other, other), 0),
)
derivative(
    "fmin",
    self=lambda g, self, other: aten.masked_fill(g, aten.logical_not(_first_wins(self <= other, other)), 0),
    other=lambda g, self, other: aten.masked_fill(g, _first_wins(self <= other, other), 0),
)


def _inside(self: Any, min: Any, max: Any) -> Any:
    if min is None:
        return self <= max
    return self >= min if max is None else aten.logical_and(self >= min, self <= max)


def _clamp_self(g: Any, self: Any, min: Any, max: Any) -> Any:
    return aten.where(_inside(self, min, max), g, 0)


def _clamp_low(g: Any, self: Any, min: Any, max: Any) -> Any:
    at_low = self < min
    return aten.where(at_low if max is None else aten.logical_and(at_low, min < max), g, 0)


def _clamp_high(g: Any, self: Any, min: Any, max: Any) -> Any:
    at_high = self > max
    return aten.where(at_high if min is None else aten.logical_or(at_high, max < min), g, 0)


derivative("clamp", node="ClampBackward1", self=_clamp_self)
derivative("clamp.Tensor", self=_clamp_self, min=_clamp_low, max=_clamp_high)


def _not_below(g: Any, self: Any, min: Any) -> Any:
    return aten.where(self >= min, g, 0)


def _below(g: Any, self: Any, min: Any) -> Any:
    return aten.where(self < min, g, 0)


def _not_above(g: Any, self: Any, max: Any) -> Any:
    return aten.where(self <= max, g, 0)


def _above(g: Any, self: Any, max: Any) -> Any:
    return aten.where(self > max, g, 0)


derivative("clamp_min", self=_not_below)
derivative("clamp_min.Tensor", node="ClampMinBackward1", self=_not_below, min=_below)
derivative("clamp_max", self=_not_above)
derivative("clamp_max.Tensor", node="ClampMaxBackward1", self=_not_above, max=_above)

# --- choices and mixtures
derivative(
    "where.self",
    self=lambda g, condition: aten.where(condition, g, 0),
    other=lambda g, condition: aten.where(condition, 0, g),
)
derivative("where.ScalarOther", self=lambda g, condition: aten.where(condition, g, 0))
derivative("where.ScalarSelf", other=lambda g, condition: aten.where(condition, 0, g))
derivative("lerp.Scalar", self=lambda g, weight: g * (1 - conj(weight)), end=lambda g, weight: g * conj(weight))
derivative(
    "lerp.Tensor",
    node="LerpBackward1",
    self=lambda g, weight: g * conj(1 - weight),
    end=lambda g, weight: g * conj(weight),
    weight=lambda g, self, end: g * conj(end - self),
)
derivative(
    "addcmul",
    self=lambda g: g,
    tensor1=lambda g, tensor2, value: g * conj(tensor2 * value),
    tensor2=lambda g, tensor1, value: g * conj(tensor1 * value),
)
derivative(
    "addcdiv",
    self=lambda g: g,
    tensor1=lambda g, tensor2, value: g * conj(value / tensor2),
    tensor2=lambda g, tensor1, tensor2, value: -g * conj(value * tensor1 / (tensor2 * tensor2)),
)

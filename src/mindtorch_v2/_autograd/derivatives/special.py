"""Derivatives of special functions."""

from __future__ import annotations

import math
from typing import Any

from ..._dispatch import aten
from ..._ops.special import NOT_DIFFERENTIATED, NOT_DIFFERENTIATED_X, POLYNOMIALS
from ..rules import derivative
from .common import no_derivative


def _safe(self: Any, at_zero: Any, away: Any) -> Any:
    """A slope that is a quotient by self: `away(self)`, and its limit `at_zero` at zero."""
    zero = aten.eq(self, 0)
    value = away(aten.masked_fill(self, zero, 1.0))
    return aten.where(zero, aten.full_like(self, at_zero), value)


def _i1_slope(self: Any, result: Any) -> Any:
    return _safe(self, 0.5, lambda x: aten.i0(x) - result / x)


def _i1e_slope(self: Any, result: Any) -> Any:
    return _safe(self, 0.5, lambda x: aten.special_i0e(x) - result * (aten.sgn(x) + aten.reciprocal(x)))


derivative("i0", self=lambda g, self: g * aten.special_i1(self))
derivative(
    "special_i0e",
    node="SpecialI0EBackward0",
    self=lambda g, self, result: g * (aten.special_i1e(self) - aten.sgn(self) * result),
)
derivative("special_i1", node="SpecialI1Backward0", self=lambda g, self, result: g * _i1_slope(self, result))
derivative("special_i1e", node="SpecialI1EBackward0", self=lambda g, self, result: g * _i1e_slope(self, result))
derivative(
    "special_log_ndtr", self=lambda g, self: g / aten.special_erfcx(self * -math.sqrt(0.5)) * math.sqrt(2 / math.pi)
)


def _xlog1py_self(g: Any, self: Any, other: Any) -> Any:
    """log(1 + other), and nothing where a zero hides that it is infinite."""
    return g * aten.masked_fill(aten.log1p(other), aten.logical_and(aten.eq(self, 0), aten.le(other, -1)), 0.0)


def _xlog1py_self_number(g: Any, self: Any, other: Any) -> Any:
    if other > -1:
        return g * math.log1p(other)
    return aten.masked_fill(g * (-math.inf if other == -1 else math.nan), aten.eq(self, 0), 0.0)


derivative(
    "special_xlog1py",
    node="SpecialXlog1PyBackward0",
    self=_xlog1py_self,
    other=lambda g, self, other: g * self / (other + 1),
)
derivative(
    "special_xlog1py.self_scalar", node="SpecialXlog1PyBackward1", other=lambda g, self, other: g * self / (other + 1)
)
derivative("special_xlog1py.other_scalar", node="SpecialXlog1PyBackward2", self=_xlog1py_self_number)


def _refuse_zeta(g: Any) -> Any:
    raise RuntimeError("derivative for aten::special_zeta is not implemented")


def _zeta_other(g: Any, self: Any, other: Any) -> Any:
    return g * -self * aten.special_zeta(self + 1.0, other)


derivative("special_zeta", self=_refuse_zeta, other=_zeta_other)
derivative("special_zeta.self_scalar", node="SpecialZetaBackward1", other=_zeta_other)
derivative("special_zeta.other_scalar", node="SpecialZetaBackward2", self=_refuse_zeta)


def _gamma_density(self: Any, other: Any) -> Any:
    return aten.exp((self - 1) * aten.log(other) - other - aten.lgamma(self))


def _refuse_igamma(g: Any) -> Any:
    raise RuntimeError("derivative for aten::igamma is not implemented")


def _refuse_igammac(g: Any) -> Any:
    raise RuntimeError("derivative for aten::igammac is not implemented")


derivative("igamma", self=_refuse_igamma, other=lambda g, self, other: g * _gamma_density(self, other))
derivative("igammac", self=_refuse_igammac, other=lambda g, self, other: -g * _gamma_density(self, other))
for _name in NOT_DIFFERENTIATED:
    no_derivative(f"special_{_name}", "self")
for _name in NOT_DIFFERENTIATED_X:
    no_derivative(f"special_{_name}", "x")
for _name in POLYNOMIALS:
    no_derivative(f"special_{_name}", "x", "n")


def _mvlgamma_slope(self: Any, p: int) -> Any:
    halves = aten.arange(-0.5 * p + 0.5, 0.5, 0.5, dtype=self.dtype, device=self.device)
    return aten.sum(aten.digamma(aten.add(aten.unsqueeze(self, -1), halves)), [-1])


derivative("mvlgamma", self=lambda g, self, p: g * _mvlgamma_slope(self, p))

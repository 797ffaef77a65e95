"""Derivatives of draws: at a fixed quantile (the implicit reparametrisation), where PyTorch has one."""

from __future__ import annotations

from typing import Any

from ..._dispatch import aten
from ..rules import derivative
from .common import no_derivative


def _nothing(g: Any) -> Any:
    return aten.zeros_like(g)


derivative("_standard_gamma", self=lambda g, self, result: g * aten._standard_gamma_grad(self, result))
derivative("_sample_dirichlet", self=_nothing)
derivative("binomial", prob=_nothing)
no_derivative("_standard_gamma_grad", "self", "output")
no_derivative("_dirichlet_grad", "x", "alpha", "total")

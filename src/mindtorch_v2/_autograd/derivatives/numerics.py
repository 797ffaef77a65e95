"""Derivatives of numerical tools."""

from __future__ import annotations

from typing import Any

from ..._dispatch import aten
from ..rules import derivative
from .common import no_derivative


def _frexp_grad(g: Any, result1: Any) -> Any:
    return g[0] / aten.exp2(aten.to(result1, g[0].dtype))


derivative("frexp.Tensor", self=_frexp_grad)
no_derivative("geqrf", "self")
no_derivative("linalg_ldl_factor_ex", "self")
no_derivative("linalg_ldl_solve", "LD", "B")

"""Special functions that are other names or sums of others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ... import _dtype as dt
from ..._dispatch import aten
from ..._dispatch.checks import check_result_type
from ..._dispatch.registry import composite


@composite("special_i0")
def special_i0(self: Any) -> Any:
    return aten.i0(self)


@composite("special_gammainc")
def special_gammainc(self: Any, other: Any) -> Any:
    return aten.igamma(self, other)


@composite("special_gammaincc")
def special_gammaincc(self: Any, other: Any) -> Any:
    return aten.igammac(self, other)


@composite("special_logsumexp")
def special_logsumexp(self: Any, dim: Sequence[int], keepdim: bool) -> Any:
    return aten.logsumexp(self, dim, keepdim)


@composite("special_multigammaln")
def special_multigammaln(self: Any, p: int) -> Any:
    return aten.mvlgamma(self, p)


@composite("mvlgamma")
def mvlgamma(self: Any, p: int) -> Any:
    """log of the multivariate gamma function: sum over j < p of lgamma(self - j / 2), and a constant."""
    if p < 1:
        raise RuntimeError("p has to be greater than or equal to 1")
    if self.dtype.category < 2:
        self = aten.to(self, dt.get_default_dtype())
    halves = aten.arange(-0.5 * p + 0.5, 0.5, 0.5, dtype=self.dtype, device=self.device)
    total = aten.sum(aten.lgamma(aten.add(aten.unsqueeze(self, -1), halves)), [-1])
    return aten.add(total, p * (p - 1) * math.log(math.pi) / 4)


@composite("mvlgamma_")
def mvlgamma_(self: Any, p: int) -> Any:
    made = aten.mvlgamma(self, p)
    check_result_type(made.dtype, self.dtype)
    return aten.copy_(self, made)

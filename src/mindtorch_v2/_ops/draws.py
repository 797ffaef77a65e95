"""Declarations of draws from families of distributions, element by element, and of the gradients of such draws."""

from __future__ import annotations

from typing import Any

from .. import _dtype as dt
from .._shape import broadcast_shapes
from .rules import Spec, like
from .table import op


def _binomial(count: Any, prob: Any, generator: Any = None) -> Spec:
    return Spec(
        broadcast_shapes(tuple(count.shape), tuple(prob.shape)),
        count.dtype if isinstance(count.dtype, dt.dtype) else dt.float32,
    )


op("_standard_gamma(Tensor self, Generator? generator=None) -> Tensor", meta=like(), method=False)
op("_standard_gamma_grad(Tensor self, Tensor output) -> Tensor", meta=like(), method=False)
op("_sample_dirichlet(Tensor self, Generator? generator=None) -> Tensor", meta=like(), method=False)
op("_dirichlet_grad(Tensor x, Tensor alpha, Tensor total) -> Tensor", meta=like(), method=False)
op("binomial(Tensor count, Tensor prob, Generator? generator=None) -> Tensor", meta=_binomial, method=False)

"""Derivatives of vector norms, distances and renormalisation."""

from __future__ import annotations

from math import inf
from typing import Any

from ..._dispatch import aten
from ..._shape import normalize_dim
from ..rules import derivative
from .common import conj, restore_dim


def _divide_by_norm(g: Any, norm: Any, power: float) -> Any:
    """g / norm ** power, zero where the norm is zero, with derivatives that are zero there, too."""
    none = aten.eq(norm, 0)
    return aten.masked_fill_(aten.div(g, aten.pow(aten.masked_fill(norm, none, 1), power)), none, 0)


def _largest_share(g: Any, self: Any, norm: Any, dim: Any) -> Any:
    """For the infinity norms: the elements of extreme size share the gradient."""
    size = aten.abs(self)
    mask = aten.logical_or(aten.eq(size, norm), aten.isnan(size))
    count = aten.sum(mask) if dim is None or len(dim) == 0 else aten.sum(mask, dim, True)
    return aten.mul(aten.sgn(self), aten.mul(aten.div(g, count), mask))


def norm_grad(g: Any, self: Any, p: float, norm: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """The gradient of the p-norm `norm` of `self` over `dim` (None or (): all)."""
    if not (dim is None or len(dim) == 0) or (keepdim and self.dim()):
        g, norm = restore_dim(g, dim, keepdim, self.dim()), restore_dim(norm, dim, keepdim, self.dim())
    if p == 0:
        return None  # the count of elements that are not zero does not change
    if p == 1:
        return aten.mul(aten.sgn(self), g)
    if p == 2:
        return aten.mul(g, aten.masked_fill_(aten.div(self, norm), aten.eq(norm, 0), 0))
    if p in (inf, -inf):
        return _largest_share(g, self, norm, dim)
    if p < 1:
        direction = aten.masked_fill_(aten.mul(aten.sgn(self), aten.pow(aten.abs(self), p - 1)), aten.eq(self, 0), 0)
        return aten.mul(aten.mul(direction, g), aten.pow(norm, 1 - p))
    if p < 2:
        direction = aten.mul(aten.sgn(self), aten.pow(aten.abs(self), p - 1))
    else:
        direction = aten.mul(self, aten.pow(aten.abs(self), p - 2))
    return aten.mul(direction, _divide_by_norm(g, norm, p - 1))


def _renorm_grad(g: Any, self: Any, p: float, dim: int, maxnorm: float) -> Any:
    kept = normalize_dim(dim, self.dim())
    dims = [d for d in range(self.dim()) if d != kept]
    norm = aten.linalg_vector_norm(self, p, dims, True)
    along = aten.sum(aten.mul(conj(self), g), dims, True)
    if along.dtype.is_complex:
        along = aten.real(along)
    pull = norm_grad(along, self, p, norm, dims, True)
    inverse = aten.reciprocal(aten.add(norm, 1e-7))
    shortened = aten.mul(aten.mul(aten.sub(g, aten.mul(inverse, pull)), inverse), maxnorm)
    return aten.where(aten.gt(norm, maxnorm), shortened, g)


def _vector_norm_grad(g: Any, self: Any, ord: float, dim: Any, keepdim: bool, result: Any) -> Any:
    return norm_grad(g, self, ord, result, dim, keepdim)


derivative("linalg_vector_norm", self=_vector_norm_grad)
derivative(
    "dist",
    self=lambda g, self, other, p, result: norm_grad(g, aten.sub(self, other), p, result),
    other=lambda g, self, other, p, result: aten.neg(norm_grad(g, aten.sub(self, other), p, result)),
)
derivative("renorm", self=_renorm_grad)
derivative("norm.Scalar", self=lambda g, self, p, result: norm_grad(g, self, p, result))
derivative(
    "norm.ScalarOpt_dim",
    node="NormBackward1",
    self=lambda g, self, p, dim, keepdim, result: norm_grad(g, self, 2 if p is None else p, result, dim, keepdim),
)

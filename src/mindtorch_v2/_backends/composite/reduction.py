"""Reductions that are made of others."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import cache
from math import inf, prod
from typing import Any

from ... import _dtype as dt
from ..._dispatch import aten
from ..._dispatch.checks import type_word
from ..._dispatch.modes import grad_enabled
from ..._dispatch.registry import composite
from ..._shape import normalize_dim, normalize_dims
from . import quantiles  # noqa: F401  - registers quantile and nanquantile


# --- means
def _check_mean(self: Any, dtype: dt.dtype | None) -> None:
    kind = dtype or self.dtype
    if kind.category < 2:
        which = "Input" if dtype is None else "Optional"
        raise RuntimeError(
            f"mean(): could not infer output dtype. {which} dtype must be either a floating point or complex dtype. "
            f"Got: {type_word(kind)}"
        )


def _mean(self: Any, dim: Any, keepdim: bool, dtype: dt.dtype | None) -> Any:
    _check_mean(self, dtype)
    wanted = dtype or self.dtype
    if wanted.wide is not None:  # the sum of halves may not fit into a half, though their mean does
        total = _sum_dim()(self, dim, keepdim, dtype=wanted.wide)
        return aten.to(aten.div_(total, _count(self, dim)), wanted)
    return aten.div_(_sum_dim()(self, dim, keepdim, dtype=dtype), _count(self, dim))


def _count(self: Any, dim: Any) -> int:
    """How many elements a mean over `dim`, which fits the shape, is taken of."""
    if dim is None or len(dim) == 0:
        return self._array.size
    shape = self._array.shape
    if not shape:
        return 1
    return shape[dim[0]] if len(dim) == 1 else prod([shape[d] for d in dim])


@cache
def _sum_dim() -> Any:
    return aten.overload("sum.dim_IntList")


@cache
def _sum_all() -> Any:
    return aten.overload("sum")


@composite("mean")
def mean(self: Any, dtype: dt.dtype | None) -> Any:
    if dtype is None and self.dtype.category >= 2 and self.dtype.wide is None:
        return aten.div_(_sum_all()(self), self._array.size)
    return _mean(self, None, False, dtype)


@composite("mean.dim")
def mean_dim(self: Any, dim: Any, keepdim: bool, dtype: dt.dtype | None) -> Any:
    return _mean(self, dim, keepdim, dtype)


@composite("nanmean")
def nanmean(self: Any, dim: Any, keepdim: bool, dtype: dt.dtype | None) -> Any:
    if self.dtype.category < 2:
        raise RuntimeError(
            f"nanmean(): expected input to have floating point or complex dtype but got {type_word(self.dtype)}"
        )
    plain = aten.detach(self)
    counted = aten.sum(aten.logical_not_(aten.ne(plain, plain)), dim, keepdim)
    return aten.div(aten.nansum(self, dim, keepdim, dtype=dtype), counted)


@composite("sum_to_size")
def sum_to_size(self: Any, size: Sequence[int]) -> Any:
    shape, have = tuple(size), tuple(self.shape)
    lead = len(have) - len(shape)
    if lead < 0 or any(n not in (1, m) for n, m in zip(shape, have[lead:])):
        raise RuntimeError(f"size {{{list(shape)}}} is not expandable to size {{{list(have)}}}.")
    if not shape:
        return aten.overload("sum")(self)
    dims = [*range(lead), *(lead + i for i, n in enumerate(shape) if n == 1 and have[lead + i] != 1)]
    out = aten.overload("sum.dim_IntList")(self, dims, True) if dims else self
    return aten.view(out, shape) if lead else out


# --- extremes
@composite("max.other")
def max_other(self: Any, other: Any) -> Any:
    return aten.maximum(self, other)


@composite("min.other")
def min_other(self: Any, other: Any) -> Any:
    return aten.minimum(self, other)


@composite("value_selecting_reduction_backward")
def value_selecting_reduction_backward(grad: Any, dim: int, indices: Any, sizes: Sequence[int], keepdim: bool) -> Any:
    if not keepdim and len(sizes):
        grad, indices = aten.unsqueeze(grad, dim), aten.unsqueeze(indices, dim)
    zeros = aten.zeros(sizes, dtype=grad.dtype, device=grad.device)
    return aten.scatter_(zeros, dim, indices, grad)


@composite("cummaxmin_backward")
def cummaxmin_backward(grad: Any, input: Any, indices: Any, dim: int) -> Any:
    if input.numel() == 0:
        return input
    return aten.scatter_add_(aten.zeros(tuple(input.shape), dtype=grad.dtype, device=grad.device), dim, indices, grad)


@composite("trace_backward")
def trace_backward(grad: Any, sizes: Sequence[int]) -> Any:
    if len(sizes) != 2:
        raise RuntimeError("expected matrix input")
    flat = aten.zeros((sizes[0] * sizes[1],), dtype=grad.dtype, device=grad.device)
    diagonal = aten.arange(0, flat.numel(), sizes[1] + 1, dtype=dt.int64, device=grad.device)
    if sizes[0] > sizes[1]:  # below a tall matrix' square part there is no diagonal
        diagonal = aten.narrow(diagonal, 0, 0, sizes[1])
    return aten.view(aten.index_fill_(flat, 0, diagonal, grad), sizes)


# --- norms and spread
@composite("norm.Scalar")
def norm(self: Any, p: Any) -> Any:
    return _norm(self, p, None, False, None)


@composite("norm.ScalarOpt_dim")
def norm_dim(self: Any, p: Any, dim: Any, keepdim: bool) -> Any:
    return _norm(self, p, dim, keepdim, None)


@composite("norm.ScalarOpt_dtype")
def norm_dtype(self: Any, p: Any, dtype: dt.dtype) -> Any:
    return _norm(self, p, None, False, dtype)


@composite("norm.ScalarOpt_dim_dtype")
def norm_dim_dtype(self: Any, p: Any, dim: Any, keepdim: bool, dtype: dt.dtype) -> Any:
    return _norm(self, p, dim, keepdim, dtype)


def _norm(self: Any, p: Any, dim: Any, keepdim: bool, dtype: dt.dtype | None) -> Any:
    if self.dtype.category < 2:
        raise RuntimeError(
            f"norm(): input dtype should be either floating point or complex. Got {type_word(self.dtype)} instead."
        )
    return aten.linalg_vector_norm(self, 2 if p is None else p, dim, keepdim, dtype=dtype)


@composite("dist")
def dist(self: Any, other: Any, p: Any) -> Any:
    return aten.overload("norm.Scalar")(aten.sub(self, other), p)


@composite("renorm")
def renorm(self: Any, p: Any, dim: int, maxnorm: Any) -> Any:
    if p <= 0:
        raise RuntimeError("renorm: non-positive norm degree")
    if maxnorm < 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm:g}")
    if self.dim() < 2:
        raise RuntimeError(f"renorm: input needs at least 2 dimensions, got {self.dim()} dimensions")
    kept = normalize_dim(dim, self.dim())
    size = aten.linalg_vector_norm(self, p, [d for d in range(self.dim()) if d != kept], True)
    shortened = aten.div(aten.full_like(size, maxnorm), aten.add(size, 1e-7))
    factor = aten.where(aten.gt(size, maxnorm), shortened, aten.ones_like(size))
    return aten.mul(self, factor).contiguous()


@composite("logsumexp")
def logsumexp(self: Any, dim: Any, keepdim: bool) -> Any:
    if self.dtype.category < 2:
        self = aten.to(self, dt.get_default_dtype())
    if self.numel() == 0:
        return aten.log(aten.sum(aten.exp(self), dim, keepdim))
    top = aten.amax(aten.real(self) if self.dtype.is_complex else self, dim, True)
    kept_top = top
    if not keepdim:
        for d in sorted(normalize_dims(dim, self.dim()), reverse=True):
            kept_top = aten.squeeze(kept_top, d)
    aten.masked_fill_(kept_top, aten.eq(aten.abs(kept_top), inf), 0)  # the subtraction below sees it too: one memory
    return aten.add_(aten.log_(aten.sum(aten.exp_(aten.sub(self, top)), dim, keepdim)), kept_top)


# --- scans
@composite("logcumsumexp")
def logcumsumexp(self: Any, dim: int) -> Any:
    return aten._logcumsumexp(self, dim)


def _reverse_cumsum(t: Any, dim: int) -> Any:
    return aten.flip(aten.cumsum(aten.flip(t, (dim,)), dim), (dim,))


@composite("cumprod_backward")
def cumprod_backward(grad: Any, input: Any, dim: int, output: Any) -> Any:
    """Before a line's first zero, d out[i] / d in[k] = out[i] / in[k]; at it, the products that leave it out; after
    it, 0.
    """
    if input.numel() <= 1 or input.dim() == 0:
        return grad
    if input.dtype.is_complex:
        input, output = aten.conj(input), aten.conj(output)
    weighted = aten.mul(output, grad)
    is_zero = aten.eq(input, 0)
    if input.is_meta or not aten.item(aten.any(is_zero)):
        return aten.div(_reverse_cumsum(weighted, dim), input)
    if grad_enabled() and (grad.requires_grad or input.requires_grad):
        return _cumprod_backward_by_products(grad, input, dim)
    seen = aten.cumsum(is_zero, dim)
    first = aten.logical_and(is_zero, aten.eq(seen, 1))
    without = aten.cumprod(aten.masked_fill(input, first, 1), dim)
    at_first = _reverse_cumsum(aten.mul(aten.masked_fill(grad, aten.eq(seen, 0), 0), without), dim)
    before = aten.div(_reverse_cumsum(weighted, dim), aten.masked_fill(input, is_zero, 1))
    return aten.where(first, at_first, aten.masked_fill(before, aten.gt(seen, 0), 0))


def _cumprod_backward_by_products(grad: Any, input: Any, dim: int) -> Any:
    """The same made of products alone, which can be differentiated where factors are zero: each factor's gradient is
    the sum of the products after it that leave it out.
    """
    size, found = input.shape[dim], []
    for k in range(size):
        before = aten.prod(aten.narrow(input, dim, 0, k), dim, True)
        rest = aten.narrow(grad, dim, k, 1)
        if k + 1 < size:
            later = aten.cumprod(aten.narrow(input, dim, k + 1, size - k - 1), dim)
            rest = aten.add(rest, aten.sum(aten.mul(aten.narrow(grad, dim, k + 1, size - k - 1), later), dim, True))
        found.append(aten.mul(before, rest))
    return aten.cat(found, dim)


@composite("diff")
def diff(self: Any, n: int, dim: int, prepend: Any, append: Any) -> Any:
    if self.dim() == 0:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    if n == 0:  # what would be joined to it is left out
        return aten.copy_(aten.zeros_like(self), self)
    parts = [t for t in (prepend, self, append) if t is not None]
    out = aten.cat(parts, dim) if len(parts) > 1 else self
    n = min(n, out.shape[dim])
    for _ in range(n):
        m = out.shape[dim] - 1
        after, before = aten.narrow(out, dim, 1, m), aten.narrow(out, dim, 0, m)
        out = aten.logical_xor(after, before) if out.dtype is dt.bool_ else aten.sub(after, before)
    return out


def _ends(t: Any, dim: int) -> tuple[Any, Any]:
    """All elements along `dim` but the first, and all but the last."""
    n = t.shape[dim]
    return aten.slice(t, dim, 1, n), aten.slice(t, dim, 0, n - 1)


def _spacing(y: Any, x: Any, dim: int) -> Any:
    if x.dim() == 1:
        if x.shape[0] != y.shape[dim]:
            raise RuntimeError("trapezoid: There must be one `x` value for each sample point")
        shape = [1] * y.dim()
        shape[dim] = x.shape[0]
        x = aten.view(x, shape)
    right, left = _ends(x, dim - y.dim() if dim >= 0 else dim)
    return aten.sub(right, left)


@composite("trapezoid.x")
def trapezoid_x(y: Any, x: Any, dim: int) -> Any:
    if y.shape[dim] == 0:
        return aten.sum(aten.zeros_like(y), dim)
    right, left = _ends(y, dim)
    return aten.div(aten.sum(aten.mul(_spacing(y, x, dim), aten.add(right, left)), dim), 2.0)


@composite("trapezoid.dx")
def trapezoid_dx(y: Any, dx: Any, dim: int) -> Any:
    n = y.shape[dim]
    if n == 0:
        return aten.sum(aten.zeros_like(y), dim)
    half = aten.mul(aten.add(aten.select(y, dim, 0), aten.select(y, dim, n - 1)), 0.5)
    return aten.mul(aten.sub(aten.sum(y, dim), half), dx)


@composite("cumulative_trapezoid.x")
def cumulative_trapezoid_x(y: Any, x: Any, dim: int) -> Any:
    right, left = _ends(y, dim)
    return aten.div(aten.cumsum(aten.mul(_spacing(y, x, dim), aten.add(right, left)), dim), 2.0)


@composite("cumulative_trapezoid.dx")
def cumulative_trapezoid_dx(y: Any, dx: Any, dim: int) -> Any:
    right, left = _ends(y, dim)
    return aten.cumsum(aten.mul(aten.add(right, left), dx / 2.0), dim)


# --- covariance
def _check_weights(kind: str, weights: Any, observations: int, floating: bool) -> None:
    if weights.dim() > 1:
        raise RuntimeError(
            f"cov(): expected {kind} to have one or fewer dimensions but got {kind} with {weights.dim()} dimensions"
        )
    if (weights.dtype.category == 2) is not floating:
        wanted = "floating point" if floating else "integral"
        raise RuntimeError(
            f"cov(): expected {kind} to have {wanted} dtype but got {kind} with {type_word(weights.dtype)} dtype"
        )
    if weights.numel() != observations:
        raise RuntimeError(
            f"cov(): expected {kind} to have the same numel as there are observations in the input but got "
            f"{weights.numel()} != {observations}"
        )
    if observations and not weights.is_meta and aten.item(aten.lt(aten.min(weights), 0)):
        raise RuntimeError(f"cov(): {kind} cannot be negative")


@composite("cov")
def cov(self: Any, correction: int, fweights: Any, aweights: Any) -> Any:
    if self.dim() > 2:
        raise RuntimeError(
            f"cov(): expected input to have two or fewer dimensions but got an input with {self.dim()} dimensions"
        )
    if self.dtype is dt.bool_:
        raise RuntimeError("cov(): bool dtype is not supported for input")
    table = aten.view(self, (1, -1)) if self.dim() < 2 else self
    n = table.shape[1]
    weights = None
    if fweights is not None:
        _check_weights("fweights", fweights, n, False)
        weights = fweights
    if aweights is not None:
        _check_weights("aweights", aweights, n, True)
        weights = aweights if weights is None else aten.mul(weights, aweights)
    total = aten.scalar_tensor(n, dtype=dt.int64, device=self.device) if weights is None else aten.sum(weights)
    mean = aten.div(aten.sum(table if weights is None else aten.mul(table, weights), 1), total)
    if weights is not None and aweights is not None and correction != 0:
        factor = aten.sub(total, aten.div(aten.mul(aten.sum(aten.mul(weights, aweights)), correction), total))
    else:
        factor = (
            aten.sub(total, correction)
            if weights is not None
            else aten.scalar_tensor(n - correction, dtype=dt.int64, device=self.device)
        )
    if not self.is_meta and aten.item(aten.le(factor, 0)):
        warnings.warn(
            "cov(): degrees of freedom is <= 0. Correction should be strictly less than the number of observations.",
            stacklevel=3,
        )
        factor = aten.zeros_like(factor)
    away = aten.sub(table, aten.unsqueeze(mean, 1))
    other = aten.t(away if weights is None else aten.mul(away, weights))
    product = aten.mm(away, aten.conj(other) if other.dtype.is_complex else other)
    return aten.squeeze(aten.true_divide(product, factor))


@composite("corrcoef")
def corrcoef(self: Any) -> Any:
    if self.dim() > 2:
        raise RuntimeError(
            f"corrcoef(): expected input to have two or fewer dimensions but got an input with {self.dim()} dimensions"
        )
    c = aten.cov(self)
    if c.dim() == 0:
        return aten.div(c, c)
    spread = aten.sqrt(aten.real(aten.diagonal(c)) if c.dtype.is_complex else aten.diagonal(c))
    c = aten.div(aten.div(c, aten.view(spread, (-1, 1))), aten.view(spread, (1, -1)))
    if c.dtype.is_complex:
        return aten.complex(aten.clip(aten.real(c), -1, 1), aten.clip(aten.imag(c), -1, 1))
    return aten.clip(c, -1, 1)

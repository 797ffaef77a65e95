"""Derivatives of the reductions. Those of norms stand beside."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, prod
from typing import Any

from ..._dispatch import aten
from ..._dtype import finfo
from ..._shape import normalize_dims
from ..rules import derivative
from . import norms  # noqa: F401  - the rows of norms, dist and renorm
from .common import conj, no_derivative, restore_dim, some


def as_type(t: Any, wanted: Any) -> Any:
    """The tensor in a type; where a reduction was asked for another type than its input's, gradients are computed in
    one.
    """
    return t if t.dtype is wanted else aten.to(t, wanted)


# --- sums and products
def _spread_out(g: Any, dim: Any, keepdim: bool, shape: Sequence[int]) -> Any:
    """The gradient of a sum over `dim`: every summand gets all of it."""
    if (dim is None or len(dim) == 0) and not keepdim:
        return aten.expand(g, shape)
    return aten.expand(restore_dim(g, dim, keepdim, len(shape)), shape)


def _count(dim: Any, shape: Sequence[int]) -> int:
    return prod(shape[d] for d in normalize_dims(dim, len(shape)))


derivative("sum", self=lambda g, self_shape: aten.expand(g, self_shape))
derivative(
    "sum.dim_IntList",
    node="SumBackward1",
    self=lambda g, dim, keepdim, self_shape: _spread_out(g, dim, keepdim, self_shape),
)
derivative(
    "nansum",
    self=lambda g, self, dim, keepdim: aten.mul(
        _spread_out(g, dim, keepdim, tuple(self.shape)), aten.logical_not(aten.isnan(self))
    ),
)
derivative("mean", self=lambda g, self_shape: aten.div(aten.expand(g, self_shape), prod(self_shape)))
derivative(
    "mean.dim",
    node="MeanBackward1",
    self=lambda g, dim, keepdim, self_shape: aten.div(
        _spread_out(g, dim, keepdim, self_shape), _count(dim, self_shape)
    ),
)


def _prod_without_each(t: Any, dim: int) -> Any:
    """For each element, the product of the others along `dim`, without division."""
    n = t.shape[dim]
    one = aten.ones_like(aten.narrow(t, dim, 0, 1))
    before = aten.cumprod(aten.cat([one, aten.narrow(t, dim, 0, n - 1)], dim), dim)
    reverse = aten.flip(aten.narrow(t, dim, 1, n - 1), (dim,))
    after = aten.flip(aten.cumprod(aten.cat([one, reverse], dim), dim), (dim,))
    return conj(aten.mul(before, after))


def _prod_grad(g: Any, self: Any, result: Any) -> Any:
    if self.dim() == 0:
        return g
    if self.numel() and some(aten.eq(self, 0)):
        return aten.mul(g, aten.reshape(_prod_without_each(aten.reshape(self, (-1,)), 0), tuple(self.shape)))
    return aten.mul(g, conj(aten.div(result, self)))


def _prod_dim_grad(g: Any, self: Any, dim: int, keepdim: bool, result: Any) -> Any:
    if self.dim() == 0:
        return g
    g, result = restore_dim(g, dim, keepdim, self.dim()), restore_dim(result, dim, keepdim, self.dim())
    if self.numel() and some(aten.eq(self, 0)):
        return aten.mul(g, _prod_without_each(self, dim))
    return aten.mul(g, conj(aten.div(result, self)))


derivative("prod", self=lambda g, self, result: _prod_grad(g, as_type(self, g.dtype), result))
derivative(
    "prod.dim_int",
    node="ProdBackward1",
    self=lambda g, self, dim, keepdim, result: _prod_dim_grad(g, as_type(self, g.dtype), dim, keepdim, result),
)
derivative("trace", self=lambda g, self_shape: aten.trace_backward(g, self_shape))


# --- extremes and order statistics
def _evenly(g: Any, self: Any, result: Any) -> Any:
    """Shares the gradient among all elements that equal the selected value."""
    mask = aten.isnan(self) if self.dtype.is_floating_point and some(aten.isnan(result)) else aten.eq(self, result)
    return aten.masked_fill_(aten.new_zeros(g, tuple(self.shape)), mask, aten.div(g, aten.sum(mask)))


def _share_along_dim(g: Any, self: Any, result: Any, dim: Any, keepdim: bool) -> Any:
    """The same along `dim`."""
    shape = tuple(1 if i in normalize_dims(dim, self.dim()) else n for i, n in enumerate(self.shape))
    g, result = aten.reshape(g, shape), aten.reshape(result, shape)
    mask = aten.eq(self, result)
    return aten.mul(aten.div(g, aten.sum(mask, dim, True)), mask)


def _scatter_to_selected(g: Any, dim: int, keepdim: bool, result1: Any, self_shape: Any) -> Any:
    """The gradient goes to the elements whose positions the op returned."""
    return aten.value_selecting_reduction_backward(g[0], dim, result1, self_shape, keepdim)


for _name in ("Max", "Min"):
    derivative(_name.lower(), node=f"{_name}Backward1", self=_evenly)
    derivative(f"{_name.lower()}.dim", node=f"{_name}Backward0", self=_scatter_to_selected)
    derivative(
        f"a{_name.lower()}", self=lambda g, self, result, dim, keepdim: _share_along_dim(g, self, result, dim, keepdim)
    )
    derivative(
        f"cum{_name.lower()}", self=lambda g, self, dim, result1: aten.cummaxmin_backward(g[0], self, result1, dim)
    )
for _name in ("Median", "Nanmedian"):
    derivative(_name.lower(), node=f"{_name}Backward0", self=_evenly)
    derivative(f"{_name.lower()}.dim", node=f"{_name}Backward1", self=_scatter_to_selected)
derivative("mode", self=_scatter_to_selected)


def _aminmax_grad(g: Any, self: Any, dim: int | None, keepdim: bool, result0: Any, result1: Any) -> Any:
    parts = [
        _share_along_dim(one, self, result, dim, keepdim)
        for one, result in zip(g, (result0, result1))
        if one is not None
    ]
    return parts[0] if len(parts) == 1 else aten.add(*parts)


derivative("aminmax", self=_aminmax_grad)


# --- spread
def _var_grad(g: Any, self: Any, dim: Any, correction: float | None, keepdim: bool) -> Any:
    n = _count(dim, tuple(self.shape))
    freedom = n - (1 if correction is None else correction)
    factor = 2.0 / freedom if freedom else inf
    every = dim is None or len(dim) == 0
    g = g if every and not keepdim else restore_dim(g, dim, keepdim, self.dim())
    mean = aten.mean(self) if every else aten.mean(self, dim, True)
    return aten.mul(aten.mul(g, factor), aten.sub(self, mean))


def _std_grad(g: Any, result: Any, self: Any, dim: Any, correction: float | None, keepdim: bool) -> Any:
    of_var = aten.masked_fill_(aten.div(g, aten.mul(result, 2)), aten.eq(result, 0), 0)
    return _var_grad(of_var, self, dim, correction, keepdim)


def _with_mean(g: Any, of_spread: Any, self: Any, dim: Any, keepdim: bool) -> Any:
    """The gradient of a pair (spread, mean), either of which may be unused."""
    parts = [] if g[0] is None else [of_spread(g[0])]
    if g[1] is not None:
        shape = tuple(self.shape)
        parts.append(aten.div(_spread_out(g[1], dim, keepdim, shape), _count(dim, shape)))
    return parts[0] if len(parts) == 1 else aten.add(*parts)


derivative("var", self=lambda g, self, unbiased: _var_grad(g, self, None, int(unbiased), False))
derivative("var.dim", self=lambda g, self, dim, unbiased, keepdim: _var_grad(g, self, dim, int(unbiased), keepdim))
derivative(
    "var.correction", self=lambda g, self, dim, correction, keepdim: _var_grad(g, self, dim, correction, keepdim)
)
derivative("std", self=lambda g, self, result, unbiased: _std_grad(g, result, self, None, int(unbiased), False))
derivative(
    "std.dim",
    self=lambda g, self, result, dim, unbiased, keepdim: _std_grad(g, result, self, dim, int(unbiased), keepdim),
)
derivative(
    "std.correction",
    self=lambda g, self, result, dim, correction, keepdim: _std_grad(g, result, self, dim, correction, keepdim),
)


def _var_mean_grad(g: Any, self: Any, dim: Any, correction: float | None, keepdim: bool) -> Any:
    return _with_mean(g, lambda one: _var_grad(one, self, dim, correction, keepdim), self, dim, keepdim)


def _std_mean_grad(g: Any, result0: Any, self: Any, dim: Any, correction: float | None, keepdim: bool) -> Any:
    return _with_mean(g, lambda one: _std_grad(one, result0, self, dim, correction, keepdim), self, dim, keepdim)


derivative("var_mean", self=lambda g, self, unbiased: _var_mean_grad(g, self, None, int(unbiased), False))
derivative(
    "var_mean.dim", self=lambda g, self, dim, unbiased, keepdim: _var_mean_grad(g, self, dim, int(unbiased), keepdim)
)
derivative(
    "var_mean.correction",
    self=lambda g, self, dim, correction, keepdim: _var_mean_grad(g, self, dim, correction, keepdim),
)
derivative(
    "std_mean", self=lambda g, self, result0, unbiased: _std_mean_grad(g, result0, self, None, int(unbiased), False)
)
derivative(
    "std_mean.dim",
    self=lambda g, self, result0, dim, unbiased, keepdim: _std_mean_grad(g, result0, self, dim, int(unbiased), keepdim),
)
derivative(
    "std_mean.correction",
    self=lambda g, self, result0, dim, correction, keepdim: _std_mean_grad(g, result0, self, dim, correction, keepdim),
)


def _logsumexp_grad(g: Any, self: Any, dim: Any, keepdim: bool, result: Any) -> Any:
    g, result = restore_dim(g, dim, keepdim, self.dim()), restore_dim(result, dim, keepdim, self.dim())
    return aten.mul(g, conj(aten.exp(aten.sub(self, result))))


derivative("logsumexp", self=_logsumexp_grad)


# --- scans
def _reverse(scan: Any, t: Any, dim: int) -> Any:
    """A scan from the end of each line to its beginning."""
    if t.dim() == 0:
        return t
    return aten.flip(scan(aten.flip(t, (dim,)), dim), (dim,))


def _logcumsumexp_grad(g: Any, self: Any, dim: int, result: Any) -> Any:
    """Sums g[i] exp(self[k] - result[i]) over i >= k in logarithms, positive and negative gradients apart (complex
    numbers have logarithms of all).
    """
    if self.dim() == 0 or self.numel() == 0:
        return g
    if self.dtype.is_complex:
        logs = aten.sub(aten.log(conj(g)), result)
        return conj(aten.exp(aten.add(_reverse(aten.logcumsumexp, logs, dim), self)))
    size = aten.log(aten.abs(g))
    none = aten.full_like(size, finfo(size.dtype).min)  # finite: infinities would spoil the second derivative

    def part(mask: Any) -> Any:
        logs = aten.sub(aten.where(mask, size, none), result)
        return aten.exp(aten.add(_reverse(aten.logcumsumexp, logs, dim), self))

    return aten.sub(part(aten.gt(g, 0)), part(aten.lt(g, 0)))


derivative("cumsum", self=lambda g, dim, self_dtype: _reverse(aten.cumsum, as_type(g, self_dtype), dim))
derivative(
    "cumprod", self=lambda g, self, dim, result: aten.cumprod_backward(as_type(g, self.dtype), self, dim, result)
)
derivative("logcumsumexp", self=_logcumsumexp_grad)


# --- no derivative
for _name, _node in (("_unique2", "Unique2"), ("unique_dim", "UniqueDim"), ("unique_consecutive", "UniqueConsecutive")):
    no_derivative(_name, "self", node=f"{_node}Backward0")
no_derivative("bincount", "weights")

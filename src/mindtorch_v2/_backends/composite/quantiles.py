"""quantile and nanquantile, which sort and interpolate."""

from __future__ import annotations

from typing import Any

from ... import _dtype as dt
from ..._dispatch import aten
from ..._dispatch.registry import composite
from ..._shape import normalize_dim

_WAYS = ("linear", "lower", "higher", "midpoint", "nearest")


def _check(self: Any, q: Any, interpolation: str) -> None:
    if self.numel() == 0:
        raise RuntimeError("quantile() input tensor must be non-empty")
    if q.dim() > 1:
        raise RuntimeError("quantile() q must be a scalar or 1D tensor")
    if self.dtype not in (dt.float32, dt.float64):
        raise RuntimeError("quantile() input tensor must be either float or double dtype")
    if self.dtype is not q.dtype:
        raise RuntimeError("quantile() q tensor must be same dtype as the input tensor")
    if interpolation not in _WAYS:
        raise RuntimeError(
            f"quantile() interpolation must be one of linear, lower, higher, midpoint or nearest, but got "
            f"{interpolation}"
        )
    if self.is_meta:
        return
    inside = aten.logical_and_(aten.ge(q, 0), aten.le(q, 1))
    if not aten.item(aten.all(inside)):
        raise RuntimeError("quantile() q values must be in the range [0, 1]")


def _lines(self: Any, dim: int | None) -> Any:
    """The values of each quantile in order, in the last dimension."""
    if dim is None or not self.dim():
        return aten.sort(aten.flatten(self))[0]
    if normalize_dim(dim, self.dim()) == max(self.dim() - 1, 0):
        return aten.sort(self)[0]
    return aten.sort(aten.transpose(aten.unsqueeze(self, -1), dim, -1))[0]


def _ranks(ordered: Any, q: Any, ignore_nan: bool) -> Any:
    """Positions, with fractions, of the quantiles in the lines: shape (..., number of quantiles)."""
    n = ordered.shape[-1]
    if ignore_nan:
        last = aten.sub(aten.sum(aten.logical_not_(aten.isnan(ordered)), -1, True), 1)
        ranks = aten.mul(q, last)
        return aten.masked_fill_(ranks, aten.lt(ranks, 0), 0)
    ranks = aten.mul(q, n - 1)
    spoilt = aten.any(aten.isnan(ordered), -1, True)
    shape = (*spoilt.shape[:-1], ranks.shape[-1])
    return aten.masked_fill(aten.expand(ranks, shape), aten.expand(spoilt, shape), n - 1)  # a NaN is last, and wins


def _interpolate(ordered: Any, ranks: Any, interpolation: str) -> Any:
    if interpolation in ("lower", "higher", "nearest"):
        rounding = {"lower": aten.floor, "higher": aten.ceil, "nearest": aten.round}[interpolation]
        ranks = rounding(ranks)
    low = aten.to(ranks, dt.int64)
    values = aten.gather(ordered, -1, low)
    if interpolation in ("linear", "midpoint"):
        weights = aten.full_like(ranks, 0.5) if interpolation == "midpoint" else aten.sub(ranks, low)
        above = aten.gather(ordered, -1, aten.to(aten.ceil(ranks), dt.int64))
        values = aten.lerp_(values, above, weights)
    return values


def _quantile(ignore_nan: bool, self: Any, q: Any, dim: int | None, keepdim: bool, interpolation: str) -> Any:
    _check(self, q, interpolation)
    axis = None if dim is None else normalize_dim(dim, self.dim())
    ordered = _lines(self, axis)
    kept = [1] * self.dim() if axis is None else [1 if d == axis else n for d, n in enumerate(self.shape)]
    lines = aten.view(ordered, (*(kept if keepdim else _without_axis(kept, axis)), ordered.shape[-1]))
    values = _interpolate(lines, _ranks(lines, aten.reshape(q, (-1,)), ignore_nan), interpolation)
    if q.dim():
        values = aten.transpose_(aten.unsqueeze_(values, 0), 0, -1)
    return aten.squeeze_(values, -1)


def _without_axis(sizes: list[int], axis: int | None) -> list[int]:
    return [] if axis is None else sizes[:axis] + sizes[axis + 1 :]


def _register(name: str, ignore_nan: bool) -> None:
    def with_number(self: Any, q: float, dim: int | None, keepdim: bool, interpolation: str) -> Any:
        if not 0 <= q <= 1:
            raise RuntimeError(f"quantile() q must be in the range [0, 1] but got {q:g}")
        made = aten.scalar_tensor(q, dtype=self.dtype, device=self.device)
        return _quantile(ignore_nan, self, made, dim, keepdim, interpolation)

    composite(name)(
        lambda self, q, dim, keepdim, interpolation: _quantile(ignore_nan, self, q, dim, keepdim, interpolation)
    )
    composite(f"{name}.scalar")(with_number)


_register("quantile", False)
_register("nanquantile", True)

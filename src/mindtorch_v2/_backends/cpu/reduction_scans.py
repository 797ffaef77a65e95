"""CPU kernels of the scans: running sums, products and extremes."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ... import _dtype as dt
from ..._dispatch.registry import kernel
from ..._shape import normalize_dim
from .errors import refuse_types
from .sums import contiguous, sum_over
from .unsupported import not_implemented

# Running sums of floating types are kept one size wider, as PyTorch does.
_WIDER: dict[Any, Any] = {
    np.dtype(np.float16): np.dtype(np.float32),
    np.dtype(np.float32): np.dtype(np.float64),
    np.dtype(np.complex64): np.dtype(np.complex128),
}


_MUCH = 1 << 13
_BLOCK = 32
_UPPER = {t: np.triu(np.ones((_BLOCK, _BLOCK), t)) for t in "fd"}


def _cumsum_in_blocks(a: np.ndarray, axis: int) -> np.ndarray | None:
    """Running sums inside blocks by a product with a triangle of ones, then the sums of the blocks before are added.

    None if something is not finite: a product would spread it to positions that come before.
    """
    if not np.isfinite(sum_over(a, None)):
        return None
    n = a.shape[axis]
    blocks, upper = -(-n // _BLOCK), _UPPER[a.dtype.char]
    outer, inner = prod(a.shape[:axis]), prod(a.shape[axis + 1 :])
    cut: Any = a.reshape(outer, n, inner)
    if n % _BLOCK:
        whole = np.zeros((outer, blocks * _BLOCK, inner), a.dtype)
        whole[:, :n] = cut
        cut = whole
    ones = _UPPER["d"][0]
    if inner == 1:
        cut = cut.reshape(outer * blocks, _BLOCK)
        sums = (cut @ upper).reshape(outer, blocks, _BLOCK)
        totals = (cut.astype(np.float64) @ ones).reshape(outer, blocks)
    else:
        cut = cut.reshape(outer, blocks, _BLOCK, inner)
        sums = np.matmul(upper.T, cut)
        totals = np.matmul(ones, cut.astype(np.float64))
    before = np.add.accumulate(totals[:, :-1], axis=1).astype(a.dtype)
    sums[:, 1:] += before[:, :, None]
    return np.ascontiguousarray(sums.reshape(outer, blocks * _BLOCK, inner)[:, :n]).reshape(a.shape)


def _scan(ufunc: np.ufunc, self: np.ndarray, dim: int, dtype: dt.dtype | None) -> Any:
    axis = normalize_dim(dim, self.ndim)
    if dtype is not None:
        wanted = dtype.np
        self = self.astype(wanted, copy=False)
    else:
        wanted = self.dtype if self.dtype.kind in "fc" else np.dtype(np.int64)
    if self.ndim == 0:
        return self.astype(wanted)
    if (
        ufunc is np.add
        and self.size >= _MUCH
        and self.shape[axis] >= 2 * _BLOCK
        and self.dtype == wanted
        and wanted.char in "fd"
    ):
        fast = _cumsum_in_blocks(self, axis)
        if fast is not None:
            return fast
    out = ufunc.accumulate(self, axis=axis, dtype=_WIDER.get(wanted, wanted))
    return contiguous(out if out.dtype == wanted else out.astype(wanted))


kernel("cumsum")(lambda self, dim, dtype: _scan(np.add, self, dim, dtype))
kernel("cumprod")(lambda self, dim, dtype: _scan(np.multiply, self, dim, dtype))


def _running_extreme(ufunc: np.ufunc, name: str, self: np.ndarray, dim: int) -> tuple[Any, Any]:
    """Values so far, and the last position where the value stands that was the extreme there; NaN beats everything."""
    axis = normalize_dim(dim, self.ndim)
    refuse_types(name, self, "c")
    if self.ndim == 0:
        return self.copy(), np.int64(0)
    values = ufunc.accumulate(self, axis=axis)
    sets = self == values
    if self.dtype.kind == "f":
        sets |= np.isnan(self)
    positions = np.arange(self.shape[axis]).reshape((-1,) + (1,) * (self.ndim - 1 - axis))
    where = np.maximum.accumulate(np.where(sets, positions, 0), axis=axis)
    return contiguous(values), contiguous(where)


kernel("cummax")(lambda self, dim: _running_extreme(np.maximum, "cummax_cpu", self, dim))
kernel("cummin")(lambda self, dim: _running_extreme(np.minimum, "cummin_cpu", self, dim))


def _log_of_sum(total: np.ndarray, x: np.ndarray) -> np.ndarray:
    """log(exp(total) + exp(x)) of complex numbers. The angle is counted on from the larger one's, of equal ones from
    that of `x`, so that it is not brought into one turn.
    """
    first = x.real < total.real
    low, high = np.where(first, x, total), np.where(first, total, x)
    z = np.exp(low - high)
    real = 0.5 * np.log1p(z.real * (2.0 + z.real) + z.imag * z.imag)
    out = high + (real + 1j * np.arctan2(z.imag, 1.0 + z.real))
    ends = ~np.isfinite(low.real) & (low.real == high.real)
    if ends.any():
        out = np.where(ends, np.where(low.real < 0, low, np.log(np.exp(low) + np.exp(high))), out)
    return np.where(np.isnan(x) | np.isnan(total), complex(np.nan, np.nan), out)


def _complex_logcumsumexp(self: np.ndarray, axis: int) -> np.ndarray:
    lines = np.moveaxis(self, axis, 0).astype(np.complex128, copy=False)
    out = np.empty(lines.shape, np.complex128)
    total = np.full(lines.shape[1:], complex(-np.inf, 0.0))
    with np.errstate(all="ignore"):
        for i, x in enumerate(lines):
            total = out[i] = _log_of_sum(total, x)
    return contiguous(np.moveaxis(out, 0, axis).astype(self.dtype, copy=False))


@kernel("_logcumsumexp")
def logcumsumexp(self: np.ndarray, dim: int) -> Any:
    axis = normalize_dim(dim, self.ndim)
    if self.dtype.kind not in "fc":
        raise not_implemented("logcumsumexp_out_cpu", self)
    if self.ndim == 0:
        return self.copy()
    if self.dtype.kind == "c":
        return _complex_logcumsumexp(self, axis)
    wide = _WIDER.get(self.dtype, self.dtype)
    return contiguous(np.logaddexp.accumulate(self.astype(wide, copy=False), axis=axis).astype(self.dtype, copy=False))

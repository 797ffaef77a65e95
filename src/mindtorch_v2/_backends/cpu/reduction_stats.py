"""CPU kernels of spread, norms, order statistics and histograms."""

from __future__ import annotations

from math import inf, prod
from typing import Any

import numpy as np

from ... import _dtype as dt
from ..._dispatch.registry import kernel
from ..._shape import normalize_dim, normalize_dims
from .errors import refuse_types
from .lines import last_axis, nth
from .sums import Axes, add_reduce, contiguous, sum_over
from .unsupported import not_implemented, type_word

_FEW = 4096
_LONG_DOT = 4096  # a longer inner product is cut into pieces, so that its error stays small


# --- variance
def _spread(self: np.ndarray, dim: Any, correction: float, keepdim: bool) -> tuple[Any, Any, int]:
    """The variance over `dim` and the mean with its dimensions kept, in float32 or wider, and the count of
    elements.
    """
    if self.dtype.kind not in "fc":
        raise RuntimeError("std and var only support floating point and complex dtypes")
    every: Axes = None
    n = self.size
    if dim:
        every = normalize_dims(dim, self.ndim)
        n = prod([self.shape[d] for d in every])
    if self.itemsize == 2:
        self = self.astype(np.float32)
    if self.size <= _FEW and self.dtype.char == "f":
        return _spread_of_few(self.astype(np.float64), every, n, correction, keepdim)
    mean = np.asarray(sum_over(self, every, True) / n)
    away = self - mean
    # The mean is rounded; what its error adds to the squares is taken off again.
    rest = np.asarray(sum_over(away, every, True))
    if away.dtype.kind == "c":
        squares = sum_over(away.real**2 + away.imag**2, every, keepdim)
        slack = (rest.real**2 + rest.imag**2) / n
    else:
        squares = _sum_of_squares(away, every, keepdim)
        slack = np.square(rest) / n
    left = np.maximum(squares - slack.reshape(np.shape(squares)), 0) if n > 1 else squares
    return left / max(n - correction, 0), mean, n


def _spread_of_few(self: np.ndarray, axes: Axes, n: int, correction: float, keepdim: bool) -> tuple[Any, Any, int]:
    """The same for few numbers in double precision, where nothing is lost."""
    mean = np.asarray(add_reduce(self, axes, None, None, True) / n)
    away = np.square(self - mean)
    return add_reduce(away, axes, None, None, keepdim) / max(n - correction, 0), mean, n


def _finish(root: bool, wanted: np.dtype[Any], variance: Any) -> Any:
    out = np.sqrt(variance) if root else variance
    return out.astype(wanted) if out.dtype != wanted else out


def _register_spread(name: str, root: bool) -> None:
    def one(self: np.ndarray, dim: Any, correction: float, keepdim: bool) -> Any:
        variance, _, _ = _spread(self, dim, correction, keepdim)
        return contiguous(_finish(root, self.real.dtype, variance))

    def both(self: np.ndarray, dim: Any, correction: float, keepdim: bool) -> tuple[Any, Any]:
        variance, mean, _ = _spread(self, dim, correction, keepdim)
        mean = np.array(mean.reshape(np.shape(variance)), self.dtype, order="C")
        return contiguous(_finish(root, self.real.dtype, variance)), mean

    for op, function in ((name, one), (f"{name}_mean", both)):
        kernel(op)(lambda self, unbiased, f=function: f(self, None, int(unbiased), False))
        kernel(f"{op}.dim")(lambda self, dim, unbiased, keepdim, f=function: f(self, dim, int(unbiased), keepdim))
        kernel(f"{op}.correction")(
            lambda self, dim, correction, keepdim, f=function: f(
                self, dim, 1 if correction is None else correction, keepdim
            )
        )


_register_spread("var", False)
_register_spread("std", True)


# --- norms
def _check_norm(self: np.ndarray, ord: float, dim: Any, dtype: dt.dtype | None) -> None:
    name = "linalg.vector_norm"
    if self.dtype.kind not in "fc":
        raise RuntimeError(f"{name}: Expected a floating point or complex tensor as input. Got {type_word(self)}")
    if self.size == 0 and (ord < 0 or ord == inf):
        word = f"{ord:g}"
        for d in normalize_dims(dim, self.ndim) if dim else ():
            if self.shape[d] == 0:
                raise RuntimeError(
                    f"{name} cannot compute the {word} norm on the dimension {d}because this dimension is empty "
                    "and the operation does not have an identity"
                )
        if not dim:
            raise RuntimeError(
                f"{name} cannot compute the {word} norm on an empty tensor because the operation does not have "
                "an identity"
            )
    if dtype is None:
        return
    words = type_word(self), type_word(np.empty(0, dtype.np))
    if dtype.category < 2:
        raise RuntimeError(f"{name}: dtype should be floating point or complex, but got {words[1]}")
    if dtype.is_complex != (self.dtype.kind == "c"):
        kind = "complex" if self.dtype.kind == "c" else "real"
        raise RuntimeError(f"{name}: dtype should be {kind} for {kind} inputs, but got {words[1]}")
    if dtype.itemsize < self.itemsize:
        raise RuntimeError(
            f"{name}: the dtype of the input ({words[0]}) should be convertible without narrowing to the specified "
            f"dtype ({words[1]})"
        )


def _sum_of_squares(a: np.ndarray, axes: Axes, keepdim: bool) -> Any:
    if axes is None and a.size:
        flat = a.ravel("K")
        whole = flat.size // _LONG_DOT * _LONG_DOT
        total = np.dot(flat[whole:], flat[whole:])
        if whole:
            rows = flat[:whole].reshape(-1, _LONG_DOT)
            total = total + sum_over(np.vecdot(rows, rows), None)
        return np.asarray(total).reshape((1,) * a.ndim) if keepdim else total
    if a.ndim and axes in (-1, a.ndim - 1, (a.ndim - 1,)) and a.flags.c_contiguous and 0 < a.shape[-1] <= _LONG_DOT:
        total = np.vecdot(a, a)
        return total[..., None] if keepdim else total
    return sum_over(np.square(a), axes, keepdim)


@kernel("linalg_vector_norm")
def vector_norm(self: np.ndarray, ord: float, dim: Any, keepdim: bool, dtype: dt.dtype | None) -> Any:
    if isinstance(ord, complex):
        raise RuntimeError("linalg.vector_norm: Expected a non-complex scalar as the order of norm.")
    _check_norm(self, ord, dim, dtype)
    if dtype is not None:
        self = self.astype(dtype.np, copy=False)
    axes: Axes = normalize_dims(dim, self.ndim) if dim else None
    wanted = self.real.dtype
    if self.itemsize == 2:
        self = self.astype(np.float32)
    size = np.abs(self) if self.dtype.kind == "c" or ord != 2 else self
    if ord == 2:
        out = np.sqrt(_sum_of_squares(size, axes, keepdim))
    elif ord in (inf, -inf):
        extreme: Any = np.maximum if ord > 0 else np.minimum
        out = contiguous(extreme.reduce(size, axes, None, None, keepdim))
    elif ord == 0:
        out = sum_over((size != 0).astype(size.dtype), axes, keepdim)
    elif ord == 1:
        out = sum_over(size, axes, keepdim)
    else:
        out = sum_over(size ** size.dtype.type(ord), axes, keepdim) ** size.dtype.type(1 / ord)
    return out.astype(wanted) if out.dtype != wanted else out


# --- medians and modes
def _check_reduced(name: str, self: np.ndarray, dim: int) -> int:
    """The dimension to reduce; IndexError if it has no elements."""
    axis = normalize_dim(dim, self.ndim)
    if self.ndim and self.shape[axis] == 0:
        raise IndexError(f"{name}(): Expected reduction dim {axis} to have non-zero size.")
    return axis


def _pick(lines: np.ndarray, order: np.ndarray, rank: Any) -> tuple[np.ndarray, np.ndarray]:
    """Of lines (..., n) with sorting positions `order`: the elements at `rank` in order, and where they stand."""
    where = (
        np.take_along_axis(order, np.asarray(rank).reshape(*np.shape(rank), 1), -1)[..., 0]
        if np.ndim(rank)
        else order[..., rank]
    )
    return np.take_along_axis(lines, where[..., None], -1)[..., 0], where


def _nan_count(a: np.ndarray) -> Any:
    return np.count_nonzero(np.isnan(a), axis=-1) if a.dtype.kind == "f" else 0


def _median(self: np.ndarray, ignore_nan: bool) -> Any:
    refuse_types("median_cpu", self, "bc")
    flat = self.ravel()
    nans = int(_nan_count(flat))
    n = flat.size - (nans if ignore_nan else 0)
    if flat.size == 0 or n == 0 or (nans and not ignore_nan):
        return self.dtype.type(np.nan) if self.dtype.kind == "f" else self.dtype.type(np.iinfo(self.dtype).min)
    k = (n - 1) // 2
    return np.partition(flat, k)[k]


def _median_dim(self: np.ndarray, dim: int, keepdim: bool, ignore_nan: bool) -> tuple[Any, Any]:
    axis = _check_reduced("median", self, dim)
    refuse_types("median_out", self, "bc")
    if self.ndim == 0:
        return self.copy(), np.int64(0)
    lines = last_axis(self, axis)
    n = lines.shape[-1]
    nans = _nan_count(lines)
    if not np.any(nans):
        values, where = nth(lines, (n - 1) // 2)
        return _with_kept_axis(values, axis, keepdim), _with_kept_axis(where, axis, keepdim)
    order = np.argsort(lines, axis=-1, kind="stable")
    if ignore_nan:
        rank = np.maximum(n - nans - 1, 0) // 2
    else:  # with NaNs, the first of them is the median
        rank = np.where(nans > 0, n - nans, (n - 1) // 2)
    values, where = _pick(lines, order, np.broadcast_to(rank, lines.shape[:-1]))
    return _with_kept_axis(values, axis, keepdim), _with_kept_axis(where, axis, keepdim)


def _with_kept_axis(a: np.ndarray, axis: int, keepdim: bool) -> np.ndarray:
    return contiguous(np.expand_dims(a, axis) if keepdim else a)


for _name, _ignore in (("median", False), ("nanmedian", True)):
    kernel(_name)(lambda self, ignore=_ignore: _median(self, ignore))
    kernel(f"{_name}.dim")(lambda self, dim, keepdim, ignore=_ignore: _median_dim(self, dim, keepdim, ignore))


@kernel("mode")
def mode(self: np.ndarray, dim: int, keepdim: bool) -> tuple[Any, Any]:
    """The smallest of the most frequent values, and the last position where it stands."""
    axis = _check_reduced("mode", self, dim)
    refuse_types("mode", self, "c")
    if self.ndim == 0:
        return self.copy(), np.int64(0)
    lines = last_axis(self, axis)
    n = lines.shape[-1]
    order = np.argsort(lines, axis=-1, kind="stable")
    ranked = np.take_along_axis(lines, order, -1)
    starts = np.ones(ranked.shape, bool)
    starts[..., 1:] = ranked[..., 1:] != ranked[..., :-1]
    positions = np.arange(n)
    # length so far of the run of equal values
    run = positions - np.maximum.accumulate(np.where(starts, positions, 0), axis=-1)
    values, where = _pick(lines, order, run.argmax(axis=-1))
    return _with_kept_axis(values, axis, keepdim), _with_kept_axis(where, axis, keepdim)


# --- histograms
@kernel("bincount")
def bincount(self: np.ndarray, weights: np.ndarray | None, minlength: int) -> Any:
    if self.dtype.kind in "fcb":
        raise not_implemented("bincount_cpu", self)
    if minlength < 0:
        raise RuntimeError("minlength should be >= 0")
    if self.ndim != 1 or (self.size and self.min() < 0):
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if weights is None:
        return np.bincount(self, minlength=minlength)
    if weights.shape != self.shape:
        raise RuntimeError("weights should be 1-d and have the same length as input")
    return np.bincount(self, weights, minlength).astype(
        np.float32 if weights.dtype == np.float32 else np.float64, copy=False
    )


@kernel("histc")
def histc(self: np.ndarray, bins: int, min: float, max: float) -> Any:
    if bins <= 0:
        raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {bins} for dimension 0")
    if self.dtype.kind != "f":
        raise not_implemented("histogram_cpu", self)
    values = self.ravel().astype(np.float32, copy=False) if self.itemsize == 2 else self.ravel()
    low, high = float(min), float(max)
    if low == high and values.size:
        low, high = float(values.min()), float(values.max())
    if not (np.isfinite(low) and np.isfinite(high)):
        raise RuntimeError(
            f"torch.histc: range of [{low:g}, {high:g}] is not finite".replace("[nan, nan]", "[-nan, -nan]")
        )
    if low > high:
        raise RuntimeError("torch.histc: max must be larger than min")
    if low == high:
        low, high = low - 1, high + 1
    inside = values[(values >= low) & (values <= high)]
    bin_index = np.minimum((inside - low) * inside.dtype.type(bins) / inside.dtype.type(high - low), bins - 1).astype(
        np.int64
    )
    return np.bincount(bin_index, minlength=bins).astype(self.dtype)

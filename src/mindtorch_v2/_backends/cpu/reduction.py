"""CPU kernels of the reductions: sums, products, extremes, truth.

Statistics, scans and distinct values stand beside.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ... import _dtype as dt
from ..._dispatch.registry import kernel
from ..._shape import normalize_dim, normalize_dims
from . import reduction_scans, reduction_stats, unique  # noqa: F401  - they register the family's other kernels
from .errors import refuse_types
from .sums import SMALL, Axes, add_reduce, contiguous, sum_over

_INT64 = np.dtype(np.int64)
_FLOAT16 = np.dtype(np.float16)
_multiply_reduce: Any = np.multiply.reduce
_UINT8 = np.dtype(np.uint8)
_LARGE = 4096  # elements


def axes_of(dim: Any, ndim: int) -> Axes:
    """What numpy takes as axis for a `dim` argument: one number, several, or None for all."""
    if dim is None:
        return None
    if dim.__class__ is int:
        dim = (dim,)
    if len(dim) == 1:
        d = dim[0]
        if -ndim <= d < ndim:
            return d
        normalize_dim(d, ndim)
        return None  # a scalar's only dimension
    return normalize_dims(dim, ndim) if dim else None


def axis_of(dim: int, ndim: int) -> int | None:
    """The same for exactly one dimension, never negative."""
    d = normalize_dim(dim, ndim)
    return d if ndim else None


# --- sums and products
def _sum(self: np.ndarray, axes: Axes, keepdim: bool, dtype: dt.dtype | None) -> Any:
    if dtype is not None and dtype.np != self.dtype:
        self = self.astype(dtype.np)
    kind = self.dtype.kind
    if kind == "f":
        if self.itemsize == 2:
            return sum_over(self.astype(np.float32), axes, keepdim).astype(_FLOAT16)
        return sum_over(self, axes, keepdim)
    if kind == "c":
        return contiguous(add_reduce(self, axes, None, None, keepdim))
    if kind == "b" and axes is None and not keepdim:
        count = np.count_nonzero(self)
        return np.int64(count) if dtype is None else np.bool_(count)
    return contiguous(add_reduce(self, axes, _INT64 if dtype is None else dtype.np, None, keepdim))


@kernel("sum")
def sum_all(self: np.ndarray, dtype: dt.dtype | None) -> Any:
    if dtype is None and self.size < SMALL and self.dtype.char in "fd":
        return add_reduce(self, None)
    return _sum(self, None, False, dtype)


@kernel("sum.dim_IntList")
def sum_dim(self: np.ndarray, dim: Any, keepdim: bool, dtype: dt.dtype | None) -> Any:
    return _sum(self, axes_of(dim, self.ndim), keepdim, dtype)


@kernel("nansum")
def nansum(self: np.ndarray, dim: Any, keepdim: bool, dtype: dt.dtype | None) -> Any:
    if self.dtype.kind == "c":
        raise RuntimeError("nansum on CPU does not support complex inputs")
    if self.dtype.kind == "f":
        if dtype is not None and dtype.is_complex:
            raise NotImplementedError(f"\"nansum_cpu\" not implemented for '{dtype.word}'")
        self = np.where(np.isnan(self), self.dtype.type(0), self)
    return _sum(self, axes_of(dim, self.ndim), keepdim, dtype)


def _prod(self: np.ndarray, axis: int | None, keepdim: bool, dtype: dt.dtype | None) -> Any:
    if dtype is not None and dtype.np != self.dtype:
        self = self.astype(dtype.np)
    if self.dtype == _FLOAT16:
        return contiguous(_multiply_reduce(self, axis, np.float32, None, keepdim)).astype(_FLOAT16)
    wide = self.dtype if dtype is not None or self.dtype.kind in "fc" else _INT64
    if self.dtype.kind == "f" and self.size > _LARGE and self.ndim > 1 and axis in (-1, self.ndim - 1):
        self = _folded(self)
    return contiguous(_multiply_reduce(self, axis, wide, None, keepdim))


def _folded(array: np.ndarray) -> np.ndarray:
    """Rows with the same product and at most 16 elements: halves are multiplied with each other, where numpy's product
    of a row waits for each multiplication in turn.
    """
    while (n := array.shape[-1]) > 16:
        half = n // 2
        product = np.multiply(array[..., :half], array[..., half : 2 * half])
        if n % 2:
            product[..., :1] *= array[..., -1:]
        array = product
    return array


@kernel("prod")
def prod_all(self: np.ndarray, dtype: dt.dtype | None) -> Any:
    return _prod(self, None, False, dtype)


@kernel("prod.dim_int")
def prod_dim(self: np.ndarray, dim: int, keepdim: bool, dtype: dt.dtype | None) -> Any:
    return _prod(self, axis_of(dim, self.ndim), keepdim, dtype)


@kernel("trace")
def trace(self: np.ndarray) -> Any:
    if self.ndim != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {self.ndim}")
    refuse_types("trace", self, "b")
    return _sum(self.diagonal(), None, False, None)


# --- extremes
def _check_all(name: str, self: np.ndarray, error: type[Exception] = RuntimeError, hint: bool = True) -> None:
    if self.size == 0:
        raise error(
            f"{name}(): Expected reduction dim to be specified for input.numel() == 0."
            + (" Specify the reduction dim with the 'dim' argument." if hint else "")
        )


def check_dim(name: str, self: np.ndarray, axes: int | Sequence[int] | None, call: str = "()") -> None:
    """IndexError if a dimension to reduce has no elements, for reductions without a neutral element."""
    if self.size == 0 and axes is not None:
        for d in (axes,) if isinstance(axes, int) else axes:
            if self.shape[d] == 0:
                raise IndexError(f"{name}{call}: Expected reduction dim {d % self.ndim} to have non-zero size.")


def _register_extremes(name: str, ufunc: Any, argument: Callable[..., Any], all_word: str, values_word: str) -> None:
    """Kernels of max, max.dim, amax and argmax, or of their opposites."""
    argname, aname = f"arg{name}", f"a{name}"

    def all_kernel(self: np.ndarray) -> Any:
        _check_all(name, self)
        refuse_types(all_word, self, "c")
        return ufunc.reduce(self, axis=None)

    def dim_kernel(self: np.ndarray, dim: int, keepdim: bool) -> tuple[Any, Any]:
        axis = axis_of(dim, self.ndim)
        check_dim(name, self, axis)
        if self.dtype.kind == "c":
            raise RuntimeError(f"{name}(): does not support complex input")
        if axis is None:
            return self.copy(), np.int64(0)
        return (
            contiguous(ufunc.reduce(self, axis=axis, keepdims=keepdim)),
            contiguous(argument(self, axis=axis, keepdims=keepdim)),
        )

    def values_kernel(self: np.ndarray, dim: Any, keepdim: bool) -> Any:
        axes = axes_of(dim, self.ndim)
        if axes is None:
            _check_all(aname, self)
        check_dim(aname, self, axes)
        refuse_types(values_word, self, "c")
        return contiguous(ufunc.reduce(self, axis=axes, keepdims=keepdim))

    def argument_kernel(self: np.ndarray, dim: int | None, keepdim: bool) -> Any:
        axis = None if dim is None else axis_of(dim, self.ndim)
        if dim is None:
            _check_all(argname, self, IndexError, hint=False)
        check_dim(argname, self, axis)
        if self.dtype.kind in "cb":
            raise RuntimeError(f"{argname}(): does not support {'bool' if self.dtype.kind == 'b' else 'complex'} input")
        return contiguous(argument(self, axis=axis, keepdims=keepdim))

    for op, function in (
        (name, all_kernel),
        (f"{name}.dim", dim_kernel),
        (aname, values_kernel),
        (argname, argument_kernel),
    ):
        kernel(op)(function)


_register_extremes("max", np.maximum, np.ndarray.argmax, "max_all", "max_values_cpu")
_register_extremes("min", np.minimum, np.ndarray.argmin, "min_all", "min_values_cpu")


@kernel("aminmax")
def aminmax(self: np.ndarray, dim: int | None, keepdim: bool) -> tuple[Any, Any]:
    axis = None if dim is None else axis_of(dim, self.ndim)
    if dim is None and self.size == 0:
        raise RuntimeError(
            "aminmax(): cannot compute aminmax over an empty dimension as the operation has no identity."
        )
    check_dim("aminmax", self, axis, "")
    refuse_types("aminmax_cpu", self, "c")
    low: Any = np.minimum
    high: Any = np.maximum
    return contiguous(low.reduce(self, axis, None, None, keepdim)), contiguous(
        high.reduce(self, axis, None, None, keepdim)
    )


# --- truth and counts
def _truth(ufunc: Any, self: np.ndarray, axes: Any, keepdim: bool) -> Any:
    out = contiguous(ufunc.reduce(self, axis=axes, keepdims=keepdim))
    return out.astype(_UINT8) if self.dtype == _UINT8 else out


def _register_truth(name: str, ufunc: Any) -> None:
    def dims_kernel(self: np.ndarray, dim: Any, keepdim: bool) -> Any:
        # Unlike elsewhere, an empty list means no dimension here.
        return _truth(ufunc, self, () if dim is not None and len(dim) == 0 else axes_of(dim, self.ndim), keepdim)

    kernel(name)(lambda self: _truth(ufunc, self, None, False))
    kernel(f"{name}.dim")(lambda self, dim, keepdim: _truth(ufunc, self, axis_of(dim, self.ndim), keepdim))
    kernel(f"{name}.dims")(dims_kernel)


_register_truth("all", np.logical_and)
_register_truth("any", np.logical_or)


@kernel("count_nonzero", "count_nonzero.dim_IntList")
def count_nonzero(self: np.ndarray, dim: Any) -> Any:
    return contiguous(np.asarray(np.count_nonzero(self, axis=axes_of(dim, self.ndim))))

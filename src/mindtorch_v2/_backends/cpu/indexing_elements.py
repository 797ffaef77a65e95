"""CPU kernels with one index per element: gather, scatter and scatter_reduce."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._dispatch.registry import inplace_kernel, kernel
from ..._native import accelerated
from ..._shape import normalize_dim
from .errors import INTS, check_range
from .whole_numbers import as_element


def element_index(index: np.ndarray, axis: int) -> tuple[np.ndarray, ...]:
    """The numpy index of the positions that an index along `axis` names: other coordinates are the element's own."""
    coordinates = []
    for d, n in enumerate(index.shape):
        coordinates.append(index if d == axis else np.arange(n).reshape((-1,) + (1,) * (index.ndim - 1 - d)))
    return tuple(coordinates)


def flat_index(index: np.ndarray, axis: int, shape: tuple[int, ...]) -> np.ndarray:
    """The same as flat positions in a row-major array of `shape`."""
    step = 1
    positions: Any = 0
    for d in range(index.ndim - 1, -1, -1):
        if d == axis:
            positions = positions + (index if step == 1 else index * step)
        elif index.shape[d] > 1:
            positions = positions + np.arange(0, index.shape[d] * step, step).reshape(
                (-1,) + (1,) * (index.ndim - 1 - d)
            )
        step *= shape[d]
    return np.asarray(positions)


def _prepare(
    name: str, self: np.ndarray, dim: int, index: np.ndarray, whose: str
) -> tuple[np.ndarray, np.ndarray, int]:
    """Checks what gather and scatter have in common; scalars become one-dimensional."""
    axis = normalize_dim(dim, self.ndim)
    if index.dtype not in INTS and index.size:
        raise RuntimeError(f"{name}(): Expected dtype int32/int64 for index")
    if index.size and max(index.ndim, 1) != max(self.ndim, 1):
        raise RuntimeError(f"Index tensor must have the same number of dimensions as {whose} tensor")
    return self.reshape(1) if self.ndim == 0 else self, index.reshape(1) if index.ndim == 0 else index, axis


@kernel("gather")
@accelerated("gather")
def gather(self: np.ndarray, dim: int, index: np.ndarray, sparse_grad: bool) -> Any:
    source, positions, axis = _prepare("gather", self, dim, index, "input")
    if index.size == 0:
        return np.empty(index.shape, self.dtype)
    for d, n in enumerate(positions.shape):
        if d != axis and n > source.shape[d]:
            raise RuntimeError(
                f"Size does not match at dimension {d} expected index {list(index.shape)} to be no larger than self "
                f"{list(self.shape)} apart from dimension {axis}"
            )
    check_range(positions, axis, source.shape[axis])
    if source.flags.c_contiguous:
        out = source.reshape(-1).take(flat_index(positions, axis, source.shape))
    else:
        out = np.ascontiguousarray(source[element_index(positions, axis)])
    return out.reshape(index.shape)


# --- scatter
def _check_scatter(
    name: str, self: np.ndarray, dim: int, index: np.ndarray, src: Any
) -> tuple[np.ndarray, np.ndarray, int]:
    target, positions, axis = _prepare(name, self, dim, index, "self")
    is_array = isinstance(src, np.ndarray)
    if is_array and src.dtype != self.dtype:
        raise RuntimeError(f"{name}(): Expected self.dtype to be equal to src.dtype")
    if index.size == 0:
        return target, positions, axis
    fits = all(n <= target.shape[d] for d, n in enumerate(positions.shape) if d != axis)
    if is_array:
        if max(src.ndim, 1) != positions.ndim:
            raise RuntimeError("Index tensor must have the same number of dimensions as src tensor")
        fits = fits and all(n <= m for n, m in zip(positions.shape, src.shape or (1,)))
    if not fits:
        also = f" and to be no larger size than src {list(src.shape)}" if is_array else ""
        raise RuntimeError(
            f"Expected index {list(index.shape)} to be no larger than self {list(self.shape)} apart from dimension "
            f"{axis}{also}"
        )
    check_range(positions, axis, target.shape[axis])
    return target, positions, axis


def _source_part(src: Any, positions: np.ndarray) -> Any:
    """The part of `src` that the index covers."""
    if not isinstance(src, np.ndarray) or src.shape == positions.shape:
        return src
    return src.reshape(1) if src.ndim == 0 else src[tuple(slice(n) for n in positions.shape)]


def _identity(ufunc: np.ufunc, dtype: np.dtype[Any]) -> Any:
    """The value that a fold starts from."""
    if ufunc is np.add or ufunc is np.multiply:
        return 0 if ufunc is np.add else 1
    if dtype.kind == "f":
        return -np.inf if ufunc is np.maximum else np.inf
    if dtype.kind == "b":
        return ufunc is np.minimum
    limits = np.iinfo(dtype)
    return limits.min if ufunc is np.maximum else limits.max


def fold(target: np.ndarray, where: Any, values: Any, ufunc: np.ufunc, reduce: str, include_self: bool) -> None:
    """target[where] = ufunc(target[where], values) for every value in turn; "mean" divides by how many came
    together.
    """
    if not include_self:
        target[where] = _identity(ufunc, target.dtype)
    ufunc.at(target, where, values)
    if reduce == "mean":
        counts = np.full(target.shape, int(include_self), np.int64)
        np.add.at(counts, where, 1)
        np.maximum(counts, 1, out=counts)
        if target.dtype.kind in "fc":
            target[...] = target / counts.astype(target.real.dtype)
        else:
            target[...] = target // counts


def _write(
    target: np.ndarray,
    positions: np.ndarray,
    axis: int,
    src: Any,
    ufunc: np.ufunc | None,
    reduce: str = "",
    include_self: bool = True,
) -> None:
    if positions.size == 0:
        return
    values = _source_part(src, positions)
    flat: Any = target
    where: Any = element_index(positions, axis)
    if target.flags.c_contiguous:  # flat positions are faster than coordinates
        flat, where = target.reshape(-1), flat_index(positions, axis, target.shape).reshape(-1)
        values = np.ascontiguousarray(values).reshape(-1) if isinstance(values, np.ndarray) else values
    if ufunc is None:
        flat[where] = values
    else:
        fold(flat, where, values, ufunc, reduce, include_self)


def _scatter_src_(self: np.ndarray, dim: int, index: np.ndarray, src: Any) -> None:
    _write(
        *_check_scatter("scatter", self, dim, index, src),
        src if isinstance(src, np.ndarray) else as_element(self, src),
        None,
    )


def _scatter_reduce_old_(self: np.ndarray, dim: int, index: np.ndarray, src: Any, reduce: str) -> None:
    if reduce not in ("add", "multiply"):
        raise RuntimeError("reduce argument must be either add or multiply.")
    if not isinstance(src, np.ndarray):  # a number takes the tensor's type before it is added or multiplied
        src = as_element(self, src)
    _write(*_check_scatter("scatter", self, dim, index, src), src, np.add if reduce == "add" else np.multiply)


@accelerated("scatter_add_")
def _scatter_add_(self: np.ndarray, dim: int, index: np.ndarray, src: np.ndarray) -> None:
    _write(*_check_scatter("scatter", self, dim, index, src), src, np.add)


_FOLDS = {"sum": np.add, "prod": np.multiply, "mean": np.add, "amax": np.maximum, "amin": np.minimum}


def _scatter_reduce_(
    self: np.ndarray, dim: int, index: np.ndarray, src: np.ndarray, reduce: str, include_self: bool
) -> None:
    if reduce not in _FOLDS:
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    _write(*_check_scatter("scatter", self, dim, index, src), src, _FOLDS[reduce], reduce, include_self)


def _register(writer: Any, *names: str) -> None:
    """Registers an in-place kernel and, made from it, the functional one."""

    def functional(self: np.ndarray, *rest: Any) -> Any:
        out = np.array(self, order="C")
        writer(out, *rest)
        return out

    inplace_kernel(*names)(writer)
    kernel(*names)(functional)


_register(_scatter_src_, "scatter.src", "scatter.value")
_register(_scatter_reduce_old_, "scatter.reduce", "scatter.value_reduce")
_register(_scatter_add_, "scatter_add")
_register(_scatter_reduce_, "scatter_reduce.two")

"""Kernels of numerical tools."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._dispatch.registry import kernel
from .lapack import column_major


@kernel("frexp.Tensor")
def frexp(self: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    if self.dtype.kind != "f":
        raise RuntimeError("torch.frexp() only supports floating-point dtypes")
    mantissa, exponent = np.frexp(self)
    return mantissa, exponent.astype(np.int32)


@kernel("nonzero_static")
def nonzero_static(self: np.ndarray, size: int, fill_value: int) -> np.ndarray:
    if size < 0:
        raise RuntimeError("nonzero_static: 'size' must be an non-negative integer")
    out = np.full((size, self.ndim), fill_value, np.int64)
    found = np.argwhere(self)[:size] if self.ndim else np.zeros((int(bool(self)), 0), np.int64)[:size]
    out[: len(found)] = found
    return out


@kernel("hash_tensor")
def hash_tensor(self: np.ndarray, dim: Sequence[int], keepdim: bool, mode: int) -> np.ndarray:
    """The exclusive or of the elements' bits, as 64-bit words; integers and floats are widened first."""
    if mode != 0:
        raise RuntimeError("hash_tensor: only mode=0 (xor) is supported")
    wide: Any = (
        self.astype(np.float64).view(np.uint64) if self.dtype.kind == "f" else self.astype(np.int64).view(np.uint64)
    )
    axes = tuple(d % max(self.ndim, 1) for d in dim) or tuple(range(self.ndim))
    xor: Any = np.bitwise_xor  # numpy's annotations know no tuple of axes here
    return xor.reduce(wide, axes, keepdims=keepdim) if self.ndim else wide


# --- histograms
def _check_histogram(self: np.ndarray, weight: np.ndarray | None) -> None:
    if self.dtype.kind != "f" or self.dtype.itemsize < 4:
        word = {"i": "Long", "u": "Byte", "b": "Bool", "c": "ComplexFloat", "f": "Half"}[self.dtype.kind]
        raise NotImplementedError(f"\"histogramdd\" not implemented for '{word}'")
    if weight is not None and weight.shape != self.shape:
        raise RuntimeError(
            "torch.histogramdd(): if weight tensor is provided it should have the same shape as the input tensor "
            f"excluding its innermost dimension, but got input with shape {list(self.shape)} and weight with shape "
            f"{list(weight.shape)}"
        )


@kernel("histogram.bin_ct")
def histogram(
    self: np.ndarray, bins: int, range: Sequence[float] | None, weight: np.ndarray | None, density: bool
) -> Any:
    _check_histogram(self, weight)
    low, high = (
        (range[0], range[1])
        if range is not None
        else (float(self.min()), float(self.max()))
        if self.size
        else (0.0, 1.0)
    )
    if low == high:
        low, high = low - 0.5, high + 0.5
    edges = np.linspace(low, high, bins + 1, dtype=self.dtype)
    return _histogram(self, edges, weight, density), edges


@kernel("histogram.bins_tensor")
def histogram_edges(self: np.ndarray, bins: np.ndarray, weight: np.ndarray | None, density: bool) -> Any:
    _check_histogram(self, weight)
    return _histogram(self, bins, weight, density), bins.copy()


def _histogram(self: np.ndarray, edges: np.ndarray, weight: np.ndarray | None, density: bool) -> np.ndarray:
    return histogramdd(self.reshape(-1, 1), [edges], weight, density)


def _bin_of(values: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """The bin of every value, -1 outside; the last bin includes its upper edge."""
    found = np.searchsorted(edges, values, side="right") - 1
    found = np.where(values == edges[-1], len(edges) - 2, found)
    return np.where((values >= edges[0]) & (values <= edges[-1]), found, -1)


@kernel("_histogramdd_from_bin_tensors")
def histogramdd(self: np.ndarray, bins: Sequence[np.ndarray], weight: np.ndarray | None, density: bool) -> np.ndarray:
    points = self.reshape(-1, self.shape[-1])
    shape = tuple(len(b) - 1 for b in bins)
    bin_of = [_bin_of(points[:, i], edges) for i, edges in enumerate(bins)]
    inside = np.logical_and.reduce([p >= 0 for p in bin_of])
    flat = np.ravel_multi_index([p[inside] for p in bin_of], shape) if min(shape) > 0 else np.zeros(0, np.int64)
    weights = None if weight is None else weight.ravel()[inside]
    counts = np.bincount(flat, weights, int(np.prod(shape))).reshape(shape).astype(self.dtype)
    if density:
        counts /= counts.sum()
        for i, edges in enumerate(bins):
            counts /= np.diff(edges).reshape([-1 if d == i else 1 for d in range(len(shape))])
    return counts


# --- Householder reflections
@kernel("geqrf")
def geqrf(self: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """R above the diagonal, the reflections' vectors below it, and their factors tau; as LAPACK's geqrf."""
    batch, (m, n) = self.shape[:-2], self.shape[-2:]
    k = min(m, n)
    packed, tau = np.empty(self.shape, self.dtype), np.empty((*batch, k), self.dtype)
    for i in np.ndindex(*batch):
        raw, factors = np.linalg.qr(self[i], mode="raw")
        packed[i], tau[i] = raw.T, factors
    return column_major(packed), tau


# --- LDL^T
def _ldl_one(a: np.ndarray, hermitian: bool) -> tuple[np.ndarray, np.ndarray, int]:
    """Bunch and Kaufman's factorisation of the lower triangle, packed as LAPACK's sytrf and hetrf do: blocks of 1 or
    2 rows; pivots count from one and are negative for the rows of a block of 2.
    """
    a = np.tril(a).copy()
    n = a.shape[0]
    pivots = np.zeros(n, np.int32)
    bound = (1 + 17**0.5) / 8
    conj = np.conj if hermitian and a.dtype.kind == "c" else (lambda v: v)
    size_of = (lambda v: np.abs(v.real) + np.abs(v.imag)) if a.dtype.kind == "c" else np.abs  # LAPACK's measure
    k, info = 0, 0
    while k < n:
        size, pivot = 1, k
        column = size_of(a[k + 1 :, k])
        largest = column.max(initial=0.0)
        diagonal = abs(a[k, k].real) if hermitian else size_of(a[k, k])
        if max(diagonal, largest) == 0:
            info = info or k + 1
            pivots[k] = k + 1
            k += 1
            continue
        if diagonal < bound * largest:
            r = k + 1 + int(column.argmax())
            row = size_of(np.concatenate([a[r, k:r], a[r + 1 :, r]]))
            other = row.max(initial=0.0)
            if diagonal >= bound * largest * (largest / other):
                pivot = k
            elif (abs(a[r, r].real) if hermitian else size_of(a[r, r])) >= bound * other:
                pivot = r
            else:
                size, pivot = 2, r
        last = k + size - 1
        if pivot != last:
            _swap(a, k, last, pivot, size, conj)
        _eliminate(a, k, size, conj)
        pivots[k : k + size] = pivot + 1 if size == 1 else -(pivot + 1)
        k += size
    return a, pivots, info


def _swap(a: np.ndarray, k: int, i: int, j: int, size: int, conj: Any) -> None:
    """Exchanges rows and columns i < j of the symmetric matrix whose lower triangle is kept."""
    a[j + 1 :, [i, j]] = a[j + 1 :, [j, i]]
    middle = a[i + 1 : j, i].copy()
    a[i + 1 : j, i] = conj(a[j, i + 1 : j])
    a[j, i + 1 : j] = conj(middle)
    a[j, i] = conj(a[j, i])
    a[[i, j], [i, j]] = a[[j, i], [j, i]]
    if size == 2:
        a[i, k], a[j, k] = a[j, k], a[i, k]


def _eliminate(a: np.ndarray, k: int, size: int, conj: Any) -> None:
    rest = slice(k + size, None)
    below = a[rest, k : k + size].copy()
    block = np.tril(a[k : k + size, k : k + size])
    block = block + conj(np.tril(block, -1)).T
    factors = np.linalg.solve(block.T, below.T).T
    a[rest, rest] -= np.tril(factors @ conj(below).T)
    a[rest, k : k + size] = factors


@kernel("linalg_ldl_factor_ex")
def ldl_factor_ex(self: np.ndarray, hermitian: bool, check_errors: bool) -> Any:
    batch = self.shape[:-2]
    out = [_ldl_one(self[i], hermitian) for i in np.ndindex(*batch)]
    packed = np.array([o[0] for o in out], self.dtype).reshape(self.shape)
    info = np.array([o[2] for o in out], np.int32).reshape(batch)
    if check_errors and info.any():
        raise np.linalg.LinAlgError(
            f"torch.linalg.ldl_factor_ex: (Batch element 0): Factorization has completed with a zero pivot "
            f"at {int(info.ravel().max())}."
        )
    return column_major(packed), np.array([o[1] for o in out], np.int32).reshape(self.shape[:-1]), info


@kernel("linalg_ldl_solve")
def ldl_solve(LD: np.ndarray, pivots: np.ndarray, B: np.ndarray, hermitian: bool) -> np.ndarray:
    batch = np.broadcast_shapes(LD.shape[:-2], B.shape[:-2])
    LD, pivots = np.broadcast_to(LD, (*batch, *LD.shape[-2:])), np.broadcast_to(pivots, (*batch, LD.shape[-1]))
    out = np.broadcast_to(B, (*batch, *B.shape[-2:])).copy()
    for i in np.ndindex(*batch):
        out[i] = _ldl_solve_one(LD[i], pivots[i], out[i], hermitian)
    return column_major(out)


def _ldl_solve_one(a: np.ndarray, pivots: np.ndarray, b: np.ndarray, hermitian: bool) -> np.ndarray:
    n, k, blocks = a.shape[0], 0, []
    conj = np.conj if hermitian and a.dtype.kind == "c" else (lambda v: v)
    while k < n:
        size = 1 if pivots[k] > 0 else 2
        blocks.append((k, size, abs(int(pivots[k])) - 1))
        k += size
    for k, size, pivot in blocks:
        b[[k + size - 1, pivot]] = b[[pivot, k + size - 1]]
        b[k + size :] -= a[k + size :, k : k + size] @ b[k : k + size]
        if size == 1:
            b[k] /= a[k, k]  # infinite where a pivot is 0, as LAPACK leaves it
            continue
        block = np.tril(a[k : k + size, k : k + size])
        b[k : k + size] = np.linalg.solve(block + conj(np.tril(block, -1)).T, b[k : k + size])
    for k, size, pivot in reversed(blocks):
        b[k : k + size] -= conj(a[k + size :, k : k + size]).T @ b[k + size :]
        b[[k + size - 1, pivot]] = b[[pivot, k + size - 1]]
    return b

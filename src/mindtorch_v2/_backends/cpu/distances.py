"""Distances between rows: every pair of two sets (cdist), every pair of one set (pdist)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..._dispatch.registry import kernel

_CHUNK = 1 << 21  # differences held at once


def _norm(difference: np.ndarray, p: float) -> np.ndarray:
    """The p-norm along the last dimension; `difference` may be overwritten."""
    if p == 0:
        return (difference != 0).sum(axis=-1).astype(difference.dtype)
    size = np.abs(difference, out=difference)
    if p == 1:
        return size.sum(axis=-1)
    if p == 2:
        return np.sqrt(np.einsum("...i,...i->...", size, size))
    if p == np.inf:
        return size.max(axis=-1, initial=0)
    return (size**p).sum(axis=-1) ** (1 / p)


def _slope(difference: np.ndarray, distance: np.ndarray, p: float) -> np.ndarray:
    """The derivative of the p-norm by each difference: 0 where the distance is 0."""
    distance = distance[..., None]
    if p == 0:
        return np.zeros_like(difference)
    sign = np.sign(difference)
    if p == 1:
        return sign
    if p == np.inf:
        return sign * (np.abs(difference) == distance)
    safe = np.where(distance == 0, 1, distance)
    if p == 2:
        slope = difference / safe
    else:
        size = np.abs(difference)
        powered = np.where(size == 0, 0, np.where(size == 0, 1, size) ** (p - 1))
        slope = sign * powered / safe ** (p - 1)
    return np.where(distance == 0, 0, slope).astype(difference.dtype, copy=False)


def _row_chunks(x1: np.ndarray, x2: np.ndarray) -> Iterator[slice]:
    per_row = max(1, x2.size * max(1, x1[..., :1, :1].size))
    step = max(1, _CHUNK // per_row)
    for start in range(0, x1.shape[-2], step):
        yield slice(start, start + step)


@kernel("_cdist_forward")
def cdist_forward(x1: np.ndarray, x2: np.ndarray, p: float, compute_mode: int | None) -> np.ndarray:
    if x1.shape[-1] != x2.shape[-1]:
        raise RuntimeError(f"X1 and X2 must have the same number of columns. X1: {x1.shape[-1]} X2: {x2.shape[-1]}")
    batch = np.broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
    out = np.empty((*batch, x1.shape[-2], x2.shape[-2]), x1.dtype)
    for rows in _row_chunks(x1, x2):
        out[..., rows, :] = _norm(x1[..., rows, None, :] - x2[..., None, :, :], p)
    return out


@kernel("_cdist_backward")
def cdist_backward(grad: np.ndarray, x1: np.ndarray, x2: np.ndarray, p: float, cdist: np.ndarray) -> np.ndarray:
    out = np.empty(np.broadcast_shapes(x1.shape[:-2], x2.shape[:-2]) + x1.shape[-2:], x1.dtype)
    for rows in _row_chunks(x1, x2):
        slope = _slope(x1[..., rows, None, :] - x2[..., None, :, :], cdist[..., rows, :], p)
        out[..., rows, :] = np.einsum("...ij,...ijk->...ik", grad[..., rows, :], slope)
    return out


@kernel("_pdist_forward")
def pdist_forward(self: np.ndarray, p: float) -> np.ndarray:
    first, second = np.triu_indices(self.shape[0], 1)
    return _norm(self[first] - self[second], p)


@kernel("_pdist_backward")
def pdist_backward(grad: np.ndarray, self: np.ndarray, p: float, pdist: np.ndarray) -> np.ndarray:
    n = self.shape[0]
    first, second = np.triu_indices(n, 1)
    each = grad[:, None] * _slope(self[first] - self[second], pdist, p)
    whole = np.zeros((n, n, self.shape[1]), self.dtype)
    whole[first, second] = each
    return whole.sum(axis=1) - whole.sum(axis=0)

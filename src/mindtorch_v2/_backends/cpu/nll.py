"""Negative log likelihood: picks one class per sample.

One implementation serves samples (N, C) and images (N, C, H, W).
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from ..._dispatch.registry import kernel
from .errors import not_implemented, type_word
from .loss import MEAN
from .sums import sum_over

_CACHED = 1 << 14
_UNSIGNED = np.dtype(np.uint64)
_LONG = np.dtype(np.int64)
_largest, _total = np.maximum.reduce, np.add.reduce


@lru_cache(maxsize=16)
def _small_starts(n: int, classes: int, inner: int) -> np.ndarray:
    starts = _starts(n, classes, inner)
    starts.flags.writeable = False
    return starts


def _starts(n: int, classes: int, inner: int) -> np.ndarray:
    """Where class 0 of each target lies in the flat input."""
    rows = np.arange(n) * (classes * inner)
    return rows if inner == 1 else (rows[:, None] + np.arange(inner)).reshape(-1)


def _positions(classes_of: np.ndarray, n: int, classes: int, inner: int) -> np.ndarray:
    starts = _small_starts(n, classes, inner) if n * inner <= _CACHED else _starts(n, classes, inner)
    return classes_of + starts if inner == 1 else classes_of * inner + starts


def _sizes(shape: Any) -> str:
    return f"[{', '.join(map(str, shape))}]"


def _geometry(self: np.ndarray) -> tuple[int, int, int]:
    """(samples, classes, positions per sample)"""
    if self.ndim == 2:
        n, c = self.shape
        return n, c, 1
    if self.ndim == 1:
        return 1, self.shape[0], 1
    return self.shape[0], self.shape[1], self.shape[2] * self.shape[3]


def _check(self: np.ndarray, target: np.ndarray, weight: np.ndarray | None, flat: bool) -> None:
    (_check_rows if flat else _check_images)(self, target)
    if self.dtype.kind != "f":
        raise not_implemented("nll_loss_out_frame" if flat else "nll_loss2d_forward_out_frame", self)
    if target.dtype not in (np.int64, np.uint8):
        raise RuntimeError(f"expected target dtype to be Long or Byte, but got {type_word(target)}")
    if weight is not None:
        _check_weight(self, weight, self.shape[-1 if flat else 1])


def _check_rows(self: np.ndarray, target: np.ndarray) -> None:
    if not 0 < self.ndim <= 2:
        raise RuntimeError("input tensor should be 1D or 2D")
    if target.ndim > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if self.ndim == 2 and (target.ndim == 0 or target.shape[0] != self.shape[0]):
        raise RuntimeError(f"size mismatch (got input: {_sizes(self.shape)}, target: {_sizes(target.shape)})")


def _check_images(self: np.ndarray, target: np.ndarray) -> None:
    if target.ndim != 3:
        raise RuntimeError(
            f"only batches of spatial targets supported (3D tensors) but got targets of dimension: {target.ndim}"
        )
    if self.ndim != 4:
        raise RuntimeError(
            f"only batches of spatial inputs supported (4D tensors), but got input of dimension: {self.ndim}"
        )
    if target.shape != (self.shape[0], *self.shape[2:]):
        raise RuntimeError(f"size mismatch (got input: {_sizes(self.shape)} , target: {_sizes(target.shape)}")


def _check_weight(self: np.ndarray, weight: np.ndarray, classes: int) -> None:
    if weight.ndim != 1 or weight.size != classes:
        raise RuntimeError(
            f"weight tensor should be defined either for all {classes} classes or no classes but got weight "
            f"tensor of shape: {_sizes(weight.shape)}"
        )
    if weight.dtype != self.dtype:
        raise RuntimeError(f"expected scalar type {type_word(self)} but found {type_word(weight)}")


def _class_of_each(target: np.ndarray, classes: int, ignore_index: int) -> tuple[np.ndarray, np.ndarray | None]:
    """The class of each position, and which positions count (None: all). IndexError for a class that does not exist."""
    flat = target.reshape(-1)
    if flat.dtype is not _LONG:
        flat = flat.astype(np.int64)
    # Read without sign, negative classes are larger than any that exists.
    if not flat.size or (_largest(flat.view(_UNSIGNED)) < classes and not 0 <= ignore_index < classes):
        return flat, None
    counts = flat != ignore_index
    bad = counts & ((flat < 0) | (flat >= classes))
    if bad.any():
        raise IndexError(f"Target {flat[bad.argmax()]} is out of bounds.")
    return np.where(counts, flat, 0), counts


def _weights(
    classes_of: np.ndarray, counts: np.ndarray | None, weight: np.ndarray | None, kind: Any
) -> np.ndarray | None:
    """What each position weighs; None if all weigh 1."""
    if weight is None:
        return None if counts is None else counts.astype(kind)
    each = weight.take(classes_of)
    return each if counts is None else each * counts


def _forward(
    self: np.ndarray, target: np.ndarray, weight: np.ndarray | None, reduction: int, ignore_index: int, flat: bool
) -> tuple[Any, Any]:
    _check(self, target, weight, flat)
    n, classes, inner = _geometry(self)
    classes_of, counts = _class_of_each(target, classes, ignore_index)
    picked = self.take(_positions(classes_of, n, classes, inner))
    kind = self.dtype
    if kind.char == "e":
        picked = picked.astype(np.float32)
    each = _weights(classes_of, counts, weight, picked.dtype)
    if each is not None:  # what is ignored may be infinite
        picked = np.where(each == 0, 0, picked * each) if counts is not None else picked * each
    if not reduction:
        shape = () if self.ndim == 1 else target.shape
        return (-picked).astype(kind, copy=False).reshape(shape), kind.type(0)
    total = picked.size if each is None else _total(each)
    loss = 0 - (_total(picked) if picked.size < _CACHED else sum_over(picked, None))  # of nothing: 0, not -0
    if reduction == MEAN:
        loss = loss / picked.dtype.type(total)
    return kind.type(loss), kind.type(total)


def _backward(
    grad_output: np.ndarray,
    self: np.ndarray,
    target: np.ndarray,
    weight: np.ndarray | None,
    reduction: int,
    ignore_index: int,
    total_weight: np.ndarray,
) -> np.ndarray:
    n, classes, inner = _geometry(self)
    classes_of, counts = _class_of_each(target, classes, ignore_index)
    each = _weights(classes_of, counts, weight, self.dtype)
    value = -grad_output
    if reduction == MEAN:
        value = value / total_weight
    elif not reduction:
        value = value.reshape(-1)
    if each is not None:
        value = np.where(each == 0, 0, value * each) if counts is not None else value * each
    out = np.zeros(self.shape, self.dtype)
    out.put(_positions(classes_of, n, classes, inner), value)
    return out


@kernel("nll_loss_forward")
def nll_loss_forward(
    self: np.ndarray, target: np.ndarray, weight: np.ndarray | None, reduction: int, ignore_index: int
) -> tuple[Any, Any]:
    if weight is None and reduction == MEAN and self.ndim == 2 and target.dtype is _LONG and self.dtype.char in "fd":
        n, classes = self.shape
        # The usual mean over a small batch, with all classes in range: no step more than needed.
        if (
            0 < n <= _CACHED
            and target.shape == (n,)
            and _largest(target.view(_UNSIGNED)) < classes
            and not 0 <= ignore_index < classes
        ):
            return -_total(self.take(target + _small_starts(n, classes, 1))) / n, self.dtype.type(n)
    return _forward(self, target, weight, reduction, ignore_index, flat=True)


@kernel("nll_loss2d_forward")
def nll_loss2d_forward(
    self: np.ndarray, target: np.ndarray, weight: np.ndarray | None, reduction: int, ignore_index: int
) -> tuple[Any, Any]:
    return _forward(self, target, weight, reduction, ignore_index, flat=False)


kernel("nll_loss_backward", "nll_loss2d_backward")(_backward)

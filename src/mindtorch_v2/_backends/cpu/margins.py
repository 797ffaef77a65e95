"""Margin losses over classes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._dispatch.registry import kernel
from .errors import not_implemented, type_word
from .loss import reduce_loss, share


def _sizes(shape: Any) -> str:
    return f"[{', '.join(map(str, shape))}]"


def _check_classes(self: np.ndarray) -> None:
    if self.ndim > 2 or (self.ndim and not self.shape[-1]):
        raise RuntimeError(
            f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {_sizes(self.shape)}"
        )


# --- one class per sample ---------------------------------------------------------------------------------------------


def _check_multi(self: np.ndarray, target: np.ndarray, p: Any, weight: np.ndarray | None) -> np.ndarray:
    """The input as (samples, classes)."""
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    _check_classes(self)
    rows = self.reshape(-1, self.shape[-1]) if self.ndim else self.reshape(1, 1)
    if target.ndim > 1 or target.size != rows.shape[0]:
        raise RuntimeError(
            "multi_margin_loss: target tensor should be 1-D with size equal to the number of input samples (batch "
            f"size). Expected target size [{rows.shape[0]}], but got {_sizes(target.shape)}. Input has shape "
            f"{_sizes(self.shape)}."
        )
    if weight is not None and (weight.ndim > 1 or weight.size != rows.shape[1]):
        raise RuntimeError(f"inconsistent weight size, expected {rows.shape[1]} but got {_sizes(weight.shape)}")
    if target.dtype != np.int64:
        raise RuntimeError(f"expected scalar type Long but found {type_word(target)}")
    if target.size and not (target.min() >= 0 and target.max() < rows.shape[1]):
        raise RuntimeError("target out of range")
    return rows


def _violations(rows: np.ndarray, classes: np.ndarray, margin: Any) -> np.ndarray:
    """By how much each other class comes closer to the right one than the margin."""
    own = np.take_along_axis(rows, classes[:, None], axis=1)
    over = np.maximum(margin - own + rows, 0)
    np.put_along_axis(over, classes[:, None], 0, axis=1)
    return over


@kernel("multi_margin_loss")
def multi_margin_loss(
    self: np.ndarray, target: np.ndarray, p: Any, margin: Any, weight: np.ndarray | None, reduction: int
) -> Any:
    rows = _check_multi(self, target, p, weight)
    classes = target.reshape(-1)
    over = _violations(rows, classes, margin)
    loss = (over if p == 1 else over * over).sum(axis=1) / rows.dtype.type(rows.shape[1])
    if weight is not None:
        loss = loss * weight.reshape(-1)[classes]
    loss = loss.astype(self.dtype, copy=False)
    return reduce_loss(loss, reduction) if reduction else loss.reshape(target.shape)


@kernel("multi_margin_loss_backward")
def multi_margin_loss_backward(
    grad_output: np.ndarray,
    self: np.ndarray,
    target: np.ndarray,
    p: Any,
    margin: Any,
    weight: np.ndarray | None,
    reduction: int,
) -> np.ndarray:
    rows = _check_multi(self, target, p, weight)
    classes = target.reshape(-1)
    over = _violations(rows, classes, margin)
    slope = (over > 0).astype(rows.dtype) if p == 1 else 2 * over
    if weight is not None:
        slope *= weight.reshape(-1)[classes][:, None]
    slope *= share(reduction, rows.shape[0]) / rows.shape[1]
    np.put_along_axis(slope, classes[:, None], -slope.sum(axis=1, keepdims=True), axis=1)
    gradient = grad_output.reshape(-1, 1) if not reduction else grad_output
    return (slope * gradient).astype(self.dtype, copy=False).reshape(self.shape)


# --- several classes per sample ---------------------------------------------------------------------------------------


def _check_multilabel(self: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Input and target as (samples, classes)."""
    if self.dtype not in (np.float32, np.float64):
        raise not_implemented("multilabel_margin_loss_forward_out_frame", self)
    _check_classes(self)
    if self.shape != target.shape:
        raise RuntimeError(f"inconsistent target size: {_sizes(target.shape)} for input of size: {_sizes(self.shape)}")
    width = self.shape[-1] if self.ndim else 1
    if target.size and (target.min() < -1 or target.max() >= width):
        raise RuntimeError("argument #2 'target' is out of range")
    return self.reshape(-1, width), target.reshape(-1, width)


def _labels(target: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Which entries count (those before the first -1), and which classes they name."""
    counts = np.logical_and.accumulate(target >= 0, axis=1)
    named = np.zeros(target.shape, bool)
    rows, columns = np.nonzero(counts)
    named[rows, target[rows, columns]] = True
    return counts, named


def _pair_violations(rows: np.ndarray, target: np.ndarray, counts: np.ndarray, named: np.ndarray) -> np.ndarray:
    """(sample, label, class): how far a class that is not named lies above a label's score less 1."""
    own = np.take_along_axis(rows, np.where(counts, target, 0), axis=1)
    over = np.maximum(1 - own[:, :, None] + rows[:, None, :], 0)
    return over * (counts[:, :, None] & ~named[:, None, :])


@kernel("multilabel_margin_loss_forward")
def multilabel_margin_loss_forward(self: np.ndarray, target: np.ndarray, reduction: int) -> tuple[Any, np.ndarray]:
    rows, labels = _check_multilabel(self, target)
    counts, named = _labels(labels)
    loss = _pair_violations(rows, labels, counts, named).sum(axis=(1, 2)) / rows.dtype.type(rows.shape[1])
    is_target = named.astype(self.dtype).reshape(target.shape)
    return reduce_loss(loss if self.ndim > 1 else loss.reshape(()), reduction), is_target


@kernel("multilabel_margin_loss_backward")
def multilabel_margin_loss_backward(
    grad_output: np.ndarray, self: np.ndarray, target: np.ndarray, reduction: int, is_target: np.ndarray
) -> np.ndarray:
    rows, labels = _check_multilabel(self, target)
    counts, named = _labels(labels)
    active = (_pair_violations(rows, labels, counts, named) > 0).astype(self.dtype)
    slope = active.sum(axis=1)
    each, columns = np.nonzero(counts)
    np.subtract.at(slope, (each, labels[each, columns]), active.sum(axis=2)[each, columns])
    slope *= share(reduction, rows.shape[0]) / rows.shape[1]
    gradient = grad_output.reshape(-1, 1) if not reduction else grad_output
    return (slope * gradient).astype(self.dtype, copy=False).reshape(self.shape)

"""Losses between elements. Classification, margins and sequences stand in the files imported at the end.

While nobody watches, a loss is one kernel; in a profile its reduction is an event of its own, as in PyTorch.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ..._dispatch.registry import kernel
from ..._native import accelerated
from ..._shape import broadcast_shapes
from .errors import not_implemented, type_word
from .sums import sum_over

MEAN = 1
_SMALL = 4096


def reduce_loss(loss: np.ndarray, reduction: int) -> Any:
    """The losses themselves (0), their mean (1) or their sum (2)."""
    if not reduction:
        return loss
    if loss.dtype == np.float16:
        return np.float16(reduce_loss(loss.astype(np.float32), reduction))
    total = np.add.reduce(loss, axis=None) if loss.size < _SMALL else sum_over(loss, None)
    return total if reduction != MEAN else total / total.dtype.type(loss.size)


def share(reduction: int, count: int) -> float:
    """What one element's loss weighs in the result."""
    if reduction != MEAN:
        return 1.0
    return 1.0 / count if count else np.nan


def _share_of(self: np.ndarray, target: np.ndarray, reduction: int) -> float:
    """The share of one pair of elements of arrays that may be broadcast."""
    return share(
        reduction, self.size if self.shape == target.shape else prod(broadcast_shapes(self.shape, target.shape))
    )


def _refuse(name: str, a: np.ndarray) -> None:
    if a.dtype.kind != "f":
        raise not_implemented(name, a)


def _difference(self: np.ndarray, target: np.ndarray, name: str) -> np.ndarray:
    """self - target as an array that may be overwritten."""
    if self.dtype.kind != "f":
        raise not_implemented(name, self)
    try:
        return np.asarray(self - target)
    except ValueError:
        broadcast_shapes(self.shape, target.shape)  # words the error
        raise


# --- squares and absolute values --------------------------------------------------------------------------------------


@kernel("mse_loss")
def mse_loss(self: np.ndarray, target: np.ndarray, reduction: int) -> Any:
    d = _difference(self, target, "mse_cpu")
    return reduce_loss(np.multiply(d, d, out=d), reduction)


@kernel("mse_loss_backward")
def mse_loss_backward(grad_output: np.ndarray, self: np.ndarray, target: np.ndarray, reduction: int) -> np.ndarray:
    d = _difference(self, target, "mse_backward_cpu")
    d *= 2.0 * share(reduction, d.size)
    return _times(d, grad_output)


def _times(d: np.ndarray, grad: np.ndarray) -> np.ndarray:
    """`d * grad` in the type of `d`, which is overwritten where the gradient is no larger."""
    if grad.ndim == 0 or grad.shape == d.shape:
        d *= grad
        return d
    return (d * grad).astype(d.dtype, copy=False)


def _check_beta(beta: float) -> None:
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")


@accelerated("smooth_l1")
def _smooth_l1(self: np.ndarray, target: np.ndarray, beta: float) -> np.ndarray:
    size = np.abs(_difference(self, target, "smooth_l1_cpu"))
    return np.where(size < beta, 0.5 * size * size / beta, size - 0.5 * beta) if beta else size


@accelerated("smooth_l1_slope")
def _smooth_l1_slope(self: np.ndarray, target: np.ndarray, beta: float, factor: float) -> np.ndarray:
    d = _difference(self, target, "smooth_l1_backward_cpu")
    return np.asarray((np.clip(d / beta, -1, 1) if beta else np.sign(d)) * factor)


@kernel("smooth_l1_loss")
def smooth_l1_loss(self: np.ndarray, target: np.ndarray, reduction: int, beta: float) -> Any:
    _check_beta(beta)
    return reduce_loss(_smooth_l1(self, target, beta), reduction)


@kernel("smooth_l1_loss_backward")
def smooth_l1_loss_backward(
    grad_output: np.ndarray, self: np.ndarray, target: np.ndarray, reduction: int, beta: float
) -> np.ndarray:
    return _times(_smooth_l1_slope(self, target, beta, _share_of(self, target, reduction)), grad_output)


def _check_delta(delta: float) -> None:
    if delta <= 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")


@accelerated("huber")
def _huber(self: np.ndarray, target: np.ndarray, delta: float) -> np.ndarray:
    size = np.abs(_difference(self, target, "huber_cpu"))
    return np.where(size <= delta, 0.5 * size * size, delta * (size - 0.5 * delta))


@accelerated("huber_slope")
def _huber_slope(self: np.ndarray, target: np.ndarray, delta: float, factor: float) -> np.ndarray:
    return np.asarray(np.clip(_difference(self, target, "huber_backward_cpu"), -delta, delta) * factor)


@kernel("huber_loss")
def huber_loss(self: np.ndarray, target: np.ndarray, reduction: int, delta: float) -> Any:
    _check_delta(delta)
    return reduce_loss(_huber(self, target, delta), reduction)


@kernel("huber_loss_backward")
def huber_loss_backward(
    grad_output: np.ndarray, self: np.ndarray, target: np.ndarray, reduction: int, delta: float
) -> np.ndarray:
    return _times(_huber_slope(self, target, delta, _share_of(self, target, reduction)), grad_output)


# --- soft margin ------------------------------------------------------------------------------------------------------


@kernel("soft_margin_loss")
def soft_margin_loss(self: np.ndarray, target: np.ndarray, reduction: int) -> Any:
    if self.dtype.kind != "f":
        raise RuntimeError(f"result type Float can't be cast to the desired output type {type_word(self)}")
    _check_writable(self, target)
    return reduce_loss(np.log1p(np.exp(-self * target)), reduction)


@kernel("soft_margin_loss_backward")
def soft_margin_loss_backward(
    grad_output: np.ndarray, self: np.ndarray, target: np.ndarray, reduction: int
) -> np.ndarray:
    z = np.exp(-self * target)
    slope = np.asarray(-target * z / (z + 1))
    return _times(slope * share(reduction, slope.size), grad_output)


# --- binary cross entropy ---------------------------------------------------------------------------------------------

_LOG_FLOOR = -100.0  # logarithms of 0 are cut off here
_EPSILON = 1e-12


def _check_bce(self: np.ndarray, target: np.ndarray) -> None:
    if self.dtype != target.dtype:
        raise RuntimeError(f"Found dtype {type_word(target)} but expected {type_word(self)}")
    broadcast_shapes(self.shape, target.shape)


@kernel("binary_cross_entropy")
def binary_cross_entropy(self: np.ndarray, target: np.ndarray, weight: np.ndarray | None, reduction: int) -> Any:
    _refuse("binary_cross_entropy", self)
    _check_bce(self, target)
    for name, a in (("input", self), ("target", target)):
        if a.size and not (a.min() >= 0 and a.max() <= 1):
            raise RuntimeError(f"all elements of {name} should be between 0 and 1")
    log_p = np.maximum(np.log(self), _LOG_FLOOR)
    log_q = np.maximum(np.log1p(-self), _LOG_FLOOR)
    loss = (target - 1) * log_q - target * log_p
    return reduce_loss(loss if weight is None else loss * weight, reduction)


@kernel("binary_cross_entropy_backward")
def binary_cross_entropy_backward(
    grad_output: np.ndarray, self: np.ndarray, target: np.ndarray, weight: np.ndarray | None, reduction: int
) -> np.ndarray:
    slope = np.asarray((self - target) / np.maximum((1 - self) * self, _EPSILON))
    if weight is not None:
        slope = slope * weight
    return _times(slope * share(reduction, slope.size), grad_output)


def _check_writable(target: np.ndarray, *others: np.ndarray | None) -> None:
    """PyTorch computes in place over the target's shape; whatever is larger is an error."""
    for other in others:
        if other is not None:
            whole = broadcast_shapes(target.shape, other.shape)
            if whole != target.shape:
                raise RuntimeError(
                    f"output with shape {list(target.shape)} doesn't match the broadcast shape {list(whole)}"
                )


@kernel("binary_cross_entropy_with_logits")
def binary_cross_entropy_with_logits(
    self: np.ndarray, target: np.ndarray, weight: np.ndarray | None, pos_weight: np.ndarray | None, reduction: int
) -> Any:
    _refuse("log_sigmoid_cpu", self)
    if pos_weight is not None:
        broadcast_shapes(pos_weight.shape, target.shape)
    _check_writable(target, self, weight)
    # log(sigmoid(x)) without overflow
    log_p = np.minimum(self, 0) - np.log1p(np.exp(-np.abs(self)))
    if pos_weight is not None:
        log_p = log_p * ((pos_weight - 1) * target + 1)
    loss = (1 - target) * self - log_p
    return reduce_loss(np.asarray(loss if weight is None else loss * weight), reduction)


from . import ctc, margins, nll  # noqa: E402,F401  - they register their kernels

"""Optimizer steps on arrays: each goes over its parameter once, block by block, so that a block stays in the cache."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..._native import accelerated

Array = np.ndarray
_BLOCK = 16384  # elements; a handful of such blocks fits the second-level cache


def _blocks(*arrays: Array | None) -> Iterator[list[Any]]:
    """Matching pieces of arrays of one shape; arrays that are not contiguous come whole."""
    first = next(a for a in arrays if a is not None)
    if first.ndim == 0:  # numpy would make numbers of the results, which nothing can be written into
        yield [None if a is None else a.reshape(1) for a in arrays]
        return
    if first.size <= _BLOCK or not all(a is None or a.flags.c_contiguous for a in arrays):
        yield list(arrays)
        return
    flat = [None if a is None else a.reshape(-1) for a in arrays]
    for start in range(0, first.size, _BLOCK):
        yield [None if a is None else a[start : start + _BLOCK] for a in flat]


def _unscale(grad: Array, scale: float | None) -> None:
    """Divides a scaled gradient in place: the caller's gradients shall be unscaled after the step."""
    if scale is not None:
        np.divide(grad, scale, out=grad)


def sgd_step(
    param: Array,
    grad: Array,
    buffer: Array | None,
    *,
    weight_decay: float,
    momentum: float,
    lr: float,
    dampening: float,
    nesterov: bool,
    maximize: bool,
    is_first_step: bool,
    grad_scale: float | None,
) -> None:
    """One step of stochastic gradient descent, in place; `buffer` is the momentum or None."""
    _unscale(grad, grad_scale)
    _sgd(
        param, grad, buffer, weight_decay, momentum, lr, dampening, bool(nesterov), bool(maximize), bool(is_first_step)
    )


@accelerated("sgd_step")
def _sgd(
    param: Array,
    grad: Array,
    buffer: Array | None,
    weight_decay: float,
    momentum: float,
    lr: float,
    dampening: float,
    nesterov: bool,
    maximize: bool,
    is_first_step: bool,
) -> None:
    for p, g, b in _blocks(param, grad, buffer):
        if maximize:
            g = np.negative(g)
        if weight_decay:
            g = g + p * weight_decay
        if b is not None and momentum:
            if is_first_step:
                b[...] = g
            else:
                np.multiply(b, momentum, out=b)
                b += g if dampening == 0 else g * (1 - dampening)
            g = g + b * momentum if nesterov else b
        p -= g * lr


def adam_step(
    param: Array,
    grad: Array,
    mean: Array,
    square: Array,
    most: Array | None,
    *,
    step: float,
    lr: float,
    beta1: float,
    beta2: float,
    weight_decay: float,
    eps: float,
    maximize: bool,
    decoupled: bool,
    grad_scale: float | None,
) -> None:
    """One step of Adam, or of AdamW with `decoupled` weight decay, in place.

    `most` holds the largest squares for AMSGrad.
    """
    _unscale(grad, grad_scale)
    size = lr / (1 - beta1**step)
    correction = (1 - beta2**step) ** 0.5
    _adam(
        param,
        grad,
        mean,
        square,
        most,
        lr,
        size,
        correction,
        beta1,
        beta2,
        weight_decay,
        eps,
        bool(maximize),
        bool(decoupled),
    )


@accelerated("adam_step")
def _adam(
    param: Array,
    grad: Array,
    mean: Array,
    square: Array,
    most: Array | None,
    lr: float,
    size: float,
    correction: float,
    beta1: float,
    beta2: float,
    weight_decay: float,
    eps: float,
    maximize: bool,
    decoupled: bool,
) -> None:
    for p, g, m, s, largest in _blocks(param, grad, mean, square, most):
        if maximize:
            g = np.negative(g)
        if weight_decay and decoupled:
            p *= 1 - lr * weight_decay
        elif weight_decay:
            g = g + p * weight_decay
        work = np.subtract(g, m)
        work *= 1 - beta1
        m += work
        np.multiply(g, g, out=work)
        work *= 1 - beta2
        s *= beta2
        s += work
        if largest is not None:
            np.maximum(largest, s, out=largest)
        np.sqrt(s if largest is None else largest, out=work)
        work /= correction
        work += eps
        np.divide(m, work, out=work)
        work *= size
        p -= work

"""Optimizer steps on arrays: each goes over its parameter once, block by block, so that a block stays in the cache."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

Array = np.ndarray
_BLOCK = 16384  # elements; a handful of such blocks fits the second-level cache


def _blocks(*arrays: Array | None) -> Iterator[list[Any]]:
    """Matching pieces of arrays of one shape; arrays that are not contiguous come whole."""
    first = next(a for a in arrays if a is not None)
    if first.size <= _BLOCK or not all(a is None or a.flags.c_contiguous for a in arrays):
        yield list(arrays)
        return
    flat = [None if a is None else a.reshape(-1) for a in arrays]
    for start in range(0, first.size, _BLOCK):
        yield [None if a is None else a[start:start + _BLOCK] for a in flat]


def _unscaled(grad: Array, scale: float | None, maximize: bool) -> Array:
    """The true gradient; a scaled one is also written back, as the caller's gradients shall be unscaled after the step."""
    if scale is not None:
        np.divide(grad, scale, out=grad)
    return np.negative(grad) if maximize else grad


def sgd_step(param: Array, grad: Array, buffer: Array | None, *, weight_decay: float, momentum: float, lr: float,
             dampening: float, nesterov: bool, maximize: bool, is_first_step: bool, grad_scale: float | None) -> None:
    """One step of stochastic gradient descent, in place; `buffer` is the momentum or None."""
    for p, g, b in _blocks(param, grad, buffer):
        g = _unscaled(g, grad_scale, maximize)
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


def adam_step(param: Array, grad: Array, mean: Array, square: Array, most: Array | None, *, step: float, lr: float, beta1: float,
              beta2: float, weight_decay: float, eps: float, maximize: bool, decoupled: bool, grad_scale: float | None) -> None:
    """One step of Adam, or of AdamW with `decoupled` weight decay, in place. `most` holds the largest squares for AMSGrad."""
    size = lr / (1 - beta1 ** step)
    correction = (1 - beta2 ** step) ** 0.5
    for p, g, m, s, largest in _blocks(param, grad, mean, square, most):
        g = _unscaled(g, grad_scale, maximize)
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

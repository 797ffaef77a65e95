"""Kernels of softmax and log_softmax. Large arrays are worked on in groups of rows that stay in the cache."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..._dispatch.registry import kernel
from ..._shape import normalize_dim
from .blocks import BLOCK, FEW
from .sums import sum_over
from .unsupported import not_implemented

Body = Callable[..., None]  # writes its result for one axis into the first array


def _exp_shifted(out: np.ndarray, x: np.ndarray, axis: int) -> None:
    """out = exp(x - max(x)), which cannot overflow."""
    np.subtract(x, np.maximum.reduce(x, axis=axis, keepdims=True), out=out)
    np.exp(out, out=out)


def _softmax_body(out: np.ndarray, x: np.ndarray, axis: int) -> None:
    _exp_shifted(out, x, axis)
    out /= sum_over(out, axis, True)


def _log_softmax_body(out: np.ndarray, x: np.ndarray, axis: int) -> None:
    np.subtract(x, np.maximum.reduce(x, axis=axis, keepdims=True), out=out)
    out -= np.log(sum_over(np.exp(out), axis, True))


def _softmax_backward_body(out: np.ndarray, y: np.ndarray, g: np.ndarray, axis: int) -> None:
    """y * (g - sum(g * y))"""
    np.multiply(y, g, out=out)
    np.subtract(g, sum_over(out, axis, True), out=out)
    out *= y


def _log_softmax_backward_body(out: np.ndarray, y: np.ndarray, g: np.ndarray, axis: int) -> None:
    """g - exp(y) * sum(g)"""
    np.exp(y, out=out)
    out *= sum_over(g, axis, True)
    np.subtract(g, out, out=out)


def _along(body: Body, axis: int, *inputs: np.ndarray) -> np.ndarray:
    """Runs `body` along an axis of arrays of one shape, by groups of rows if the axis is the last one."""
    first = inputs[0]
    out = np.empty(first.shape, first.dtype)
    n = first.shape[axis]
    if first.size > BLOCK and axis == first.ndim - 1 and all(a.flags.c_contiguous for a in inputs):
        rows = [a.reshape(-1, n) for a in (out, *inputs)]
        step = max(1, BLOCK // n)
        for start in range(0, rows[0].shape[0], step):
            body(*[r[start : start + step] for r in rows], -1)
    elif first.size:
        body(out, *inputs, axis)
    return out


def _run(body: Body, dim: int, *inputs: np.ndarray) -> np.ndarray:
    first = inputs[0]
    axis = normalize_dim(dim, first.ndim)
    if first.ndim == 0:
        return _run(body, 0, *[a.reshape(1) for a in inputs]).reshape(())
    if first.dtype.char == "e":
        return _along(body, axis, *[a.astype(np.float32) for a in inputs]).astype(np.float16)
    return _along(body, axis, *inputs)


def _check(name: str, self: np.ndarray, dim: int, half_to_float: bool) -> None:
    if half_to_float:
        raise RuntimeError(f"{name} with half to float conversion is not supported on CPU")
    axis = normalize_dim(dim, self.ndim)
    if self.dtype.kind != "f":
        last = "_lastdim" if axis >= self.ndim - 1 else ""
        raise not_implemented(f"{name}{last}_kernel_impl", self)


def _is_simple(x: np.ndarray, dim: int) -> bool:
    """Whether plain expressions do: few elements of a common type, in order."""
    ndim = x.ndim
    return 0 < x.size <= FEW and x.dtype.char in "fd" and -ndim <= dim < ndim and x.flags.c_contiguous


@kernel("_softmax")
def softmax(self: np.ndarray, dim: int, half_to_float: bool) -> np.ndarray:
    if _is_simple(self, dim):
        e = np.exp(np.subtract(self, np.maximum.reduce(self, axis=dim, keepdims=True)))
        return np.divide(e, np.add.reduce(e, axis=dim, keepdims=True))
    _check("softmax", self, dim, half_to_float)
    return _run(_softmax_body, dim, self)


@kernel("_log_softmax")
def log_softmax(self: np.ndarray, dim: int, half_to_float: bool) -> np.ndarray:
    if _is_simple(self, dim):
        shifted = np.subtract(self, np.maximum.reduce(self, axis=dim, keepdims=True))
        return np.subtract(shifted, np.log(np.add.reduce(np.exp(shifted), axis=dim, keepdims=True)))
    _check("log_softmax", self, dim, half_to_float)
    return _run(_log_softmax_body, dim, self)


@kernel("_softmax_backward_data")
def softmax_backward(grad_output: np.ndarray, output: np.ndarray, dim: int, input_dtype: Any) -> np.ndarray:
    if _is_simple(output, dim):
        inner = np.add.reduce(np.multiply(grad_output, output), axis=dim, keepdims=True)
        return np.multiply(output, np.subtract(grad_output, inner))
    return _run(_softmax_backward_body, dim, output, grad_output)


@kernel("_log_softmax_backward_data")
def log_softmax_backward(grad_output: np.ndarray, output: np.ndarray, dim: int, input_dtype: Any) -> np.ndarray:
    if _is_simple(output, dim):
        return np.subtract(
            grad_output, np.multiply(np.exp(output), np.add.reduce(grad_output, axis=dim, keepdims=True))
        )
    return _run(_log_softmax_backward_body, dim, output, grad_output)

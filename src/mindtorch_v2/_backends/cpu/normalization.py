"""Kernels of the normalizations. Sums are matrix products, temporaries are reused, and large inputs are taken in
blocks of rows that stay in the cache between passes.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from ..._dispatch.registry import KERNELS, kernel
from ..._ops.normalization import check_normalized_shape
from .sums import sum_over
from .unsupported import not_implemented, type_word

Ints = Sequence[int]
Mask = Sequence[bool]
_BLOCK = 1 << 17  # elements
_ROW = 1024  # longer rows are summed in pieces
_ONES: dict[np.dtype[Any], np.ndarray] = {np.dtype(t): np.ones(_ROW, t) for t in (np.float32, np.float64)}


def wide(a: np.ndarray | None, dtype: np.dtype[Any]) -> Any:
    """A contiguous array of the type that is computed in."""
    return None if a is None else np.ascontiguousarray(a, dtype)


def computing_type(name: str, x: np.ndarray, *parameters: np.ndarray | None) -> np.dtype[Any]:
    """float32 for float16, else the input's; errors for types PyTorch refuses."""
    dtype = x.dtype
    if dtype.kind != "f":
        raise not_implemented(name, x)
    for p in parameters:
        if p is not None and p.dtype != dtype and not (dtype == np.float16 and p.dtype == np.float32):
            but = f" or {type_word(x)}, but got {type_word(p)}" if dtype == np.float16 else ""
            raise RuntimeError(f"mixed dtype (CPU): expect parameter to have scalar type of Float{but}")
    return dtype if dtype.char != "e" else np.dtype(np.float32)


def statistics_dtype(x: np.ndarray, *parameters: np.ndarray | None) -> np.dtype[Any]:
    """The type of statistics and of parameters' gradients: the parameters'."""
    for p in parameters:
        if p is not None:
            return p.dtype
    return x.dtype


def as_type(a: np.ndarray, dtype: np.dtype[Any]) -> np.ndarray:
    return a if a.dtype is dtype else a.astype(dtype)


def _row_sums(rows: np.ndarray) -> np.ndarray:
    """(m, n) -> (m,): a matrix product where that is exact enough."""
    n = rows.shape[1]
    return rows @ _ONES[rows.dtype][:n] if n <= _ROW else sum_over(rows, 1)


# --- rows: each is normalized on its own
def center(rows: np.ndarray, into: np.ndarray, eps: float) -> tuple[np.ndarray, np.ndarray]:
    """Writes rows minus their means; returns the means and the reciprocals of the standard deviations, as columns."""
    m, n = rows.shape
    mean = _row_sums(rows).reshape(m, 1)
    if n:  # the mean of nothing stays 0
        mean /= n
    np.subtract(rows, mean, out=into)
    rstd = np.vecdot(into, into).reshape(m, 1)
    rstd /= n
    rstd += eps
    np.sqrt(rstd, out=rstd)
    return mean, np.reciprocal(rstd, out=rstd)


def _normalize_rows(rows: np.ndarray, w: np.ndarray | None, b: np.ndarray | None, eps: float, out: np.ndarray) -> Any:
    """Writes the normalized rows; returns means and reciprocal deviations."""
    mean, rstd = center(rows, out, eps)
    out *= rstd
    if w is not None:
        out *= w
    if b is not None:
        out += b
    return mean, rstd


@kernel("native_layer_norm")
def native_layer_norm(
    input: np.ndarray, normalized_shape: Ints, weight: np.ndarray | None, bias: np.ndarray | None, eps: float
) -> tuple[np.ndarray, ...]:
    axis = check_normalized_shape(input.shape, normalized_shape, weight=weight, bias=bias)
    dtype = computing_type("LayerNormKernelImpl", input, weight, bias)
    length = prod(normalized_shape)
    count = prod(input.shape[:axis])
    rows = wide(input, dtype).reshape(count, length)
    w = None if weight is None else wide(weight, dtype).reshape(length)
    b = None if bias is None else wide(bias, dtype).reshape(length)
    out = np.empty(rows.shape, dtype)
    if rows.size <= _BLOCK:
        mean, rstd = _normalize_rows(rows, w, b, eps, out)
    else:
        step = max(1, _BLOCK // length)
        pairs = [_normalize_rows(rows[i : i + step], w, b, eps, out[i : i + step]) for i in range(0, count, step)]
        mean, rstd = (np.concatenate(parts) for parts in zip(*pairs))
    kept = statistics_dtype(input, weight, bias)
    shape = (*input.shape[:axis], *(1,) * len(normalized_shape))
    return (
        as_type(out, input.dtype).reshape(input.shape),
        as_type(mean, kept).reshape(shape),
        as_type(rstd, kept).reshape(shape),
    )


@kernel("native_layer_norm_backward")
def native_layer_norm_backward(
    grad_out: np.ndarray,
    input: np.ndarray,
    normalized_shape: Ints,
    mean: np.ndarray,
    rstd: np.ndarray,
    weight: np.ndarray | None,
    bias: np.ndarray | None,
    output_mask: Mask,
) -> tuple[Any, ...]:
    if not grad_out.flags.c_contiguous and input.flags.c_contiguous:  # of a transposed result, or of a sum
        whole = np.ascontiguousarray(grad_out)
        again = KERNELS["native_layer_norm_backward"]  # with the native form before it
        made: tuple[Any, ...] = again(whole, input, normalized_shape, mean, rstd, weight, bias, output_mask)
        return made
    dtype = computing_type("LayerNormBackwardKernelImpl", input)
    length = prod(normalized_shape)
    count = prod(input.shape[: input.ndim - len(normalized_shape)])
    g, x = wide(grad_out, dtype).reshape(count, length), wide(input, dtype).reshape(count, length)
    mean, rstd = wide(mean, dtype).reshape(count), wide(rstd, dtype).reshape(count)
    w = None if weight is None else wide(weight, dtype).reshape(length)
    to_input, to_weight, to_bias = output_mask
    gx = np.empty(x.shape, dtype) if to_input else None
    gw = np.zeros(length, dtype) if to_weight else None
    if to_input or to_weight:
        step = max(1, _BLOCK // max(length, 1))
        for i in range(0, count, step):
            part = slice(i, i + step)
            _layer_norm_block(g[part], x[part], mean[part], rstd[part], w, None if gx is None else gx[part], gw)
    gb = sum_over(g, 0) if to_bias else None
    kept = statistics_dtype(input, weight, bias)
    shape = tuple(normalized_shape)
    return (
        None if gx is None else as_type(gx, input.dtype).reshape(input.shape),
        None if gw is None else as_type(gw, kept).reshape(shape),
        None if gb is None else as_type(gb, kept).reshape(shape),
    )


def _layer_norm_block(
    g: np.ndarray,
    x: np.ndarray,
    mean: np.ndarray,
    rstd: np.ndarray,
    w: np.ndarray | None,
    gx: np.ndarray | None,
    gw: np.ndarray | None,
) -> None:
    """Writes the input's gradient of some rows into `gx` and adds to the weight's in `gw`."""
    n = x.shape[1]
    centred = x - mean[:, None]
    products = g * centred
    if gw is not None:
        gw += rstd @ products
    if gx is None:
        return
    along = _row_sums(products) if w is None else products @ w
    along *= rstd
    along *= rstd
    along /= n
    shift = _row_sums(g) if w is None else g @ w
    shift /= n
    weighted = g if w is None else np.multiply(g, w, out=products)
    np.subtract(weighted, shift[:, None], out=gx)
    centred *= along[:, None]
    gx -= centred
    gx *= rstd[:, None]


from . import normalization_channels as normalization_channels  # noqa: E402 - it uses what stands above

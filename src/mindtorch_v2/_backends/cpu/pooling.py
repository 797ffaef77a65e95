"""Kernels of the poolings. The arithmetic is in `pool_arrays`."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from ..._dispatch.registry import kernel
from ..._ops.pooling_shapes import adaptive_output, pool_windows
from . import fractional_pooling  # noqa: F401  - registers fractional_max_pool2d and 3d
from .memory_format import laid_out_like
from .pool_arrays import (
    adaptive_avg_pool,
    adaptive_avg_pool_backward,
    adaptive_max_pool,
    avg_pool,
    avg_pool_backward,
    max_pool,
    scatter_positions,
)
from .unsupported import not_implemented, type_word

Ints = Sequence[int]


def _wide(x: np.ndarray) -> np.ndarray:
    """A contiguous array, float16 as float32: results are row-major whatever the input is, and sums are made in
    single precision.
    """
    return np.ascontiguousarray(x, np.float32 if x.dtype.char == "e" else None)


def _narrow(made: np.ndarray, like: np.ndarray) -> np.ndarray:
    return made if made.dtype == like.dtype else made.astype(like.dtype)


def _declare_max(rank: int) -> None:
    name = f"max_pool{rank}d"

    def forward(
        self: np.ndarray, kernel_size: Ints, stride: Ints, padding: Ints, dilation: Ints, ceil_mode: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        windows = pool_windows(name, rank, self.shape, kernel_size, stride, padding, dilation, ceil_mode)
        if self.dtype.kind in "bc":
            raise not_implemented(name, self)
        values, positions = max_pool(np.ascontiguousarray(self), windows)
        return laid_out_like(values, self), laid_out_like(positions, self)

    def backward(
        grad_output: np.ndarray,
        self: np.ndarray,
        kernel_size: Ints,
        stride: Ints,
        padding: Ints,
        dilation: Ints,
        ceil_mode: bool,
        indices: np.ndarray,
    ) -> np.ndarray:
        windows = pool_windows(name, rank, self.shape, kernel_size, stride, padding, dilation, ceil_mode)
        overlapping = any(s < d * (k - 1) + 1 for s, d, k in zip(windows.stride, windows.dilation, windows.kernel))
        grad, positions = np.ascontiguousarray(grad_output), np.ascontiguousarray(indices)
        return laid_out_like(scatter_positions(grad, positions, self.shape, rank, overlapping), self)

    kernel(f"{name}_with_indices")(forward)
    kernel(f"{name}_with_indices_backward")(backward)


def _declare_avg(rank: int) -> None:
    name = f"avg_pool{rank}d"

    def forward(
        self: np.ndarray,
        kernel_size: Ints,
        stride: Ints,
        padding: Ints,
        ceil_mode: bool,
        count_include_pad: bool,
        divisor_override: int | None,
    ) -> np.ndarray:
        if divisor_override == 0:
            raise RuntimeError("divisor must be not zero")
        windows = pool_windows(name, rank, self.shape, kernel_size, stride, padding, (1,), ceil_mode)
        if self.dtype.kind not in "f" and self.dtype != np.int64:
            raise not_implemented(name if rank == 2 else "avg_pool3d_out_frame", self)
        made = _narrow(avg_pool(_wide(self), windows, count_include_pad, divisor_override), self)
        return laid_out_like(made, self) if rank == 2 else made

    def backward(
        grad_output: np.ndarray,
        self: np.ndarray,
        kernel_size: Ints,
        stride: Ints,
        padding: Ints,
        ceil_mode: bool,
        count_include_pad: bool,
        divisor_override: int | None,
    ) -> np.ndarray:
        windows = pool_windows(name, rank, self.shape, kernel_size, stride, padding, (1,), ceil_mode)
        made = _narrow(
            avg_pool_backward(_wide(grad_output), self.shape[-rank:], windows, count_include_pad, divisor_override),
            self,
        )
        return laid_out_like(made, self) if rank == 2 else made

    kernel(name)(forward)
    kernel(f"{name}_backward")(backward)


def _declare_adaptive(rank: int) -> None:
    mean, maximum = f"adaptive_avg_pool{rank}d", f"adaptive_max_pool{rank}d"

    def mean_forward(self: np.ndarray, output_size: Ints) -> np.ndarray:
        adaptive_output(mean, rank, self.shape, output_size)
        if self.dtype.kind not in "f":
            raise not_implemented(mean, self)
        made = _narrow(adaptive_avg_pool(_wide(self), output_size), self)
        return laid_out_like(made, self) if rank == 2 else made

    def mean_backward(grad_output: np.ndarray, self: np.ndarray) -> np.ndarray:
        made = _narrow(adaptive_avg_pool_backward(_wide(grad_output), self.shape[-rank:]), self)
        return laid_out_like(made, self) if rank == 2 else made

    def max_forward(self: np.ndarray, output_size: Ints) -> tuple[np.ndarray, np.ndarray]:
        adaptive_output(maximum, rank, self.shape, output_size)
        if self.dtype.kind not in "f":
            raise not_implemented(maximum, self)
        values, positions = adaptive_max_pool(np.ascontiguousarray(self), output_size)
        return (laid_out_like(values, self), laid_out_like(positions, self)) if rank == 2 else (values, positions)

    def max_backward(grad_output: np.ndarray, self: np.ndarray, indices: np.ndarray) -> np.ndarray:
        grad, positions = np.ascontiguousarray(grad_output), np.ascontiguousarray(indices)
        made = scatter_positions(grad, positions, self.shape, rank, overlapping=True)
        return laid_out_like(made, self) if rank == 2 else made

    kernel(f"_{mean}")(mean_forward)
    kernel(f"_{mean}_backward")(mean_backward)
    kernel(maximum)(max_forward)
    kernel(f"{maximum}_backward")(max_backward)


for _rank in (2, 3):
    _declare_max(_rank)
    _declare_avg(_rank)
    _declare_adaptive(_rank)


def _unpool(self: np.ndarray, indices: np.ndarray, output_size: Ints, rank: int) -> np.ndarray:
    if indices.dtype != np.int64:
        raise RuntimeError(f"elements in indices should be type int64 but got: {type_word(indices)}")
    if self.ndim not in (rank + 1, rank + 2):
        raise RuntimeError(
            f"Input to max_unpooling{rank}d should be a {rank + 1}d or {rank + 2}d Tensor, but got a tensor with "
            f"{self.ndim} dimensions."
        )
    if indices.shape != self.shape:
        raise RuntimeError(
            f"Expected shape of indices to be same as that of the input tensor ({list(self.shape)}) but got indices "
            f"tensor with shape: {list(indices.shape)}"
        )
    bad = indices[(indices < 0) | (indices >= prod(output_size))]
    if bad.size:
        sizes = "x".join(map(str, output_size))
        raise RuntimeError(f"Found an invalid max index: {bad[0]} (output volumes are of size {sizes})")
    made = scatter_positions(
        np.ascontiguousarray(self),
        np.ascontiguousarray(indices),
        (*self.shape[:-rank], *output_size),
        rank,
        overlapping=False,
    )
    return laid_out_like(made, self) if rank == 2 else made


@kernel("max_unpool2d")
def max_unpool2d(self: np.ndarray, indices: np.ndarray, output_size: Ints) -> np.ndarray:
    return _unpool(self, indices, output_size, 2)


@kernel("max_unpool3d")
def max_unpool3d(self: np.ndarray, indices: np.ndarray, output_size: Ints, stride: Any, padding: Any) -> np.ndarray:
    return _unpool(self, indices, output_size, 3)

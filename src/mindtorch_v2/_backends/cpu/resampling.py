"""Kernels that put images onto another grid."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from ..._dispatch.registry import kernel
from ..._ops.resampling import UPSAMPLINGS
from ..._ops.resampling_shapes import (
    block_counts,
    edge_padded_shape,
    folded_shape,
    pad_pairs,
    resized_shape,
    shuffled_shape,
    unfolded_shape,
    unshuffled_shape,
)
from . import grid_sampling  # noqa: F401  - registers its kernels
from .axis_maps import apply_map, apply_transpose, padding_taps, resize_bytes, resizing_taps
from .conv_arrays import crop_space, inside, pad_space, tap_slices, window_view
from .memory_format import laid_out_like
from .unsupported import not_implemented

Ints = Sequence[int]


# --- padding by what is at the edge
def _declare_edge_padding(kind: str, rank: int) -> None:
    name = f"{kind}{rank}d"

    def forward(self: np.ndarray, padding: Ints) -> np.ndarray:
        edge_padded_shape(kind, rank, self.shape, padding)
        if self.dtype.kind == "b":
            raise not_implemented(name, self)
        out = np.ascontiguousarray(self)
        for axis, (before, after) in zip(range(-rank, 0), pad_pairs(padding, rank)):
            if before or after:
                out = apply_map(out, axis, padding_taps(kind, self.shape[axis], before, after))
        return (
            laid_out_like(out.copy() if out is self else out, self) if rank > 1 else out.copy() if out is self else out
        )

    def backward(grad_output: np.ndarray, self: np.ndarray, padding: Ints) -> np.ndarray:
        g = np.ascontiguousarray(grad_output)
        for axis, (before, after) in zip(range(-rank, 0), pad_pairs(padding, rank)):
            if before or after:
                g = apply_transpose(g, axis, padding_taps(kind, self.shape[axis], before, after), self.shape[axis])
        return g.copy() if g is grad_output else g

    kernel(name)(forward)
    kernel(f"{name}_backward")(backward)


for _kind in ("reflection_pad", "replication_pad"):
    for _rank in (1, 2, 3):
        _declare_edge_padding(_kind, _rank)


# --- resizing
def _method(name: str) -> str:
    method = next(word for word in ("exact", "nearest", "cubic", "linear", "lanczos") if word in name)
    return f"{method}_aa" if name.endswith("_aa") else method


def _options(method: str, rest: tuple[Any, ...]) -> tuple[bool, tuple[Any, ...]]:
    """align_corners (False for methods without) and the scales."""
    return (False, rest) if method in ("nearest", "exact") else (bool(rest[0]), rest[1:])


def _declare_resizing(name: str, rank: int) -> None:
    method = _method(name)

    def forward(self: np.ndarray, output_size: Ints, *rest: Any) -> np.ndarray:
        resized_shape(rank, self.shape, output_size)
        if self.dtype.kind != "f" and self.dtype != np.uint8:
            raise not_implemented(f"{name}_channels_last" if rank == 2 else name, self)
        corners, scales = _options(method, rest)
        if rank == 2 and self.dtype == np.uint8 and method not in ("nearest", "exact"):
            taps = [
                resizing_taps(method, self.shape[axis], output_size[axis], corners, scales[axis], True)
                for axis in (-2, -1)
            ]
            return laid_out_like(resize_bytes(np.ascontiguousarray(self), *taps), self)
        x = _computable(self, method)
        for axis in range(-1, -rank - 1, -1):  # the last first: gathering along it is slow, and grows with the others
            x = apply_map(
                x,
                axis,
                resizing_taps(
                    method, self.shape[axis], output_size[axis], corners, scales[axis], self.dtype == np.float64
                ),
            )
        return laid_out_like(_like(x, self.dtype), self)

    def backward(grad_output: np.ndarray, output_size: Ints, input_size: Ints, *rest: Any) -> np.ndarray:
        corners, scales = _options(method, rest)
        g = _computable(grad_output, "linear")
        for axis in range(-rank, 0):
            g = apply_transpose(
                g,
                axis,
                resizing_taps(
                    method, input_size[axis], output_size[axis], corners, scales[axis], grad_output.dtype == np.float64
                ),
                input_size[axis],
            )
        return _like(g, grad_output.dtype)

    kernel(name)(forward)
    kernel(f"{name}_backward")(backward)


def _computable(x: np.ndarray, method: str) -> np.ndarray:
    """A contiguous array of a type that weights can multiply; float16 is summed in float32."""
    narrow = x.dtype in (np.float16, np.uint8) and method not in ("nearest", "exact")
    return np.ascontiguousarray(x, np.float32 if narrow else None)


def _like(x: np.ndarray, dtype: np.dtype[Any]) -> np.ndarray:
    if x.dtype == dtype:
        return x
    return np.clip(np.rint(x), 0, 255).astype(dtype) if dtype == np.uint8 else x.astype(dtype)


for _name, _rank in UPSAMPLINGS.items():
    _declare_resizing(_name, _rank)


# --- sliding blocks
def _run_as_batch(run: Callable[..., np.ndarray], x: np.ndarray, rank: int, *form: Any) -> np.ndarray:
    return run(x, *form) if x.ndim == rank else run(x[None], *form)[0]


@kernel("im2col")
def im2col(self: np.ndarray, kernel_size: Ints, dilation: Ints, padding: Ints, stride: Ints) -> np.ndarray:
    shape = unfolded_shape(self.shape, kernel_size, dilation, padding, stride)
    if self.dtype.kind in "iu":
        raise not_implemented("im2col_out_cpu", self)

    def run(x: np.ndarray) -> np.ndarray:
        blocks = block_counts(x.shape[2:], kernel_size, dilation, padding, stride)
        return window_view(pad_space(x, padding), kernel_size, blocks, stride, dilation, False).copy()

    return _run_as_batch(run, self, 4).reshape(shape)


@kernel("col2im")
def col2im(
    self: np.ndarray, output_size: Ints, kernel_size: Ints, dilation: Ints, padding: Ints, stride: Ints
) -> np.ndarray:
    shape = folded_shape(self.shape, output_size, kernel_size, dilation, padding, stride)
    if self.dtype.kind in "iub":
        raise not_implemented("col2im_out_cpu", self)
    blocks = block_counts(output_size, kernel_size, dilation, padding, stride)

    def run(x: np.ndarray) -> np.ndarray:
        n, channels = x.shape[0], shape[-3]
        columns = x.reshape(n, channels, prod(kernel_size), *blocks)
        total = np.zeros((n, channels, *(s + 2 * p for s, p in zip(output_size, padding))), x.dtype)
        for i, (_, window) in enumerate(tap_slices(kernel_size, blocks, stride, dilation)):
            total[inside(window)] += columns[:, :, i]
        return crop_space(total, padding)

    return _run_as_batch(run, self, 3)


# --- shuffling
@kernel("pixel_shuffle")
def pixel_shuffle(self: np.ndarray, upscale_factor: int) -> np.ndarray:
    shape = shuffled_shape(self.shape, upscale_factor)
    f = upscale_factor
    lead = prod(self.shape[:-3])
    h, w = self.shape[-2:]
    apart = self.reshape(lead, shape[-3], f, f, h, w).transpose(0, 1, 4, 2, 5, 3)
    return laid_out_like(apart.copy().reshape(shape), self)


@kernel("pixel_unshuffle")
def pixel_unshuffle(self: np.ndarray, downscale_factor: int) -> np.ndarray:
    shape = unshuffled_shape(self.shape, downscale_factor)
    f = downscale_factor
    lead = prod(self.shape[:-3])
    apart = self.reshape(lead, self.shape[-3], shape[-2], f, shape[-1], f).transpose(0, 1, 3, 5, 2, 4)
    return laid_out_like(apart.copy().reshape(shape), self)


@kernel("native_channel_shuffle")
def native_channel_shuffle(self: np.ndarray, groups: int) -> np.ndarray:
    n, c, *space = self.shape
    return laid_out_like(self.reshape(n, groups, c // groups, *space).swapaxes(1, 2).copy().reshape(self.shape), self)

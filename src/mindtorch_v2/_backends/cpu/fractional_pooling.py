"""Kernels of fractional max pooling: windows of one size whose distances vary, drawn by one random number per plane and
dimension."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..._dispatch.registry import kernel
from ..._ops.pooling_shapes import fractional_output
from .pool_arrays import scatter_positions
from .unsupported import not_implemented

Ints = Sequence[int]


def _starts(samples: np.ndarray, size: int, kernel_size: int, out: int) -> np.ndarray:
    """Where the windows begin: (planes, out) integers. The sample in [0, 1) shifts the steps of (size - kernel) / (out
    - 1), which are rounded down; the last window ends with the input."""
    step = samples.dtype.type((size - kernel_size) / (out - 1)) if out > 1 else samples.dtype.type(0)
    shifted = ((np.arange(out, dtype=samples.dtype) + samples[:, None]) * step).astype(np.int64)
    starts = shifted - (samples * step).astype(np.int64)[:, None]
    starts[:, -1:] = size - kernel_size
    return starts


def _first_maximum(windows: np.ndarray) -> np.ndarray:
    """The position of the maximum in the last dimension; a NaN counts as larger than everything, the last one wins."""
    best = np.argmax(windows, axis=-1)
    nan = np.isnan(windows)
    if nan.any():
        last = windows.shape[-1] - 1 - np.argmax(nan[..., ::-1], axis=-1)
        best = np.where(nan.any(axis=-1), last, best)
    return best


def _declare(rank: int) -> None:
    name = f"fractional_max_pool{rank}d"

    def forward(
        self: np.ndarray, kernel_size: Ints, output_size: Ints, random_samples: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        shape = fractional_output(name, rank, self.shape, kernel_size, output_size)
        if self.dtype.kind != "f":
            raise not_implemented(name, self)
        sizes, window, out = (
            self.shape[-rank:],
            list(kernel_size) * (1 if len(kernel_size) == rank else rank),
            shape[-rank:],
        )
        planes = int(np.prod(self.shape[:-rank]))
        if not planes:
            return np.empty(shape, self.dtype), np.empty(shape, np.int64)
        samples = random_samples[: self.shape[0] if self.ndim == rank + 2 else 1].reshape(planes, rank)
        if rank == 2:
            samples = samples[:, ::-1]  # the first number of a pair belongs to the width
        if samples.dtype.char == "e":
            samples = samples.astype(np.float32)
        flat = np.zeros((planes, *[1] * (2 * rank)), np.int64)  # positions in a plane: (planes, *out, *window)
        for axis in range(rank):
            positions = _starts(samples[:, axis], sizes[axis], window[axis], out[axis])[:, :, None] + np.arange(
                window[axis]
            )
            form = [1] * (2 * rank)
            form[axis], form[rank + axis] = out[axis], window[axis]
            flat = flat * sizes[axis] + positions.reshape(planes, *form)
        flat = flat.reshape(planes, int(np.prod(out)), int(np.prod(window)))
        values = np.take_along_axis(self.reshape(planes, 1, -1), flat, axis=-1)
        best = _first_maximum(values)[..., None]
        return (np.take_along_axis(values, best, -1).reshape(shape), np.take_along_axis(flat, best, -1).reshape(shape))

    def backward(
        grad_output: np.ndarray, self: np.ndarray, kernel_size: Ints, output_size: Ints, indices: np.ndarray
    ) -> np.ndarray:
        return scatter_positions(
            np.ascontiguousarray(grad_output), np.ascontiguousarray(indices), self.shape, rank, overlapping=True
        )

    kernel(name)(forward)
    kernel(f"{name}_backward")(backward)


for _rank in (2, 3):
    _declare(_rank)

"""Fourier transforms of arrays, by numpy's pocketfft."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._dispatch.registry import kernel
from ..._ops.fft import transform_order

# PyTorch's normalization: 0 none, 1 by the root of the count of points, 2 by their number; in numpy's words for each
# direction.
_FORWARD: Any = ("backward", "ortho", "forward")
_INVERSE: Any = ("forward", "ortho", "backward")


def _transform(self: np.ndarray, dim: Sequence[int], transform: Any, dtype: Any) -> np.ndarray:
    """`transform(array, axes)` over `dim`, whose result lies in memory in the order that `transform_order` gives."""
    order = transform_order(self.shape, self.strides, dim)
    done = transform(self.transpose(order), range(self.ndim - len(dim), self.ndim))
    return np.ascontiguousarray(done, dtype).transpose(np.argsort(order))


@kernel("_fft_r2c")
def fft_r2c(self: np.ndarray, dim: Sequence[int], normalization: int, onesided: bool) -> np.ndarray:
    dtype, norm = np.result_type(self.dtype, np.complex64), _FORWARD[normalization]
    if onesided:
        return _transform(self, dim, lambda a, axes: np.fft.rfftn(a, axes=axes, norm=norm), dtype)
    return _transform(self, dim, lambda a, axes: np.fft.fftn(a, axes=axes, norm=norm), dtype)


@kernel("_fft_c2r")
def fft_c2r(self: np.ndarray, dim: Sequence[int], normalization: int, last_dim_size: int) -> np.ndarray:
    sizes = [*(self.shape[d] for d in dim[:-1]), last_dim_size]
    norm = _INVERSE[normalization]
    return _transform(self, dim, lambda a, axes: np.fft.irfftn(a, sizes, axes, norm), self.real.dtype)


@kernel("_fft_c2c")
def fft_c2c(self: np.ndarray, dim: Sequence[int], normalization: int, forward: bool) -> np.ndarray:
    if not dim:
        return self.copy()
    if forward:
        return _transform(
            self, dim, lambda a, axes: np.fft.fftn(a, axes=axes, norm=_FORWARD[normalization]), self.dtype
        )
    return _transform(self, dim, lambda a, axes: np.fft.ifftn(a, axes=axes, norm=_INVERSE[normalization]), self.dtype)

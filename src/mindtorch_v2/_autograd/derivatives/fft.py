"""Derivatives of Fourier transforms: the adjoint of a transform is the transform in the other direction, with the
same factor.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..._dispatch import aten
from ..rules import derivative


def _r2c_grad(g: Any, self_shape: Sequence[int], dim: Sequence[int], normalization: int, onesided: bool) -> Any:
    """A one-sided spectrum has no entries for the negative frequencies, whose gradients are therefore zero."""
    if onesided:
        last = dim[-1] % len(self_shape)
        missing = self_shape[last] - g.shape[last]
        g = aten.constant_pad_nd(g, [0, 0] * (len(self_shape) - 1 - last) + [0, missing])
    return aten.real(aten._fft_c2c(g, dim, normalization, False))


def _c2r_grad(g: Any, self_shape: Sequence[int], dim: Sequence[int], normalization: int, last_dim_size: int) -> Any:
    """Every entry but those that are their own mirror image stands for two of the whole spectrum."""
    last = dim[-1] % len(self_shape)
    spectrum = aten._fft_r2c(g, dim, normalization, True)
    twice = last_dim_size - spectrum.shape[last]
    if twice <= 0:
        return spectrum
    parts = aten.split_with_sizes(spectrum, [1, twice, spectrum.shape[last] - 1 - twice], last)
    return aten.cat([parts[0], parts[1] * 2, parts[2]], last)


derivative("_fft_r2c", node="FftR2CBackward0", self=_r2c_grad)
derivative("_fft_c2r", node="FftC2RBackward0", self=_c2r_grad)
derivative(
    "_fft_c2c",
    node="FftC2CBackward0",
    self=lambda g, dim, normalization, forward: aten._fft_c2c(g, dim, normalization, not forward),
)

"""Results that lie in memory as PyTorch's do: with channels innermost where the input's are."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._ops.movement_shapes import format_strides, is_channels_last


def channels_last(a: np.ndarray) -> bool:
    """Whether the array's channels are innermost."""
    return is_channels_last(a.shape, a.strides)


def in_channels_last(a: np.ndarray) -> np.ndarray:
    """The same elements with channels innermost."""
    out: Any = np.ndarray(a.shape, a.dtype, strides=[s * a.itemsize for s in format_strides(a.shape)]) if a.size else a
    if out is not a:
        out[...] = a
    return out


def laid_out_like(made: np.ndarray, *sources: np.ndarray) -> np.ndarray:
    """A fresh result in the order of the arrays that it was made from."""
    return in_channels_last(made) if any(channels_last(a) for a in sources) else made

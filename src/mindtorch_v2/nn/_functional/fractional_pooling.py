"""Maxima over windows that are drawn at random."""

from __future__ import annotations

from typing import Any

from ..._dispatch import aten
from ..._dispatch.namespace import public
from ..._tensor import Tensor
from .pooling import _tuple


def _fractional(
    n: int, input: Tensor, kernel_size: Any, output_size: Any, output_ratio: Any, samples: Tensor | None
) -> Any:
    """Maxima and their positions, for windows of which the distances are drawn."""
    name = f"fractional_max_pool{n}d"
    if output_size is None and output_ratio is None:
        raise ValueError(f"{name} requires specifying either an output_size or an output_ratio")
    if output_size is None:
        ratios = _tuple(output_ratio, n)
        if len(ratios) > n:
            raise ValueError(f"{name} requires output_ratio to either be a single Int or tuple of Ints.")
        output_size = [int(size * ratio) for size, ratio in zip(input.shape[-n:], ratios)]
    if samples is None:
        batch = 1 if input.dim() == n + 1 else input.size(0)
        samples = public.rand((batch, input.size(-n - 1), n), dtype=input.dtype, device=input.device)
    elif samples.dtype is not input.dtype:
        raise RuntimeError("Expect _random_samples to have the same dtype as input")
    elif samples.dim() != 3 or samples.size(2) != n:
        raise RuntimeError(f"Expect _random_samples.size(2) equals to {n}; got {samples.size(-1)}.")
    elif samples.size(1) != input.size(-n - 1):
        raise RuntimeError("Expect _random_samples.size(1) equals to input channel size.")
    return getattr(aten, name)(input, _tuple(kernel_size, n), _tuple(output_size, n), samples)


def fractional_max_pool2d_with_indices(
    input: Tensor,
    kernel_size: Any,
    output_size: Any = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Any:
    """fractional_max_pool2d that always returns the indices.

    >>> values, indices = F.fractional_max_pool2d_with_indices(torch.ones(1, 1, 6, 6), 2, output_size=3)
    >>> indices.shape
    torch.Size([1, 1, 3, 3])
    """
    return _fractional(2, input, kernel_size, output_size, output_ratio, _random_samples)


def fractional_max_pool3d_with_indices(
    input: Tensor,
    kernel_size: Any,
    output_size: Any = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Any:
    """fractional_max_pool3d that always returns the indices.

    >>> values, indices = F.fractional_max_pool3d_with_indices(torch.ones(1, 1, 6, 6, 6), 2, output_size=3)
    >>> indices.shape
    torch.Size([1, 1, 3, 3, 3])
    """
    return _fractional(3, input, kernel_size, output_size, output_ratio, _random_samples)


def fractional_max_pool2d(
    input: Tensor,
    kernel_size: Any,
    output_size: Any = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Any:
    """The maximum of windows of (N, C, H, W) or (C, H, W) at random distances, so that the output has `output_size`, or
    `output_ratio` of the input's size. `_random_samples`, (N, C, 2) numbers in [0, 1), are drawn if they are not
    given.

    >>> F.fractional_max_pool2d(torch.ones(1, 1, 6, 6), 2, output_size=3).shape
    torch.Size([1, 1, 3, 3])
    """
    made = _fractional(2, input, kernel_size, output_size, output_ratio, _random_samples)
    return made if return_indices else made[0]


def fractional_max_pool3d(
    input: Tensor,
    kernel_size: Any,
    output_size: Any = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Any:
    """The maximum of windows of (N, C, D, H, W) or (C, D, H, W) at random distances, so that the output has
    `output_size`, or `output_ratio` of the input's size. `_random_samples`, (N, C, 3) numbers in [0, 1), are drawn if
    they are not given.

    >>> F.fractional_max_pool3d(torch.ones(1, 1, 6, 6, 6), 2, output_size=3).shape
    torch.Size([1, 1, 3, 3, 3])
    """
    made = _fractional(3, input, kernel_size, output_size, output_ratio, _random_samples)
    return made if return_indices else made[0]

"""`make_tensor`: tensors of random values for tests."""

from __future__ import annotations

import math
from typing import Any

from .. import _dtype as dt
from .._dispatch import aten
from .._tensor import contiguous_format


def _bounds(dtype: Any, low: float | None, high: float | None) -> tuple[Any, Any]:
    """The half-open range of values: the defaults are [-9, 9), and [0, 10) for unsigned integers; clamped to what
    the type holds.
    """
    if dtype.is_floating_point or dtype.is_complex:
        first, last = (-9, 9)
        part = (
            dt.float32 if str(dtype) == "torch.complex64" else dt.float64 if str(dtype) == "torch.complex128" else dtype
        )
        least, most = dt.finfo(part).min, dt.finfo(part).max
    elif str(dtype) == "torch.bool":
        first, last, least, most = 0, 2, 0, 2
    else:
        info = dt.iinfo(dtype)
        first, last = (0, 10) if info.min == 0 else (-9, 10)
        least, most = info.min, info.max
    low, high = first if low is None else low, last if high is None else high
    if any(isinstance(value, float) and math.isnan(value) for value in (low, high)):
        raise ValueError(f"`low` and `high` cannot be NaN, but got {low=} and {high=}")
    if low >= high:
        raise ValueError(f"`low` must be less than `high`, but got {low} >= {high}")
    low, high = max(low, least), min(high, most)
    if dtype.is_floating_point or dtype.is_complex:
        return low, high
    return math.ceil(low), math.ceil(high)


def make_tensor(
    *shape: Any,
    dtype: dt.dtype,
    device: Any,
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    memory_format: Any = None,
) -> Any:
    """A tensor of values drawn evenly from [low, high).

    `noncontiguous` leaves a gap after every element, `exclude_zero` puts the smallest step in place of zeros.

    >>> drawn = torch.testing.make_tensor((2, 3), dtype=torch.float32, device="cpu", low=0, high=1)
    >>> drawn.shape, bool(((drawn >= 0) & (drawn < 1)).all())
    (torch.Size([2, 3]), True)
    """
    if len(shape) == 1 and not isinstance(shape[0], int):
        shape = tuple(shape[0])
    if noncontiguous and memory_format is not None:
        raise ValueError(
            f"The parameters `noncontiguous` and `memory_format` are mutually exclusive, but got {noncontiguous=} and "
            f"{memory_format=}"
        )
    if requires_grad and not (dtype.is_floating_point or dtype.is_complex):
        raise ValueError(f"`requires_grad=True` is not supported for boolean and integral dtypes, but got {dtype=}")
    least, bound = _bounds(dtype, low, high)
    size = (*shape[:-1], 2 * shape[-1]) if noncontiguous and shape and math.prod(shape) > 1 else shape
    made = _draw(size, dtype, device, least, bound)
    if size is not shape:
        made = made[..., ::2]
    elif memory_format is not None and memory_format is not contiguous_format:
        made = aten.clone(made, memory_format=memory_format)
    if exclude_zero:
        smallest = 1 if not dtype.inexact else dt.finfo(made.dtype if dtype.is_floating_point else made.real.dtype).tiny
        made[made == 0] = smallest
    return made.requires_grad_(True) if requires_grad else made


def _draw(size: tuple[int, ...], dtype: Any, device: Any, least: Any, bound: Any) -> Any:
    if dtype.is_complex:
        parts = aten.view_as_real(aten.empty(size, dtype=dtype, device=device))
        return aten.view_as_complex(parts.uniform_(least, bound))
    if dtype.is_floating_point:
        return aten.empty(size, dtype=dtype, device=device).uniform_(least, bound)
    return aten.randint(least, bound, size, dtype=dtype, device=device)

"""Sizes and types of the ops that make tensors out of numbers, shared by their output rules and kernels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .. import _dtype as dt


def as_number(value: Any) -> Any:
    """A Python number from a number or a 0-dim tensor."""
    return value if value.__class__ in (int, float, bool) or not hasattr(value, "item") else value.item()


def counted_sizes(size: Sequence[int]) -> tuple[int, ...]:
    """The shape; RuntimeError if a size is negative."""
    shape = tuple(size)
    for n in shape:
        if n < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {n}: {list(shape)}")
    return shape


def explain_sizes(name: str, size: Sequence[Any]) -> None:
    """TypeError, worded as PyTorch does, if a size is not an integer."""
    for n in size:
        if isinstance(n, (float, str, complex)) or n is None:
            raise TypeError(
                f"{name}(): argument 'size' (position 1) must be tuple of ints, not {type(n).__name__}"
            ) from None


def arange_type(*bounds: Any) -> dt.dtype:
    """int64 if all bounds are integers, else the default floating type."""
    return dt.int64 if all(isinstance(b, int) for b in bounds) else dt.get_default_dtype()


def _check_range(start: Any, end: Any, step: Any) -> None:
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if not (math.isfinite(start) and math.isfinite(end)):
        raise RuntimeError(f"unsupported range: {start} -> {end}")
    if (step > 0 and end < start) or (step < 0 and end > start):
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")


def count_steps(start: Any, end: Any, step: Any, kind: dt.dtype) -> int:
    """How many values arange(start, end, step) has. int64 counts with truncated bounds, as its values do; every
    other type with the bounds as given.
    """
    _check_range(start, end, step)
    if kind is dt.int64:
        start, end, step = int(start), int(end), int(step)
        if step == 0:
            raise ValueError("step must be nonzero")
    if isinstance(start, int) and isinstance(end, int) and isinstance(step, int):
        return max(0, -((start - end) // step))
    return math.ceil((end - start) / step)


def range_length(start: Any, end: Any, step: Any) -> int:
    """How many values range(start, end, step) has; its end is included."""
    _check_range(start, end, step)
    return int((end - start) / step) + 1


def range_bounds(start: Any, end: Any, step: Any, kind: dt.dtype) -> tuple[Any, Any, Any]:
    """The bounds and the step of a range as numbers of its type: integers cut off what follows the point."""
    numbers = as_number(start), as_number(end), as_number(step)
    if kind.category != 1 or not all(math.isfinite(n) for n in numbers):
        return numbers
    return int(numbers[0]), int(numbers[1]), int(numbers[2])


def refuse_sparse(name: str, layout: Any) -> None:
    """NotImplementedError for a layout that is not `torch.strided`: a factory that ignored it would give another
    kind of tensor.
    """
    if layout is not None and layout.name != "strided":
        raise NotImplementedError(
            f"{name}(layout={layout!r}): factories make strided tensors only; make a sparse one of indices and "
            "values (torch.sparse_coo_tensor, torch.sparse_csr_tensor) or with to_sparse()"
        )

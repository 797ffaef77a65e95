"""Numpy kernels of the ops that make tensors out of sizes and numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import _dtype as dt
from ..._dispatch.checks import type_word
from ..._dispatch.registry import kernel
from ..._ops.creation_sizes import (
    arange_type,
    as_number,
    count_steps,
    counted_sizes,
    explain_sizes,
    range_bounds,
    range_length,
    refuse_sparse,
)
from ..._ops.movement_shapes import ordered_strides, storage_extent
from ..._shape import contiguous_strides
from .whole_numbers import as_element

Array = np.ndarray


@kernel("empty.memory_format")
def empty(
    size: Sequence[int], dtype: dt.dtype | None, layout: Any, device: Any, pin_memory: Any, memory_format: Any
) -> Array:
    if layout is not None:
        refuse_sparse("empty", layout)
    kind = (dtype or dt.get_default_dtype()).np
    if memory_format is not None and memory_format.name != "contiguous_format":
        return _empty_in_format(counted_sizes(size), kind, memory_format)
    try:
        return np.empty(size, kind)
    except (ValueError, TypeError):
        explain_sizes("empty", size)
        counted_sizes(size)
        raise


def _empty_in_format(shape: tuple[int, ...], kind: np.dtype[Any], memory_format: Any) -> Array:
    strides = ordered_strides(memory_format, shape)
    if strides is None:
        raise RuntimeError("unsupported memory format Preserve")
    return np.ndarray(shape, kind, strides=[s * kind.itemsize for s in strides])


@kernel("empty_strided")
def empty_strided(
    size: Sequence[int], stride: Sequence[int], dtype: dt.dtype | None, layout: Any, device: Any, pin_memory: Any
) -> Array:
    if len(size) != len(stride):
        raise RuntimeError(
            f"dimensionality of sizes ({len(size)}) must match dimensionality of strides ({len(stride)})"
        )
    shape, kind = counted_sizes(size), (dtype or dt.get_default_dtype()).np
    if tuple(stride) == contiguous_strides(shape):
        return np.empty(shape, kind)
    if any(s < 0 for s in stride):
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(size)} and strides={list(stride)}")
    memory = np.empty(storage_extent(shape, stride), kind)
    return np.ndarray(shape, kind, memory, 0, [s * kind.itemsize for s in stride])


# --- matrices
@kernel("eye.m")
def eye_rectangle(n: int, m: int, dtype: dt.dtype | None, *options: Any) -> Array:
    for word, value in (("n", n), ("m", m)):
        if value < 0:
            raise RuntimeError(f"{word} must be greater or equal to 0, got {value}")
    out = np.zeros((n, m), (dtype or dt.get_default_dtype()).np)
    out.reshape(-1)[: m * m : m + 1] = 1  # a matrix with more rows than columns has no diagonal below row m
    return out


@kernel("eye")
def eye(n: int, dtype: dt.dtype | None, *options: Any) -> Array:
    return eye_rectangle(n, n, dtype)


# --- sequences
@kernel("arange.start_step")
def arange(start: Any, end: Any, step: Any, dtype: dt.dtype | None, *options: Any) -> Array:
    if dtype is None and end.__class__ is int and start.__class__ is int and step == 1 and start <= end:
        return np.arange(start, end)
    start, end, step = as_number(start), as_number(end), as_number(step)
    kind = dtype or arange_type(start, end, step)
    if kind is dt.bool_ or kind.is_complex:
        raise NotImplementedError(f"\"arange_cpu\" not implemented for '{type_word(kind)}'")
    n = count_steps(start, end, step, kind)
    if kind.wide is not None:
        return (np.arange(n) * float(step) + float(start)).astype(kind.wide.np).astype(kind.np)
    if kind.category == 1:  # values wrap in narrow types
        return (np.arange(n) * int(step) + int(start)).astype(kind.np, copy=False)
    return (np.arange(n) * float(step) + float(start)).astype(kind.np, copy=False)


@kernel("arange.start")
def arange_start(start: Any, end: Any, dtype: dt.dtype | None, *options: Any) -> Array:
    return arange(start, end, 1, dtype)


@kernel("arange")
def arange_end(end: Any, dtype: dt.dtype | None, *options: Any) -> Array:
    return arange(0, end, 1, dtype)


@kernel("range.step")
def range_(start: Any, end: Any, step: Any, dtype: dt.dtype | None, *options: Any) -> Array:
    """Like arange with its end included."""
    kind = dtype or dt.get_default_dtype()
    start, end, step = range_bounds(start, end, step, kind)
    return (np.arange(range_length(start, end, step)) * step + start).astype(kind.np)


def _end_points(name: str, start: Any, end: Any, steps: int, kind: dt.dtype) -> tuple[Any, Any]:
    """The first and the last number in the type asked for: integers cut off what follows the point."""
    if not isinstance(steps, (int, np.integer)):
        raise TypeError(f"{name}(): argument 'steps' (position 3) must be int, not {type(steps).__name__}")
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    if kind is dt.bool_ and steps > 1:
        raise NotImplementedError(f"\"{name}_cpu\" not implemented for 'Bool'")
    start, end = as_number(start), as_number(end)
    if kind.category != 1 or steps < 2:
        return start, end
    bounds = np.iinfo(kind.np)
    for n in (start, end):
        if not bounds.min <= n <= bounds.max:
            raise RuntimeError(f"value cannot be converted to type {kind.np.name}_t without overflow")
    return int(start), int(end)


def _even_steps(start: Any, end: Any, steps: int, kind: dt.dtype) -> Array:
    """`steps` numbers from start to end, counted from the nearer end so that both are met exactly."""
    if steps == 1:
        return np.array([start])
    count = np.arange(steps)
    step = (end - start) / (steps - 1) if steps else 0.0
    if kind is dt.float32:
        start, end, step = np.float64(np.float32(start)), np.float64(np.float32(end)), np.float64(np.float32(step))
    return np.where(count < steps // 2, start + step * count, end - step * (steps - 1 - count))


@kernel("linspace")
def linspace(start: Any, end: Any, steps: int, dtype: dt.dtype | None, *options: Any) -> Array:
    default = dt.get_default_dtype()
    kind = dtype or (default.to_complex() if isinstance(start, complex) or isinstance(end, complex) else default)
    start, end = _end_points("linspace", start, end, steps, kind)
    return _even_steps(start, end, steps, kind).astype(kind.np)


@kernel("logspace")
def logspace(start: Any, end: Any, steps: int, base: float, dtype: dt.dtype | None, *options: Any) -> Array:
    kind = dtype or dt.get_default_dtype()
    start, end = _end_points("logspace", start, end, steps, kind)
    return np.power(float(base), _even_steps(start, end, steps, dt.float64)).astype(kind.np)


@kernel("scalar_tensor")
def scalar_tensor(s: Any, dtype: dt.dtype | None, *options: Any) -> Array:
    made = np.empty((), (dtype or dt.get_default_dtype()).np)
    made[()] = as_element(made, as_number(s))
    return made

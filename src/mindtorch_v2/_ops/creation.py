"""Declarations of the ops that make tensors out of sizes and numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import _dtype as dt
from .creation_sizes import arange_type, as_number, count_steps, counted_sizes, range_bounds, range_length
from .movement_shapes import ordered_strides
from .rules import Spec
from .table import op

NO_INPUT = "no tensor goes in"
_OPTIONS = "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"
_LIKE_OPTIONS = f"{_OPTIONS}, MemoryFormat? memory_format=None"


# --- output rules: arguments in schema order
def _empty_spec(
    size: Sequence[int], dtype: dt.dtype | None, layout: Any, device: Any, pin: Any, memory_format: Any
) -> Spec:
    shape = counted_sizes(size)
    return Spec(shape, dtype or dt.get_default_dtype(), ordered_strides(memory_format, shape))


def _empty_strided_spec(size: Sequence[int], stride: Sequence[int], dtype: dt.dtype | None, *rest: Any) -> Spec:
    return Spec(counted_sizes(size), dtype or dt.get_default_dtype(), tuple(stride))


def _square(n: int, dtype: dt.dtype | None, *rest: Any) -> Spec:
    return Spec((n, n), dtype or dt.get_default_dtype())


def _rectangle(n: int, m: int, dtype: dt.dtype | None, *rest: Any) -> Spec:
    return Spec((n, m), dtype or dt.get_default_dtype())


def _to_end(end: Any, dtype: dt.dtype | None, *rest: Any) -> Spec:
    return _start_step(0, end, 1, dtype)


def _start_end(start: Any, end: Any, dtype: dt.dtype | None, *rest: Any) -> Spec:
    return _start_step(start, end, 1, dtype)


def _start_step(start: Any, end: Any, step: Any, dtype: dt.dtype | None, *rest: Any) -> Spec:
    start, end, step = as_number(start), as_number(end), as_number(step)
    kind = dtype or arange_type(start, end, step)
    return Spec((count_steps(start, end, step, kind),), kind)


def _inclusive(start: Any, end: Any, step: Any, dtype: dt.dtype | None, *rest: Any) -> Spec:
    kind = dtype or dt.get_default_dtype()
    return Spec((range_length(*range_bounds(start, end, step, kind)),), kind)


def _evenly(start: Any, end: Any, steps: int, dtype: dt.dtype | None, *rest: Any) -> Spec:
    kind = dt.get_default_dtype()
    return Spec(
        (steps,), dtype or (kind.to_complex() if isinstance(start, complex) or isinstance(end, complex) else kind)
    )


def _log_evenly(start: Any, end: Any, steps: int, base: float, dtype: dt.dtype | None, *rest: Any) -> Spec:
    return Spec((steps,), dtype or dt.get_default_dtype())


def _scalar(s: Any, dtype: dt.dtype | None, *rest: Any) -> Spec:
    return Spec((), dtype or dt.get_default_dtype())


# --- from sizes
op(
    f"empty.memory_format(SymInt[] size, *, {_LIKE_OPTIONS}) -> Tensor",
    meta=_empty_spec,
    method=False,
    no_grad=NO_INPUT,
)
op(
    f"empty_strided(SymInt[] size, SymInt[] stride, *, {_OPTIONS}) -> Tensor",
    meta=_empty_strided_spec,
    method=False,
    no_grad=NO_INPUT,
)
op(f"zeros(SymInt[] size, *, {_OPTIONS}) -> Tensor", method=False)
op(f"ones(SymInt[] size, *, {_OPTIONS}) -> Tensor", method=False)
op(f"full(SymInt[] size, Scalar fill_value, *, {_OPTIONS}) -> Tensor", method=False)
op(f"eye(SymInt n, *, {_OPTIONS}) -> Tensor", meta=_square, method=False, no_grad=NO_INPUT)
op(f"eye.m(SymInt n, SymInt m, *, {_OPTIONS}) -> Tensor", meta=_rectangle, method=False, no_grad=NO_INPUT)

# --- from the sizes of a tensor
op(f"empty_like(Tensor self, *, {_LIKE_OPTIONS}) -> Tensor", method=False)
op(f"zeros_like(Tensor self, *, {_LIKE_OPTIONS}) -> Tensor", method=False)
op(f"ones_like(Tensor self, *, {_LIKE_OPTIONS}) -> Tensor", method=False)
op(f"full_like(Tensor self, Scalar fill_value, *, {_LIKE_OPTIONS}) -> Tensor", method=False)
op(f"new_empty(Tensor self, SymInt[] size, *, {_OPTIONS}) -> Tensor", function=False)
op(f"new_empty_strided(Tensor self, SymInt[] size, SymInt[] stride, *, {_OPTIONS}) -> Tensor", function=False)
op(f"new_zeros(Tensor self, SymInt[] size, *, {_OPTIONS}) -> Tensor", function=False)
op(f"new_ones(Tensor self, SymInt[] size, *, {_OPTIONS}) -> Tensor", function=False)
op(f"new_full(Tensor self, SymInt[] size, Scalar fill_value, *, {_OPTIONS}) -> Tensor", function=False)

# --- from numbers
op(f"arange(Scalar end, *, {_OPTIONS}) -> Tensor", meta=_to_end, method=False, no_grad=NO_INPUT)
op(f"arange.start(Scalar start, Scalar end, *, {_OPTIONS}) -> Tensor", meta=_start_end, method=False, no_grad=NO_INPUT)
op(
    f"arange.start_step(Scalar start, Scalar end, Scalar step=1, *, {_OPTIONS}) -> Tensor",
    meta=_start_step,
    method=False,
    no_grad=NO_INPUT,
)
op(
    f"range.step(Scalar start, Scalar end, Scalar step=1, *, {_OPTIONS}) -> Tensor",
    meta=_inclusive,
    method=False,
    no_grad=NO_INPUT,
)
op(
    f"linspace(Scalar start, Scalar end, int steps, *, {_OPTIONS}) -> Tensor",
    meta=_evenly,
    method=False,
    no_grad=NO_INPUT,
)
op(
    f"logspace(Scalar start, Scalar end, int steps, float base=10., *, {_OPTIONS}) -> Tensor",
    meta=_log_evenly,
    method=False,
    no_grad=NO_INPUT,
)
op(f"scalar_tensor(Scalar s, *, {_OPTIONS}) -> Tensor", meta=_scalar, method=False, no_grad=NO_INPUT)

"""Declarations of the poolings: maximum and mean over windows, with windows of fixed or of adapted size."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from .. import _dtype as dt
from .movement_shapes import format_of
from .pooling_shapes import adaptive_output, fractional_output, pool_windows
from .rules import MetaRule, Spec
from .table import op

Ints = Sequence[int]


def _spec_in_order_of(shape: Ints, dtype: dt.dtype, self: Any, rank: int) -> Spec:
    """Images keep their memory format; of volumes only the maximum does."""
    return Spec(tuple(shape), dtype, format_of(tuple(shape), self) if rank == 2 else None)


def _like_input(grad_output: Any, self: Any, *rest: Any) -> Spec:
    return Spec(tuple(self.shape), self.dtype, format_of(tuple(self.shape), self))


# --- output rules
def _max_pooled(rank: int) -> MetaRule:
    def rule(
        self: Any, kernel_size: Ints, stride: Ints, padding: Ints, dilation: Ints, ceil_mode: bool
    ) -> tuple[Spec, Spec]:
        windows = pool_windows(f"max_pool{rank}d", rank, self.shape, kernel_size, stride, padding, dilation, ceil_mode)
        shape = (*self.shape[:-rank], *windows.out)
        return Spec(shape, self.dtype, format_of(shape, self)), Spec(shape, dt.int64, format_of(shape, self))

    return rule


def _average_rule(rank: int) -> MetaRule:
    def rule(self: Any, kernel_size: Ints, stride: Ints, padding: Ints, ceil_mode: bool, *rest: Any) -> Spec:
        windows = pool_windows(f"avg_pool{rank}d", rank, self.shape, kernel_size, stride, padding, (1,), ceil_mode)
        return _spec_in_order_of((*self.shape[:-rank], *windows.out), self.dtype, self, rank)

    return rule


def _adaptive_rule(name: str, rank: int) -> MetaRule:
    def rule(self: Any, output_size: Ints) -> Any:
        spec = _spec_in_order_of(adaptive_output(name, rank, self.shape, output_size), self.dtype, self, rank)
        return (spec, Spec(spec.shape, dt.int64, spec.strides)) if "max" in name else spec

    return rule


def _fractional_rule(rank: int) -> MetaRule:
    def rule(self: Any, kernel_size: Ints, output_size: Ints, random_samples: Any) -> tuple[Spec, Spec]:
        shape = fractional_output(f"fractional_max_pool{rank}d", rank, self.shape, kernel_size, output_size)
        return Spec(shape, self.dtype), Spec(shape, dt.int64)

    return rule


def _unpool_rule(rank: int) -> MetaRule:
    def rule(self: Any, indices: Any, output_size: Ints, *rest: Any) -> Spec:
        return _spec_in_order_of((*self.shape[:-rank], *output_size), self.dtype, self, rank)

    return rule


_backward = partial(op, function=False, method=False, meta=_like_input)
_nn = partial(op, method=False, namespace="nn")

# --- maximum
for _n in (1, 2, 3):
    _zero, _one = ([0], [1]) if _n == 1 else (0, 1)
    _form = (
        f"(Tensor self, int[{_n}] kernel_size, int[{_n}] stride=[], int[{_n}] padding={_zero}, int[{_n}] "
        f"dilation={_one}, bool ceil_mode=False)"
    )
    op(f"max_pool{_n}d{_form} -> Tensor", method=False)
    if _n == 1:
        op(f"max_pool1d_with_indices{_form} -> (Tensor, Tensor)", method=False)
        continue
    _nn(f"max_pool{_n}d_with_indices{_form} -> (Tensor, Tensor)", meta=_max_pooled(_n))
    _backward(
        f"max_pool{_n}d_with_indices_backward(Tensor grad_output, Tensor self, int[{_n}] kernel_size, int[{_n}] "
        f"stride, int[{_n}] padding, int[{_n}] dilation, bool ceil_mode, Tensor indices) -> Tensor"
    )
_nn("max_unpool2d(Tensor self, Tensor indices, SymInt[2] output_size) -> Tensor", meta=_unpool_rule(2))
_nn(
    "max_unpool3d(Tensor self, Tensor indices, SymInt[3] output_size, int[3] stride, int[3] padding) -> Tensor",
    meta=_unpool_rule(3),
)

# --- maximum of windows at random distances
for _n in (2, 3):
    _nn(
        f"fractional_max_pool{_n}d(Tensor self, int[{_n}] kernel_size, int[{_n}] output_size, Tensor random_samples) "
        f"-> (Tensor, Tensor)",
        meta=_fractional_rule(_n),
    )
    _backward(
        f"fractional_max_pool{_n}d_backward(Tensor grad_output, Tensor self, int[{_n}] kernel_size, int[{_n}] "
        "output_size, Tensor indices) -> Tensor"
    )

# --- mean
op(
    "avg_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=[0], bool ceil_mode=False, "
    "bool count_include_pad=True) -> Tensor",
    method=False,
)
for _n in (2, 3):
    _nn(
        f"avg_pool{_n}d(Tensor self, int[{_n}] kernel_size, int[{_n}] stride=[], int[{_n}] padding=0, bool "
        "ceil_mode=False, bool count_include_pad=True, int? divisor_override=None) -> Tensor",
        meta=_average_rule(_n),
        out=True,
    )
    _backward(
        f"avg_pool{_n}d_backward(Tensor grad_output, Tensor self, int[{_n}] kernel_size, int[{_n}] stride, int[{_n}] "
        "padding, bool ceil_mode, bool count_include_pad, int? divisor_override) -> Tensor"
    )

# --- windows adapted to the size of the output
op("adaptive_avg_pool1d(Tensor self, int[1] output_size) -> Tensor", method=False)
op("adaptive_max_pool1d(Tensor self, int[1] output_size) -> (Tensor, Tensor)", method=False)
for _n in (2, 3):
    _nn(f"adaptive_avg_pool{_n}d(Tensor self, SymInt[{_n}] output_size) -> Tensor", out=True)
    op(
        f"_adaptive_avg_pool{_n}d(Tensor self, SymInt[{_n}] output_size) -> Tensor",
        method=False,
        meta=_adaptive_rule(f"adaptive_avg_pool{_n}d", _n),
    )
    _backward(f"_adaptive_avg_pool{_n}d_backward(Tensor grad_output, Tensor self) -> Tensor")
    _nn(
        f"adaptive_max_pool{_n}d(Tensor self, int[{_n}] output_size) -> (Tensor, Tensor)",
        meta=_adaptive_rule(f"adaptive_max_pool{_n}d", _n),
    )
    _backward(f"adaptive_max_pool{_n}d_backward(Tensor grad_output, Tensor self, Tensor indices) -> Tensor")

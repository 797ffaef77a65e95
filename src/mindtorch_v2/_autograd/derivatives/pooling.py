"""Derivatives of the poolings.

Those of the mean are linear maps and their transposes; those of the maximum move elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from ..._dispatch import aten
from ..rules import derivative

Ints = Sequence[int]


def _pick_positions(g: Any, indices: Any, rank: int) -> Any:
    """The elements of `g` at flat positions in their planes: what a maximum that came from there receives."""
    shape = tuple(indices.shape)
    planes = shape[:-rank]
    whole = g if g.is_contiguous() else aten.contiguous(g)
    positions = indices if indices.is_contiguous() else aten.contiguous(indices)
    sizes = prod(g.shape[-rank:]), prod(shape[-rank:])
    flat = aten.gather(aten.view(whole, (*planes, sizes[0])), -1, aten.view(positions, (*planes, sizes[1])))
    return aten.view(flat, shape)


def _declare_max(rank: int) -> None:
    name = f"max_pool{rank}d_with_indices"
    backward = f"{name}_backward"

    def to_input(
        g: Sequence[Any],
        self: Any,
        kernel_size: Ints,
        stride: Ints,
        padding: Ints,
        dilation: Ints,
        ceil_mode: bool,
        result1: Any,
    ) -> Any:
        return getattr(aten, backward)(g[0], self, kernel_size, stride, padding, dilation, ceil_mode, result1)

    derivative(name, node=f"MaxPool{rank}DWithIndicesBackward0", self=to_input)
    derivative(
        backward,
        node=f"MaxPool{rank}DWithIndicesBackwardBackward0",
        grad_output=lambda g, indices: _pick_positions(g, indices, rank),
        self=lambda g, self: aten.zeros_like(self),
    )


def _declare_avg(rank: int) -> None:
    name = f"avg_pool{rank}d"
    forward, backward = name, f"{name}_backward"

    def to_input(
        g: Any,
        self: Any,
        kernel_size: Ints,
        stride: Ints,
        padding: Ints,
        ceil_mode: bool,
        count_include_pad: bool,
        divisor_override: int | None,
    ) -> Any:
        return getattr(aten, backward)(
            g, self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
        )

    def to_gradient(
        g: Any,
        kernel_size: Ints,
        stride: Ints,
        padding: Ints,
        ceil_mode: bool,
        count_include_pad: bool,
        divisor_override: int | None,
    ) -> Any:
        return getattr(aten, forward)(g, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)

    derivative(forward, node=f"AvgPool{rank}DBackward0", self=to_input)
    derivative(
        backward,
        node=f"AvgPool{rank}DBackwardBackward0",
        grad_output=to_gradient,
        self=lambda g, self: aten.zeros_like(self),
    )


def _declare_adaptive(rank: int) -> None:
    mean, maximum = f"_adaptive_avg_pool{rank}d", f"adaptive_max_pool{rank}d"
    derivative(
        mean, node=f"AdaptiveAvgPool{rank}DBackward0", self=lambda g, self: getattr(aten, f"{mean}_backward")(g, self)
    )
    derivative(
        f"{mean}_backward",
        node=f"AdaptiveAvgPool{rank}DBackwardBackward0",
        grad_output=lambda g, grad_output_shape: getattr(aten, mean)(g, grad_output_shape[-rank:]),
        self=lambda g, self: aten.zeros_like(self),
    )
    derivative(
        maximum,
        node=f"AdaptiveMaxPool{rank}DBackward0",
        self=lambda g, self, result1: getattr(aten, f"{maximum}_backward")(g[0], self, result1),
    )
    derivative(
        f"{maximum}_backward",
        node=f"AdaptiveMaxPool{rank}DBackwardBackward0",
        grad_output=lambda g, indices: _pick_positions(g, indices, rank),
        self=lambda g, self: aten.zeros_like(self),
    )
    derivative(
        f"max_unpool{rank}d",
        node=f"MaxUnpool{rank}DBackward0",
        self=lambda g, indices: _pick_positions(g, indices, rank),
    )


def _declare_fractional(rank: int) -> None:
    name = f"fractional_max_pool{rank}d"
    backward = f"{name}_backward"

    def to_input(g: Sequence[Any], self: Any, kernel_size: Ints, output_size: Ints, result1: Any) -> Any:
        return getattr(aten, backward)(g[0], self, kernel_size, output_size, result1)

    derivative(name, node=f"FractionalMaxPool{rank}DBackward0", self=to_input)
    derivative(
        backward,
        node=f"FractionalMaxPool{rank}DBackwardBackward0",
        grad_output=lambda g, indices: _pick_positions(g, indices, rank),
        self=lambda g, self: aten.zeros_like(self),
    )


for _rank in (2, 3):
    _declare_fractional(_rank)
    _declare_max(_rank)
    _declare_avg(_rank)
    _declare_adaptive(_rank)

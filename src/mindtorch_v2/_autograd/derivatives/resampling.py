"""Derivatives of the ops that put images onto another grid. Most are linear: each other's transposes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from ..._dispatch import aten
from ..._ops.resampling import UPSAMPLINGS
from ..rules import derivative
from .grid_sampling import second_derivatives

Ints = Sequence[int]


# --- padding
derivative("constant_pad_nd", self=lambda g, pad: aten.constant_pad_nd(g, [-n for n in pad], 0))


def _declare_edge_padding(kind: str, rank: int) -> None:
    name = f"{kind}{rank}d"
    node = "".join(w.capitalize() for w in kind.split("_")) + f"{rank}DBackward"
    derivative(name, node=f"{node}0", self=lambda g, self, padding: getattr(aten, f"{name}_backward")(g, self, padding))
    derivative(
        f"{name}_backward",
        node=f"{node}Backward0",
        grad_output=lambda g, padding: getattr(aten, name)(g, padding),
        self=lambda g, self: aten.zeros_like(self),
    )


for _kind in ("reflection_pad", "replication_pad"):
    for _rank in (1, 2, 3):
        _declare_edge_padding(_kind, _rank)


# --- resizing
def _row(function: Callable[..., Any], *names: str) -> Callable[..., Any]:
    """A row that takes these saved values: the functions of all upsamplings are alike but for the names of their
    scales.
    """

    def row(g: Any, *saved: Any) -> Any:
        return function(g, *saved)

    kinds = [inspect.Parameter(n, inspect.Parameter.POSITIONAL_OR_KEYWORD) for n in ("g", *names)]
    row.__signature__ = inspect.Signature(kinds)  # type: ignore[attr-defined]
    return row


def _declare_resizing(name: str, rank: int) -> None:
    options = [] if "nearest" in name else ["align_corners"]
    options += {1: ["scales"], 2: ["scales_h", "scales_w"], 3: ["scales_d", "scales_h", "scales_w"]}[rank]
    node = "".join(w.capitalize() for w in name.lstrip("_").split("_")).replace(f"{rank}d", f"{rank}D") + "Backward"

    def to_input(g: Any, shape: Ints, output_size: Ints, *rest: Any) -> Any:
        return getattr(aten, f"{name}_backward")(g, output_size, shape, *rest)

    def to_gradient(g: Any, output_size: Ints, *rest: Any) -> Any:
        return aten.overload(name)(g, output_size, *rest)

    derivative(name, node=f"{node}0", self=_row(to_input, "self_shape", "output_size", *options))
    derivative(f"{name}_backward", node=f"{node}Backward0", grad_output=_row(to_gradient, "output_size", *options))


for _name, _rank in UPSAMPLINGS.items():
    _declare_resizing(_name, _rank)


# --- unrolling and shuffling
def _fold(g: Any, self_shape: Ints, kernel_size: Ints, dilation: Ints, padding: Ints, stride: Ints) -> Any:
    return aten.col2im(g, self_shape[-2:], kernel_size, dilation, padding, stride)


def _unfold(g: Any, kernel_size: Ints, dilation: Ints, padding: Ints, stride: Ints) -> Any:
    return aten.im2col(g, kernel_size, dilation, padding, stride)


derivative("im2col", node="Im2ColBackward0", self=_fold)
derivative("col2im", node="Col2ImBackward0", self=_unfold)
derivative("pixel_shuffle", self=lambda g, upscale_factor: aten.pixel_unshuffle(g, upscale_factor))
derivative("pixel_unshuffle", self=lambda g, downscale_factor: aten.pixel_shuffle(g, downscale_factor))
derivative("channel_shuffle", self=lambda g, self_shape, groups: aten.channel_shuffle(g, self_shape[1] // groups))
derivative(
    "native_channel_shuffle", self=lambda g, self_shape, groups: aten.native_channel_shuffle(g, self_shape[1] // groups)
)


# --- sampling
def _sampling_gradients(
    g: Any,
    needs: Sequence[bool],
    input: Any,
    grid: Any,
    interpolation_mode: int,
    padding_mode: int,
    align_corners: bool,
) -> Sequence[Any]:
    backward = aten.grid_sampler_2d_backward if input.dim() == 4 else aten.grid_sampler_3d_backward
    return backward(g, input, grid, interpolation_mode, padding_mode, align_corners, needs)


for _n in (2, 3):
    derivative(
        f"grid_sampler_{_n}d", node=f"GridSampler{_n}DBackward0", inputs=("input", "grid"), joint=_sampling_gradients
    )
    derivative(
        f"grid_sampler_{_n}d_backward",
        node=f"GridSampler{_n}DBackwardBackward0",
        inputs=("grad_output", "input", "grid"),
        joint=second_derivatives,
    )
derivative(
    "affine_grid_generator",
    theta=lambda g, size, align_corners: aten.affine_grid_generator_backward(g, size, align_corners),
)

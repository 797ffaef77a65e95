"""Declarations of the ops that put an image onto another grid: padding, resizing, unrolling, shuffling, sampling."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from .movement_shapes import format_of
from .resampling_shapes import (
    edge_padded_shape,
    folded_shape,
    resized_shape,
    shuffled_shape,
    unfolded_shape,
    unshuffled_shape,
)
from .rules import MetaRule, Spec, like
from .table import op

Ints = Sequence[int]


# --- output rules
def _edge_padded(name: str, rank: int) -> MetaRule:
    def rule(self: Any, padding: Ints) -> Spec:
        shape = edge_padded_shape(name, rank, self.shape, padding)
        return Spec(shape, self.dtype, format_of(shape, self) if rank > 1 else None)

    return rule


def _resize_rule(rank: int) -> MetaRule:
    def rule(self: Any, output_size: Ints, *rest: Any) -> Spec:
        shape = resized_shape(rank, self.shape, output_size)
        return Spec(shape, self.dtype, format_of(shape, self))

    return rule


def _spec_in_order_of(shape: tuple[int, ...], self: Any) -> Spec:
    return Spec(shape, self.dtype, format_of(shape, self))


def _of_input_size(grad_output: Any, output_size: Ints, input_size: Ints, *rest: Any) -> Spec:
    return Spec(tuple(input_size), grad_output.dtype)


def _unfold_spec(self: Any, *form: Ints) -> Spec:
    return Spec(unfolded_shape(self.shape, *form), self.dtype)


def _fold_spec(self: Any, *form: Ints) -> Spec:
    return Spec(folded_shape(self.shape, *form), self.dtype)


def _grid_sample_spec(input: Any, grid: Any, *rest: Any) -> Spec:
    return Spec((*input.shape[:2], *grid.shape[1:-1]), input.dtype)


def _sampled_backward(
    grad_output: Any,
    input: Any,
    grid: Any,
    interpolation_mode: int,
    padding_mode: int,
    align_corners: bool,
    output_mask: Sequence[bool],
) -> tuple[Any, ...]:
    specs = (Spec(tuple(input.shape), input.dtype), Spec(tuple(grid.shape), grid.dtype))
    return tuple(s if wanted else None for s, wanted in zip(specs, output_mask))


_internal = partial(op, function=False, method=False)  # what `pad`, `interpolate`, `unfold` and gradients are made of

# --- padding
op('pad(Tensor self, SymInt[] pad, str mode="constant", float? value=None) -> Tensor', method=False, namespace="nn")
_internal("_pad_circular(Tensor self, SymInt[] pad) -> Tensor")
op("constant_pad_nd(Tensor self, SymInt[] pad, Scalar value=0) -> Tensor", method=False)
for _kind in ("reflection_pad", "replication_pad"):
    for _n in (1, 2, 3):
        _internal(f"{_kind}{_n}d(Tensor self, SymInt[{2 * _n}] padding) -> Tensor", meta=_edge_padded(_kind, _n))
        _internal(
            f"{_kind}{_n}d_backward(Tensor grad_output, Tensor self, SymInt[{2 * _n}] padding) -> Tensor", meta=like(1)
        )

# --- resizing
_SCALES = {
    1: "float? scales=None",
    2: "float? scales_h=None, float? scales_w=None",
    3: "float? scales_d=None, float? scales_h=None, float? scales_w=None",
}
UPSAMPLINGS = {
    "upsample_nearest1d": 1,
    "upsample_nearest2d": 2,
    "upsample_nearest3d": 3,
    "_upsample_nearest_exact1d": 1,
    "_upsample_nearest_exact2d": 2,
    "_upsample_nearest_exact3d": 3,
    "upsample_linear1d": 1,
    "upsample_bilinear2d": 2,
    "upsample_trilinear3d": 3,
    "upsample_bicubic2d": 2,
    "_upsample_bilinear2d_aa": 2,
    "_upsample_bicubic2d_aa": 2,
    "_upsample_lanczos2d_aa": 2,
}
for _name, _n in UPSAMPLINGS.items():
    _corners = "" if "nearest" in _name else "bool align_corners, "
    _internal(
        f"{_name}(Tensor self, SymInt[{_n}] output_size, {_corners}{_SCALES[_n]}) -> Tensor", meta=_resize_rule(_n)
    )
    _internal(f"{_name}.vec(Tensor input, SymInt[]? output_size, {_corners}float[]? scale_factors) -> Tensor")
    _internal(
        f"{_name}_backward(Tensor grad_output, SymInt[{_n}] output_size, SymInt[{_n + 2}] input_size, "
        f"{_corners}{_SCALES[_n]}) -> Tensor",
        meta=_of_input_size,
    )

# --- unrolling and shuffling
_internal(
    "im2col(Tensor self, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) -> Tensor",
    meta=_unfold_spec,
)
_internal(
    "col2im(Tensor self, SymInt[2] output_size, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) "
    "-> Tensor",
    meta=_fold_spec,
)
op(
    "pixel_shuffle(Tensor self, int upscale_factor) -> Tensor",
    method=False,
    meta=lambda self, factor: _spec_in_order_of(shuffled_shape(self.shape, factor), self),
)
op(
    "pixel_unshuffle(Tensor self, int downscale_factor) -> Tensor",
    method=False,
    meta=lambda self, factor: _spec_in_order_of(unshuffled_shape(self.shape, factor), self),
)
op("channel_shuffle(Tensor self, SymInt groups) -> Tensor", method=False)
op(
    "native_channel_shuffle(Tensor self, SymInt groups) -> Tensor",
    method=False,
    meta=lambda self, groups: _spec_in_order_of(tuple(self.shape), self),
)

# --- sampling at given positions
_SAMPLE = "Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners"
op(f"grid_sampler({_SAMPLE}) -> Tensor", method=False)
for _n in (2, 3):
    op(f"grid_sampler_{_n}d({_SAMPLE}) -> Tensor", meta=_grid_sample_spec, method=False)
    _internal(
        f"grid_sampler_{_n}d_backward(Tensor grad_output, {_SAMPLE}, bool[2] output_mask) -> (Tensor, Tensor)",
        meta=_sampled_backward,
    )
op("affine_grid_generator(Tensor theta, SymInt[] size, bool align_corners) -> Tensor", method=False)
_internal("affine_grid_generator_backward(Tensor grad, SymInt[] size, bool align_corners) -> Tensor")

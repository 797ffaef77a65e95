"""Derivatives of the movement ops: what was moved is moved back, what was repeated is summed."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from ..._dispatch import aten
from ..._ops.movement_shapes import storage_extent
from ..._shape import normalize_dim
from ..rules import derivative
from .common import sum_to

Shape = Sequence[int]


# --- shapes
for _name in ("view", "_unsafe_view", "_reshape_alias"):
    derivative(_name, self=lambda g, self_shape: aten.reshape(g, self_shape))


def _unsqueeze(g: Any, self_shape: Shape, dims: Shape) -> Any:
    """`g` with the dimensions of size 1 among `dims` put back."""
    n = len(self_shape)
    for d in sorted({normalize_dim(d, n) for d in dims}) if n else ():
        if self_shape[d] == 1:
            g = aten.unsqueeze(g, d)
    return g


for _suffix, _first in (("", 0), ("_", 3)):
    derivative(
        f"squeeze{_suffix}",
        node=f"SqueezeBackward{_first}",
        self=lambda g, self_shape: _unsqueeze(g, self_shape, range(len(self_shape))),
    )
    derivative(
        f"squeeze{_suffix}.dim",
        node=f"SqueezeBackward{_first + 1}",
        self=lambda g, self_shape, dim: _unsqueeze(g, self_shape, (dim,)),
    )
    derivative(
        f"squeeze{_suffix}.dims",
        node=f"SqueezeBackward{_first + 2}",
        self=lambda g, self_shape, dim: _unsqueeze(g, self_shape, dim),
    )
derivative("unsqueeze", self=lambda g, dim: aten.squeeze(g, dim))
derivative("unsqueeze_", node="UnsqueezeBackward1", self=lambda g, dim: aten.squeeze(g, dim))

# --- orders of dimensions
derivative("transpose.int", self=lambda g, dim0, dim1: aten.transpose(g, dim0, dim1))
derivative("transpose_", node="TransposeBackward1", self=lambda g, dim0, dim1: aten.transpose(g, dim0, dim1))
derivative("t", self=lambda g: aten.t(g))
derivative("t_", node="TBackward1", self=lambda g: aten.t(g))


def _permuted_back(g: Any, dims: Shape) -> Any:
    back = [0] * len(dims)
    for position, d in enumerate(dims):
        back[d] = position
    return aten.permute(g, tuple(back))


derivative("permute", self=_permuted_back)
derivative("expand", self=lambda g, self_shape: sum_to(g, self_shape))

# --- parts
derivative("select.int", self=lambda g, self_shape, dim, index: aten.select_backward(g, self_shape, dim, index))
derivative(
    "slice.Tensor",
    self=lambda g, self_shape, dim, start, end, step: aten.slice_backward(
        g, self_shape, dim, 0 if start is None else start, sys.maxsize if end is None else end, step
    ),
)


def _narrow_copy_grad(g: Any, self_shape: Sequence[int], dim: int, start: int, length: int) -> Any:
    first = start + self_shape[dim] if start < 0 else start
    return aten.slice_backward(g, self_shape, dim, first, first + length, 1)


derivative("narrow_copy", self=_narrow_copy_grad)
for _name, _node in (("diagonal", "DiagonalBackward0"), ("diagonal_copy", "DiagonalBackward0_copy")):
    derivative(
        _name,
        node=_node,
        self=lambda g, self_shape, offset, dim1, dim2: aten.diagonal_backward(g, self_shape, offset, dim1, dim2),
    )
derivative(
    "unfold",
    self=lambda g, self_shape, dimension, size, step: aten.unfold_backward(g, self_shape, dimension, size, step),
)
derivative(
    "select_backward", node="SelectBackwardBackward0", grad_output=lambda g, dim, index: aten.select(g, dim, index)
)
derivative(
    "slice_backward",
    node="SliceBackwardBackward0",
    grad_output=lambda g, dim, start, end, step: aten.slice(g, dim, start, end, step),
)
derivative(
    "diagonal_backward",
    node="DiagonalBackwardBackward0",
    grad_output=lambda g, offset, dim1, dim2: aten.diagonal(g, offset, dim1, dim2),
)
derivative(
    "unfold_backward",
    node="UnfoldBackwardBackward0",
    grad_in=lambda g, dim, size, step: aten.unfold(g, dim, size, step),
)


def _without_part(g: Any, name: str, *where: Any) -> Any:
    """The gradient of what stayed when a part was replaced."""
    rest = aten.clone(g)
    aten.zero_(getattr(aten, name)(rest, *where))
    return rest


derivative(
    "select_scatter",
    self=lambda g, dim, index: _without_part(g, "select", dim, index),
    src=lambda g, dim, index: aten.select(g, dim, index),
)
derivative(
    "slice_scatter",
    self=lambda g, dim, start, end, step: _without_part(g, "slice", dim, start, end, step),
    src=lambda g, dim, start, end, step: aten.slice(g, dim, start, end, step),
)
derivative(
    "diagonal_scatter",
    self=lambda g, offset, dim1, dim2: _without_part(g, "diagonal", offset, dim1, dim2),
    src=lambda g, offset, dim1, dim2: aten.diagonal(g, offset, dim1, dim2),
)


def through_storage(
    g: Any, size: Shape, stride: Shape, start: int, own_shape: Shape, own_stride: Shape, own: int
) -> Any:
    """Adds every element's gradient to its position in a flat storage, then reads the storage as the input did."""
    length = max(start + storage_extent(size, stride), own + storage_extent(own_shape, own_stride))
    positions = aten.as_strided(aten.arange(length, device=g.device), size, stride, start)
    storage = aten.zeros((length,), dtype=g.dtype, device=g.device)
    storage = aten.index_add(storage, 0, aten.reshape(positions, (-1,)), aten.reshape(g, (-1,)))
    return aten.as_strided(storage, own_shape, own_stride, own)


def _as_strided_back(
    g: Any,
    self_shape: Shape,
    self_strides: Shape,
    self_offset: int,
    size: Shape,
    stride: Shape,
    storage_offset: int | None,
) -> Any:
    item = g.element_size()
    start = self_offset if storage_offset is None else storage_offset
    return through_storage(g, size, stride, start, self_shape, tuple(s // item for s in self_strides), self_offset)


def _as_strided_inplace_back(
    g: Any, self_shape: Shape, self_strides: Shape, size: Shape, stride: Shape, storage_offset: int | None
) -> Any:
    """For a tensor that owns its memory, so that it began where its storage does."""
    item = g.element_size()
    return through_storage(g, size, stride, storage_offset or 0, self_shape, tuple(s // item for s in self_strides), 0)


derivative("as_strided", self=_as_strided_back)
derivative("as_strided_", node="AsStridedBackward1", self=_as_strided_inplace_back)
for _name in ("alias", "lift_fresh", "clone"):
    derivative(_name, self=lambda g: g)
derivative("_to_copy", self=lambda g, self_dtype, self_device: aten.to(g, device=self_device, dtype=self_dtype))


# --- several pieces
def _zeros_for_unused(grads: Sequence[Any], shapes: Sequence[Shape]) -> list[Any]:
    """The gradients of several outputs, zeros for outputs that were not used."""
    like = next(x for x in grads if x is not None)
    return [
        aten.zeros(shape, dtype=like.dtype, device=like.device) if x is None else x for x, shape in zip(grads, shapes)
    ]


def _join_slices(grads: Sequence[Any], self_shape: Shape, sizes: Sequence[int], dim: int) -> Any:
    at = normalize_dim(dim, len(self_shape))
    shapes = [(*self_shape[:at], n, *self_shape[at + 1 :]) for n in sizes]
    return aten.cat(_zeros_for_unused(grads, shapes), at)


def _split_back(g: Sequence[Any], self_shape: Shape, split_size: int, dim: int) -> Any:
    size = self_shape[normalize_dim(dim, len(self_shape))]
    sizes = [min(split_size, size - start) for start in range(0, size, split_size)] if size else [0]
    return _join_slices(g, self_shape, sizes, dim)


def _unbind_back(g: Sequence[Any], self_shape: Shape, dim: int) -> Any:
    at = normalize_dim(dim, len(self_shape))
    shape = (*self_shape[:at], *self_shape[at + 1 :])
    return aten.stack(_zeros_for_unused(g, [shape] * len(g)), at)


derivative("split.Tensor", self=_split_back)
derivative("unsafe_split.Tensor", self=_split_back)
derivative(
    "split_with_sizes", self=lambda g, self_shape, split_sizes, dim: _join_slices(g, self_shape, split_sizes, dim)
)
derivative("unbind.int", self=_unbind_back)


# --- joins and repetitions
def _cat_back(g: Any, tensors_shape: Sequence[Shape], dim: int) -> list[Any]:
    at, start, parts = normalize_dim(dim, g.dim()), 0, []
    for shape in tensors_shape:
        if tuple(shape) == (0,):
            parts.append(aten.zeros((0,), dtype=g.dtype, device=g.device))
            continue
        parts.append(aten.narrow(g, at, start, shape[at]))
        start += shape[at]
    return parts


def _block_diag_back(g: Any, tensors_shape: Sequence[Shape]) -> list[Any]:
    row = column = 0
    parts = []
    for shape in tensors_shape:
        height, width = ((1, 1), (1, *shape))[len(shape)] if len(shape) < 2 else shape
        part = aten.slice(aten.slice(g, 0, row, row + height), 1, column, column + width)
        parts.append(aten.reshape(part, shape))
        row, column = row + height, column + width
    return parts


def _repeat_back(g: Any, self_shape: Shape, repeats: Shape) -> Any:
    lead = len(repeats) - len(self_shape)
    if 0 in repeats:
        return aten.zeros(self_shape, dtype=g.dtype, device=g.device)
    for _ in range(lead):  # a repeated new dimension is summed away
        g = aten.sum(g, [0])
    if all(r == 1 for r in repeats[lead:]):
        return g
    spread: list[int] = []
    dims: list[int] = []
    for n, r in zip(self_shape, repeats[lead:]):
        if r != 1:
            dims.append(len(spread))
            spread.append(r)
        spread.append(n)
    return aten.sum(aten.reshape(g, spread), dims)


derivative("cat", tensors=_cat_back)
derivative("stack", tensors=lambda g, dim: aten.unbind(g, dim))
derivative("block_diag", tensors=_block_diag_back)
derivative("repeat", self=_repeat_back)

# --- orders of elements
derivative("flip", self=lambda g, dims: aten.flip(g, dims))
derivative("roll", self=lambda g, shifts, dims: aten.roll(g, [-s for s in shifts], dims))
derivative("rot90", self=lambda g, k, dims: aten.rot90(g, -k, dims))
derivative("tril", self=lambda g, diagonal: aten.tril(g, diagonal))
derivative("triu", self=lambda g, diagonal: aten.triu(g, diagonal))
derivative("diag_embed", self=lambda g, offset, dim1, dim2: aten.diagonal(g, offset, dim1, dim2))

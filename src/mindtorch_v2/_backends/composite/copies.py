"""Copies of views: the view, then a fresh tensor with its values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..._dispatch import aten
from ..._dispatch.registry import composite
from ..._ops.copies import COPIES, LISTS
from ..._shape import normalize_dim
from ..._tensor import contiguous_format


def _copy(view: Any) -> Any:
    return aten.clone(view, memory_format=contiguous_format)


def _declare(name: str) -> None:
    base, dot, overload = name.partition(".")

    @composite(f"{base}_copy{dot}{overload}")
    def call(*args: Any) -> Any:
        if base == "expand":
            return _copy(aten.expand(*args[:2]))
        return _copy(aten.overload(name)(*args))


def _declare_list(name: str) -> None:
    base, dot, overload = name.partition(".")

    @composite(f"{base}_copy{dot}{overload}")
    def call(*args: Any) -> Any:
        return tuple([_copy(view) for view in aten.overload(name)(*args)])


for _name in COPIES:
    _declare(_name)
for _name in LISTS:
    _declare_list(_name)


@composite("as_strided_scatter")
def as_strided_scatter(
    self: Any, src: Any, size: Sequence[int], stride: Sequence[int], storage_offset: int | None
) -> Any:
    made = aten.clone(self)
    view = aten.as_strided(made, size, stride, storage_offset)
    if tuple(view.shape) != tuple(src.shape):
        raise RuntimeError(
            f"expected src to have a size equal to the slice of self. src size = {list(src.shape)}, slice size = "
            f"{list(view.shape)}"
        )
    aten.copy_(view, src)
    return made


@composite("unsafe_split_with_sizes")
def unsafe_split_with_sizes(self: Any, split_sizes: Sequence[int], dim: int) -> Any:
    return aten.split_with_sizes(self, split_sizes, dim)


def _check_chunks(tensors: Sequence[Any], dim: int, num_chunks: int) -> None:
    if num_chunks <= 0:
        raise RuntimeError("_chunk_cat expects positive num_chunks")
    if not tensors:
        raise RuntimeError("_chunk_cat expects a non-empty input tensor list")
    if not all(t.numel() for t in tensors):
        raise RuntimeError("_chunk_cat expects non-empty tensor")
    if dim < 0 and len({t.dim() for t in tensors}) > 1:
        raise RuntimeError("_chunk_cat expects non-negative dim when input tensors have different ndims")
    if any(dim >= t.dim() for t in tensors):
        raise RuntimeError("_chunk_cat expects dim < ndim for all input tensors")
    before = normalize_dim(dim, tensors[0].dim())
    if len({tuple(t.shape[:before]) for t in tensors}) > 1:
        raise RuntimeError("_chunk_cat expects same sizes of 0,...,dim-1 dimensions for all tensors")


@composite("_chunk_cat")
def chunk_cat(tensors: Sequence[Any], dim: int, num_chunks: int) -> Any:
    """Every tensor, padded and cut into chunks along `dim`, flattened; the chunks of one number side by side."""
    _check_chunks(tensors, dim, num_chunks)
    rows = []
    for t in tensors:
        d = normalize_dim(dim, t.dim())
        size = -(-t.shape[d] // num_chunks)
        short = size * num_chunks - t.shape[d]
        if short:
            t = aten.constant_pad_nd(t, [0, 0] * (t.dim() - 1 - d) + [0, short])
        lead = list(t.shape[:d])
        rows.append(aten.reshape(t, [*lead, num_chunks, -1]))
    return aten.cat(rows, rows[0].dim() - 1)


@composite("fill_diagonal_")
def fill_diagonal_(self: Any, fill_value: Any, wrap: bool) -> Any:
    """Writes a number onto the main diagonal; with `wrap` it starts again below a tall matrix's square."""
    if self.dim() < 2:
        raise RuntimeError("dimensions must larger than 1")
    if self.dim() > 2 and len(set(self.shape)) != 1:
        raise RuntimeError("all dimensions of input must be of equal length")
    step = sum(self.stride())
    count = min(self.shape)
    if wrap and self.dim() == 2 and self.shape[0] > self.shape[1]:
        count = -(-self.numel() // (self.shape[1] + 1))
        rows = aten.arange(count, device=self.device) * (self.shape[1] + 1)
        flat = rows if self.is_contiguous() else rows
        columns = self.shape[1]
        aten.index_put_(
            self,
            [aten.floor_divide(flat, columns), aten.remainder(flat, columns)],
            aten.full([], fill_value, dtype=self.dtype, device=self.device),
        )
        return self
    aten.fill_(aten.as_strided(self, [count], [step], None), fill_value)
    return self

"""Views that come in several pieces, parts of a dimension, and the gradients of such views."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import _observer
from ..._dispatch import aten
from ..._dispatch.registry import composite
from ..._shape import normalize_dim
from ..._storage import Storage


@composite("narrow")
def narrow(self: Any, dim: int, start: int, length: int) -> Any:
    shape = self._array.shape
    if not shape:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    size = shape[normalize_dim(dim, len(shape))]
    if not -size <= start <= size:
        raise IndexError(f"start out of range (expected to be in range of [{-size}, {size}], but got {start})")
    if start < 0:
        start += size
    if start + length > size:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({size}).")
    return aten.slice(self, dim, start, start + length, 1)


@composite("narrow.Tensor")
def narrow_tensor(self: Any, dim: int, start: Any, length: int) -> Any:
    if start._array.ndim or start.dtype.category != 1:
        raise RuntimeError("start must be an 0-dim integral Tensor.")
    return narrow(self, dim, aten.item(start), length)


# --- splits
def _pieces(self: Any, split_size: int, dim: int) -> tuple[Any, ...]:
    """Neighbouring pieces of `split_size` along `dim`; the last one may be smaller."""
    shape = self._array.shape
    if not shape:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    if split_size < 0:
        raise RuntimeError(f"split expects split_size be non-negative, but got split_size={split_size}")
    size = shape[normalize_dim(dim, len(shape))]
    if split_size == 0 and size:
        raise RuntimeError(f"split_size can only be 0 if dimension size is 0, but got dimension size of {size}")
    starts = range(0, size, split_size) if size else (0,)
    if _observer.active is None:  # nobody sees that narrow stands between
        return tuple([aten.slice(self, dim, start, start + split_size, 1) for start in starts])
    return tuple([aten.narrow(self, dim, start, min(split_size, size - start)) for start in starts])


@composite("split.Tensor")
def split(self: Any, split_size: int, dim: int) -> tuple[Any, ...]:
    return _pieces(self, split_size, dim)


@composite("unsafe_split.Tensor")
def unsafe_split(self: Any, split_size: int, dim: int) -> tuple[Any, ...]:
    """Pieces that autograd does not take for views: each may be written in place without the others being changed."""
    pieces = _pieces(self, split_size, dim)
    for piece in pieces:
        piece._storage, piece._base = Storage(), None
    return pieces


@composite("split.sizes")
def split_sizes(self: Any, split_size: Sequence[int], dim: int) -> tuple[Any, ...]:
    return aten.split_with_sizes(self, split_size, dim)


def _chunk_size(self: Any, chunks: int, dim: int) -> tuple[int, int]:
    shape = self._array.shape
    if not shape:
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    size = shape[normalize_dim(dim, len(shape))]
    return size, (size + chunks - 1) // chunks


@composite("chunk")
def chunk(self: Any, chunks: int, dim: int) -> tuple[Any, ...]:
    size, piece = _chunk_size(self, chunks, dim)
    if size == 0:
        return aten.split_with_sizes(self, (0,) * chunks, dim)
    return aten.overload("split.Tensor")(self, piece, dim)


@composite("unsafe_chunk")
def unsafe_chunk(self: Any, chunks: int, dim: int) -> tuple[Any, ...]:
    return aten.unsafe_split(self, _chunk_size(self, chunks, dim)[1], dim)


def _dim_to_split(self: Any, dim: int) -> int:
    n = self._array.ndim
    if not n:
        raise RuntimeError(f"tensor_split expected at least a 1-dimensional tensor, but got a tensor with {n} dims")
    return normalize_dim(dim, n)


@composite("tensor_split.sections")
def tensor_split_sections(self: Any, sections: int, dim: int) -> tuple[Any, ...]:
    at = _dim_to_split(self, dim)
    if sections <= 0:
        raise RuntimeError(f"number of sections must be larger than 0, got {sections}")
    least, longer = divmod(self._array.shape[at], sections)
    start, parts = 0, []
    for i in range(sections):
        end = start + least + (i < longer)
        parts.append(aten.slice(self, at, start, end, 1))
        start = end
    return tuple(parts)


@composite("tensor_split.indices")
def tensor_split_indices(self: Any, indices: Sequence[int], dim: int) -> tuple[Any, ...]:
    at = _dim_to_split(self, dim)
    bounds = [0, *indices, self._array.shape[at]]
    return tuple([aten.slice(self, at, start, end, 1) for start, end in zip(bounds, bounds[1:])])


@composite("tensor_split.tensor_indices_or_sections")
def tensor_split_tensor(self: Any, tensor_indices_or_sections: Any, dim: int) -> tuple[Any, ...]:
    _dim_to_split(self, dim)
    where = tensor_indices_or_sections
    if where.dtype.name != "int64":
        raise RuntimeError(
            f"tensor_split expected tensor_indices_or_sections to have dtype of long, but got {where.dtype.cpp_name}"
        )
    if not where.is_cpu:
        raise RuntimeError(f"tensor_split expected tensor_indices_or_sections to be on cpu, but it's on {where.device}")
    if where._array.ndim == 0:
        return tensor_split_sections(self, aten.item(where), dim)
    if where._array.ndim != 1:
        raise RuntimeError(
            "tensor_split expected tensor_indices_or_sections to be a zero-dimensional or one-dimensional tensor, "
            f"but got a tensor with {where._array.ndim} dims"
        )
    return tensor_split_indices(self, where._array.tolist(), dim)


def _axis_of(name: str, self: Any) -> int:
    """The dimension that hsplit, vsplit and dsplit cut."""
    n = self._array.ndim
    least = {"hsplit": 1, "vsplit": 2, "dsplit": 3}[name]
    if n < least:
        raise RuntimeError(
            f"torch.{name} requires a tensor with at least {least} dimension, but got a tensor with {n} dimensions!"
        )
    return {"hsplit": 0 if n == 1 else 1, "vsplit": 0, "dsplit": 2}[name]


def _register_named_split(name: str) -> None:
    @composite(f"{name}.int")
    def into_sections(self: Any, sections: int) -> tuple[Any, ...]:
        at = _axis_of(name, self)
        size = self._array.shape[at]
        if sections == 0 or size % sections:
            raise RuntimeError(
                f"torch.{name} attempted to split along dimension {at}, but the size of the dimension {size} is not "
                f"divisible by the split_size {sections}!"
            )
        return aten.tensor_split(self, sections, at)

    @composite(f"{name}.array")
    def at_indices(self: Any, indices: Sequence[int]) -> tuple[Any, ...]:
        return aten.tensor_split(self, indices, _axis_of(name, self))


for _name in ("hsplit", "vsplit", "dsplit"):
    _register_named_split(_name)


@composite("unbind.int")
def unbind(self: Any, dim: int) -> tuple[Any, ...]:
    shape = self._array.shape
    if not shape:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    at = normalize_dim(dim, len(shape))
    return tuple([aten.select(self, at, i) for i in range(shape[at])])


# --- copies with a part replaced
def _with_part(self: Any, src: Any, name: str, *where: Any) -> Any:
    """A copy of `self` whose part, as the view op `name` cuts it out, is `src`."""
    out = aten.clone(self)
    part = getattr(aten, name)(out, *where)
    if part._array.shape != src._array.shape:
        raise RuntimeError(
            f"expected src to have a size equal to the {name} of self. src size = {list(src._array.shape)}, {name} "
            f"size = {list(part._array.shape)}"
        )
    aten.copy_(part, src)
    return out


@composite("select_scatter")
def select_scatter(self: Any, src: Any, dim: int, index: int) -> Any:
    return _with_part(self, src, "select", dim, index)


@composite("slice_scatter")
def slice_scatter(self: Any, src: Any, dim: int, start: int | None, end: int | None, step: int) -> Any:
    return _with_part(self, src, "slice", dim, start, end, step)


@composite("diagonal_scatter")
def diagonal_scatter(self: Any, src: Any, offset: int, dim1: int, dim2: int) -> Any:
    return _with_part(self, src, "diagonal", offset, dim1, dim2)


# --- gradients: zeros with the gradient in the part that was viewed
def _zeros_for(grad: Any, input_sizes: Sequence[int]) -> Any:
    return aten.zeros(input_sizes, dtype=grad.dtype, device=grad.device)


@composite("select_backward")
def select_backward(grad_output: Any, input_sizes: Sequence[int], dim: int, index: int) -> Any:
    out = _zeros_for(grad_output, input_sizes)
    aten.copy_(aten.select(out, dim, index), grad_output)
    return out


@composite("slice_backward")
def slice_backward(grad_output: Any, input_sizes: Sequence[int], dim: int, start: int, end: int, step: int) -> Any:
    out = _zeros_for(grad_output, input_sizes)
    aten.copy_(aten.slice(out, dim, start, end, step), grad_output)
    return out


@composite("diagonal_backward")
def diagonal_backward(grad_output: Any, input_sizes: Sequence[int], offset: int, dim1: int, dim2: int) -> Any:
    out = _zeros_for(grad_output, input_sizes)
    aten.copy_(aten.diagonal(out, offset, dim1, dim2), grad_output)
    return out

"""Movement ops that are made of others: shapes, orders of dimensions and elements, repetitions, diagonals."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from ..._dispatch import aten
from ..._dispatch.registry import composite
from ..._shape import infer_size, normalize_dim, normalize_dims
from ..._tensor import contiguous_format
from . import kernel_steps as _kernel_steps  # noqa: F401  registers steps

# they register the rest of the family
from . import movement_copies, movement_inplace, movement_joins, movement_pieces  # noqa: F401


# --- shapes
def _view(self: Any, shape: Sequence[int]) -> Any:
    global _view
    _view = aten.overload("view")  # found once; the op's own function takes over
    return _view(self, shape)


@composite("reshape")
def reshape(self: Any, shape: Sequence[int]) -> Any:
    array = self._array
    if array.flags.c_contiguous:
        return _view(self, shape)
    shape = infer_size(shape, array.size)
    try:
        strides = array.reshape(shape, copy=False).strides
    except ValueError:  # the elements must be moved
        return aten._unsafe_view(aten.clone(self, memory_format=contiguous_format), shape)
    return aten._reshape_alias(self, shape, [s // array.itemsize for s in strides])


@composite("flatten.using_ints")
def flatten(self: Any, start_dim: int, end_dim: int) -> Any:
    shape = self._array.shape
    n = len(shape)
    start, end = normalize_dim(start_dim, n), normalize_dim(end_dim, n)
    if start > end:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if n == 0:
        return reshape(self, (1,))
    if start == end:
        return self
    return reshape(self, (*shape[:start], prod(shape[start : end + 1]), *shape[end + 1 :]))


@composite("unflatten.int")
def unflatten(self: Any, dim: int, sizes: Sequence[int]) -> Any:
    shape = self._array.shape
    at = normalize_dim(dim, len(shape))
    if not sizes:
        raise RuntimeError("unflatten: sizes must be non-empty")
    try:
        whole = infer_size(sizes, shape[at])
    except RuntimeError as error:
        if "only one dimension" in str(error):
            raise
        raise RuntimeError(
            f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {at} ({shape[at]}) "
            "in the input tensor"
        ) from None
    return aten.view(self, (*shape[:at], *whole, *shape[at + 1 :]))


@composite("ravel")
def ravel(self: Any) -> Any:
    return aten.view(aten.contiguous(self), (-1,))


@composite("view_as")
def view_as(self: Any, other: Any) -> Any:
    return aten.view(self, other._array.shape)


@composite("reshape_as")
def reshape_as(self: Any, other: Any) -> Any:
    return aten.reshape(self, other._array.shape)


# --- orders of dimensions
@composite("numpy_T")
def numpy_t(self: Any) -> Any:
    return aten.permute(self, tuple(range(self._array.ndim - 1, -1, -1)))


def _transpose_matrices(self: Any, word: str) -> Any:
    n = self._array.ndim
    if n == 0:
        return self
    if n == 1:
        raise RuntimeError(f"tensor.{word} is only supported on matrices or batches of matrices. Got 1-D tensor.")
    return aten.transpose(self, -2, -1)


@composite("mT")
def matrix_t(self: Any) -> Any:
    return _transpose_matrices(self, "mT")


def _conjugate(self: Any) -> Any:
    return aten.conj(self) if self.dtype.is_complex else self


@composite("mH")
def matrix_h(self: Any) -> Any:
    return _conjugate(_transpose_matrices(self, "mH"))


@composite("adjoint")
def adjoint(self: Any) -> Any:
    return _conjugate(_transpose_matrices(self, "adjoint()"))


@composite("matrix_H")
def h_property(self: Any) -> Any:
    n = self._array.ndim
    if n not in (0, 2):
        raise RuntimeError(f"tensor.H is only supported on matrices (2-D tensors). Got {n}-D tensor.")
    return _conjugate(aten.transpose(self, 0, 1) if n else self)


@composite("movedim.intlist")
def movedim(self: Any, source: Sequence[int], destination: Sequence[int]) -> Any:
    n = self._array.ndim
    if len(source) != len(destination):
        raise RuntimeError(
            f"movedim: Invalid source or destination dims: source ({list(source)} dims) should contain the same "
            f"number of dims as destination ({list(destination)} dims)"
        )
    moves = []
    for word, dims in (("source", source), ("destination", destination)):
        found = [normalize_dim(d, n) for d in dims]
        if len(set(found)) != len(found):
            raise RuntimeError(f"movedim: repeated dim in `{word}` ({list(dims)})")
        moves.append(found)
    if n == 0:
        return aten.alias(self)
    rest = iter(d for d in range(n) if d not in moves[0])
    target = dict(zip(moves[1], moves[0]))
    return aten.permute(self, tuple(target[d] if d in target else next(rest) for d in range(n)))


@composite("movedim.int")
def movedim_one(self: Any, source: int, destination: int) -> Any:
    return movedim(self, (source,), (destination,))


@composite("moveaxis.intlist", "moveaxis.int")
def moveaxis(self: Any, source: Any, destination: Any) -> Any:
    return aten.movedim(self, source, destination)


@composite("swapaxes", "swapdims")
def swapaxes(self: Any, dim0: int, dim1: int) -> Any:
    return aten.transpose(self, dim0, dim1)


# --- repetitions
@composite("tile")
def tile(self: Any, dims: Sequence[int]) -> Any:
    return aten.repeat(self, (1,) * (self._array.ndim - len(dims)) + tuple(dims))


@composite("repeat_interleave.self_int")
def repeat_interleave_int(self: Any, repeats: int, dim: int | None, output_size: int | None) -> Any:
    whole = aten.flatten(self) if dim is None else self
    at = normalize_dim(dim or 0, whole._array.ndim)
    if repeats < 0:
        raise RuntimeError("Repeats must be non-negative")
    shape = whole._array.shape
    size = shape[at] if shape else 1
    if output_size is not None and output_size != size * repeats:
        raise RuntimeError(f"repeat_interleave: Invalid output_size, expected {size * repeats} but got {output_size}")
    wide = aten.expand(aten.unsqueeze(whole, at + 1), (*shape[: at + 1], repeats, *shape[at + 1 :]))
    return aten.flatten(aten.clone(wide, memory_format=contiguous_format), at, at + 1)


@composite("repeat_interleave.self_Tensor")
def repeat_interleave_tensor(self: Any, repeats: Any, dim: int | None, output_size: int | None) -> Any:
    whole = aten.flatten(self) if dim is None else self
    at = normalize_dim(dim or 0, whole._array.ndim)
    size = whole._array.shape[at]
    if repeats._array.ndim == 0 or repeats._array.shape == (1,):
        repeats = aten.expand(aten.reshape(repeats, (1,)), (size,))
    elif repeats._array.ndim == 1:
        if repeats._array.size != size:
            raise RuntimeError(
                "repeats must have the same size as input along dim, but got repeats.size(0) = "
                f"{repeats._array.size} and input.size({at}) = {size}"
            )
    else:
        raise RuntimeError("repeats must be 0-dim or 1-dim tensor")
    rows = aten.overload("repeat_interleave.Tensor")(repeats, output_size=output_size)
    return aten.index_select(whole, at, rows)


# --- orders of elements
@composite("fliplr")
def fliplr(self: Any) -> Any:
    if self._array.ndim < 2:
        raise RuntimeError("Input must be >= 2-d.")
    return aten.flip(self, (1,))


@composite("flipud")
def flipud(self: Any) -> Any:
    if self._array.ndim < 1:
        raise RuntimeError("Input must be >= 1-d.")
    return aten.flip(self, (0,))


@composite("roll")
def roll(self: Any, shifts: Sequence[int], dims: Sequence[int]) -> Any:
    shape = self._array.shape
    if len(shifts) != 1 or len(dims) != 1:
        return _roll_several(self, shifts, dims)
    if not shape:
        raise IndexError(f"Dimension specified as {dims[0]} but tensor has no dimensions")
    at = normalize_dim(dims[0], len(shape))
    size = shape[at]
    start = (size - shifts[0]) % size if size else 0
    if start == 0:
        return aten.clone(self, memory_format=contiguous_format)
    return aten.cat([aten.narrow(self, at, start, size - start), aten.narrow(self, at, 0, start)], at)


def _roll_several(self: Any, shifts: Sequence[int], dims: Sequence[int]) -> Any:
    if not shifts:
        raise RuntimeError("`shifts` required")
    if not dims and len(shifts) == 1:
        flat = aten.roll(aten.view(aten.contiguous(self), (self._array.size,)), shifts[0], 0)
        return aten.view(flat, self._array.shape)
    if len(shifts) != len(dims):
        raise RuntimeError(f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(dims)}")
    for shift, dim in zip(shifts, dims):
        self = aten.roll(self, shift, dim)
    return self


@composite("rot90")
def rot90(self: Any, k: int, dims: Sequence[int]) -> Any:
    n = self._array.ndim
    if len(dims) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    if n < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {n}")
    if dims[0] == dims[1] or abs(dims[0] - dims[1]) == n:
        raise RuntimeError(f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}")
    first, second = normalize_dims(dims, n)
    turns = k % 4
    if turns == 0:
        return aten.clone(self, memory_format=contiguous_format)
    if turns == 2:
        return aten.flip(self, dims)
    return aten.transpose_(aten.flip(self, (second if turns == 1 else first,)), first, second)


# --- diagonals
@composite("diag")
def diag(self: Any, diagonal: int) -> Any:
    n = self._array.ndim
    if n not in (1, 2):
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {n}D")
    return aten.diag_embed(self, diagonal) if n == 1 else aten.diagonal_copy(self, diagonal)


@composite("diagonal_copy")
def diagonal_copy(self: Any, offset: int, dim1: int, dim2: int) -> Any:
    return aten.clone(aten.diagonal(self, offset, dim1, dim2), memory_format=contiguous_format)


@composite("diag_embed")
def diag_embed(self: Any, offset: int, dim1: int, dim2: int) -> Any:
    shape = self._array.shape
    n = len(shape) + 1
    low, high = sorted((normalize_dim(dim1, n), normalize_dim(dim2, n)))
    if low == high:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    side = shape[-1] + abs(offset)
    sizes = list(shape[:-1])
    sizes.insert(low, side)
    sizes.insert(high, side)
    out = aten.zeros(sizes, dtype=self.dtype, device=self.device)
    aten.copy_(aten.diagonal(out, offset, dim1, dim2), self)
    return out


@composite("diagflat")
def diagflat(self: Any, offset: int) -> Any:
    return aten.diag(aten.view(aten.contiguous(self), (-1,)), offset)


@composite("is_same_size")
def is_same_size(self: Any, other: Any) -> bool:
    return self._array.shape == other._array.shape

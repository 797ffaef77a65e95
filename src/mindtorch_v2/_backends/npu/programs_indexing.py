"""Indexing on the device. Results whose size the data decide (nonzero, masks, unique) wait for the device: their
size is computed there first and read back, as every backend must.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import _dtype as dt
from ..._dispatch.checks import check_writable
from ..._dispatch.return_types import return_type
from ..._ops.table import find
from ..._shape import broadcast_shapes
from ..._tensor import bump_version
from . import row_helpers
from .boxing import launch_named, program, run
from .copies import NPU, cast, copy_, dense, new_tensor, to_device, to_host
from .launcher import Rejected
from .programs import view


# --- sizes that the data decide
def _number(t: Any) -> int:
    """The value of a tensor with one element; waits for the device."""
    return int(to_host(t)._array.item())


@program("nonzero")
def nonzero(self: Any) -> Any:
    count = _number(run("sum", run("ne.Scalar", self, 0), None)) if self._array.size else 0
    if not count or not self._array.ndim:
        return new_tensor((count, self._array.ndim), dt.int64, self.device)
    positions = new_tensor((self._array.size, self._array.ndim), dt.int64, self.device)
    launch_named("Nonzero", (self, positions), self.device.index)
    return dense(view(positions, positions._array[:count]))  # a copy, so that the room for all elements is given back


@program("masked_select")
def masked_select(self: Any, mask: Any) -> Any:
    whole = broadcast_shapes(self._array.shape, mask._array.shape)
    spread = view(mask, np.broadcast_to(mask._array, whole))
    count = _number(run("sum", spread, None)) if spread._array.size else 0
    if not count:
        return new_tensor((0,), self.dtype, self.device)
    chosen = new_tensor((spread._array.size,), self.dtype, self.device)
    launch_named("MaskedSelect", (self, mask, chosen), self.device.index)
    return dense(view(chosen, chosen._array[:count]))


@program("masked_scatter_")
def masked_scatter_(self: Any, mask: Any, source: Any) -> Any:
    if source.dtype is not self.dtype:
        raise RuntimeError(
            f"masked_scatter_: expected self and source to have same dtypes but got {self.dtype} and {source.dtype}"
        )
    if not source._array.size or mask.dtype is not dt.bool_:
        raise Rejected("an empty source, or a mask that is not bool")
    check_writable(self)
    launch_named("InplaceMaskedScatter", (self, mask, source), self.device.index)
    bump_version(self)
    return self


@program("masked_scatter")
def masked_scatter(self: Any, mask: Any, source: Any) -> Any:
    shape = broadcast_shapes(self._array.shape, mask._array.shape)
    return masked_scatter_(dense(view(self, np.broadcast_to(self._array, shape))), mask, source)


# --- lists of indices
def _indices_of(self: Any, indices: Any) -> list[Any]:
    """One index or None per dimension, on the device: masks become the positions where they are set."""
    found: list[Any] = []
    for index in indices:
        if index is None:
            found.append(None)
            continue
        if not index._keys & NPU:
            index = to_device(index._array, index.dtype, self.device)
        if index.dtype not in (dt.bool_, dt.uint8):
            found.append(index if index.dtype in (dt.int64, dt.int32) else cast(index, dt.int64))
            continue
        if (
            index._array.ndim == 0
            or index._array.shape != self._array.shape[len(found) : len(found) + index._array.ndim]
        ):
            raise Rejected("a mask of another shape")
        positions = nonzero(index)
        found += [dense(view(positions, positions._array[:, d])) for d in range(index._array.ndim)]
    if len(found) > self._array.ndim or all(index is None for index in found):
        raise Rejected("more indices than dimensions, or none")
    return found


def _selection_shape(self: Any, indices: list[Any]) -> tuple[int, ...]:
    """The shape of `self[indices]`: indices that stand together keep their position, others come first."""
    at = [d for d, index in enumerate(indices) if index is not None]
    chosen = broadcast_shapes(*[indices[d]._array.shape for d in at])
    shape = self._array.shape
    if at != list(range(at[0], at[-1] + 1)):
        return (*chosen, *(n for d, n in enumerate(shape) if d not in at))
    return (*shape[: at[0]], *chosen, *shape[at[-1] + 1 :])


def _operands(self: Any, indices: list[Any]) -> list[Any]:
    """The list that the operator takes: a tensor without elements stands for a whole dimension."""
    if any(index is not None and not index._array.size for index in indices):
        raise Rejected("an index without elements")
    nothing = new_tensor((0,), dt.int64, self.device)
    return [nothing if index is None else index for index in indices]


@program("index.Tensor")
def pick(self: Any, indices: Any) -> Any:
    found = _indices_of(self, indices)
    out = new_tensor(_selection_shape(self, found), self.dtype, self.device)
    if out._array.size:
        launch_named("Index", (self, _operands(self, found), out), self.device.index)
    return out


@program("_index_put_impl_")
def index_put_(self: Any, indices: Any, values: Any, accumulate: bool, unsafe: bool) -> Any:
    if values.dtype is not self.dtype:
        raise RuntimeError(
            "Index put requires the source and destination dtypes match, "
            f"got {_word(self)} for the destination and {_word(values)} for the source."
        )
    check_writable(self)
    if not values._keys & NPU:
        values = to_device(values._array, values.dtype, self.device)
    found = _indices_of(self, indices)
    shape = _selection_shape(self, found)
    if 0 not in shape:
        broadcast_shapes(values._array.shape, shape)
        launch_named("IndexPutImpl", (self, _operands(self, found), values, accumulate, unsafe), self.device.index)
    bump_version(self)
    return self


def _word(t: Any) -> str:
    return {
        "float32": "Float",
        "float64": "Double",
        "float16": "Half",
        "int64": "Long",
        "int32": "Int",
        "bool": "Bool",
        "uint8": "Byte",
        "int8": "Char",
        "int16": "Short",
    }.get(t.dtype.name, t.dtype.name)


def _at_dim(dim: int, index: Any, self: Any) -> list[Any]:
    """`index` for one dimension, as a list of indices."""
    return [None] * (dim % max(self._array.ndim, 1)) + [
        index if index._array.ndim else view(index, index._array.reshape(1))
    ]


@program("index_copy")
def index_copy(self: Any, dim: int, index: Any, source: Any) -> Any:
    if not self._array.ndim or source.dtype is not self.dtype:
        raise Rejected("no dimension, or another type")
    return index_put_(dense(self), _at_dim(dim, index, self), source, False, False)


@program("index_fill.int_Scalar")
def index_fill(self: Any, dim: int, index: Any, value: Any) -> Any:
    if not self._array.size or not self._array.ndim or isinstance(value, complex):
        raise Rejected("no elements, no dimension, or a complex number")
    return index_put_(
        dense(self), _at_dim(dim, index, self), row_helpers.full_scalar(value, self.dtype, self.device), False, False
    )


@program("take")
def take(self: Any, index: Any) -> Any:
    return pick(row_helpers.flat(self), [index])


@program("put")
def put(self: Any, index: Any, source: Any, accumulate: bool) -> Any:
    flat = dense(row_helpers.flat(self))
    index_put_(flat, [row_helpers.flat(index)], row_helpers.flat(source), accumulate, False)
    return view(flat, flat._array.reshape(self._array.shape))


@program("scatter_reduce.two")
def scatter_reduce(self: Any, dim: int, index: Any, src: Any, reduce: str, include_self: bool) -> Any:
    if reduce != "sum" or not include_self:
        raise Rejected("only sums with the tensor itself have a device form")
    return run("scatter_add", self, dim, index, src)


# --- order
@program("kthvalue")
def kthvalue(self: Any, k: int, dim: int, keepdim: bool) -> Any:
    size = self._array.shape[dim] if self._array.ndim else 1
    if not 1 <= k <= size:
        raise RuntimeError("kthvalue(): selected number k out of range for dimension " + str(dim))
    return _order_statistic("kthvalue", self, dim, keepdim, k - 1)


@program("median.dim")
def median_dim(self: Any, dim: int, keepdim: bool) -> Any:
    if not self._array.size or self.dtype.is_floating_point and _has_nan(self):
        raise Rejected("no elements, or NaN among them")
    return _order_statistic(
        "median.dim", self, dim, keepdim, ((self._array.shape[dim] if self._array.ndim else 1) - 1) // 2
    )


@program("median")
def median(self: Any) -> Any:
    return median_dim(row_helpers.flat(self), 0, False)[0]


def _has_nan(t: Any) -> bool:
    return bool(to_host(run("any", run("ne.Tensor", t, t)))._array)


def _order_statistic(name: str, self: Any, dim: int, keepdim: bool, rank: int) -> Any:
    """The element of one rank in the sorted dimension, and where it was."""
    sorted_values, sorted_indices = run("sort", self, dim, False)
    if not self._array.ndim:
        return return_type(find(name))(sorted_values, sorted_indices)
    at = [slice(None)] * self._array.ndim
    # not a number, which would make numpy read the device's memory where one element is left
    at[dim] = slice(rank, rank + 1)
    parts = [
        t._array[tuple(at)] if keepdim else t._array[tuple(at)].squeeze(dim) for t in (sorted_values, sorted_indices)
    ]
    return return_type(find(name))(*(dense(view(t, part)) for t, part in zip((sorted_values, sorted_indices), parts)))


@program("_unique2")
def unique(self: Any, sorted: bool, return_inverse: bool, return_counts: bool) -> Any:
    """Sorted, an element is new where it differs from the one before; a running count of the new ones numbers them."""
    if not self._array.size:
        raise Rejected("an input has no elements")
    flat = row_helpers.flat(self)
    values, positions = run("sort", flat, 0, False)
    is_new = run("fill_.Scalar", new_tensor(values._array.shape, dt.bool_, self.device), True)
    if values._array.size > 1:
        copy_(
            view(is_new, is_new._array[1:]),
            run("ne.Tensor", view(values, values._array[1:]), view(values, values._array[:-1])),
            False,
        )
    found = masked_select(values, is_new)
    inverse = counts = new_tensor((0,), dt.int64, self.device)
    if return_inverse:
        ranks = run("sub.Tensor", run("cumsum", is_new, 0, None), 1, 1)
        inverse = run("scatter.src", ranks, 0, positions, ranks)
        inverse = view(inverse, inverse._array.reshape(self._array.shape))
    if return_counts:
        starts = view(positions, nonzero(is_new)._array[:, 0])
        counts = run("sub.Tensor", _followed_by(starts, flat._array.size), starts, 1)
    return found, inverse, counts


def _followed_by(starts: Any, end: int) -> Any:
    """All but the first, and a number at the end."""
    out = run("fill_.Scalar", new_tensor(starts._array.shape, starts.dtype, starts.device), end)
    if starts._array.size > 1:
        copy_(view(out, out._array[:-1]), view(starts, starts._array[1:]), False)
    return out


@program("bincount")
def bincount(self: Any, weights: Any, minlength: int) -> Any:
    wrong_weights = weights is not None and not weights.dtype.is_floating_point
    if not self._array.size or self._array.ndim != 1 or self.dtype is dt.bool_ or wrong_weights:
        raise Rejected("no elements, another rank or another type")
    if _number(run("min", self)) < 0:
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    size = max(minlength, _number(run("max", self)) + 1)
    kind = dt.int64 if weights is None else dt.float64 if weights.dtype is dt.float64 else dt.float32
    ones = (
        run("fill_.Scalar", new_tensor(self._array.shape, kind, self.device), 1)
        if weights is None
        else row_helpers.as_type(weights, run("zero_", new_tensor((1,), kind, self.device)))
    )
    return run("scatter_add", run("zero_", new_tensor((size,), kind, self.device)), 0, cast(self, dt.int64), ones)


@program("repeat_interleave.Tensor")
def repeat_interleave(repeats: Any, output_size: int | None) -> Any:
    """The indices of the elements, each as often as told: a running count of the positions where an element's repeats
    end.
    """
    if not repeats._array.size or repeats._array.ndim != 1 or repeats.dtype not in (dt.int64, dt.int32):
        raise Rejected("no elements, another rank or another type")
    if _number(run("min", repeats)) < 0:
        raise RuntimeError("repeats can not be negative")
    ends = run("cumsum", repeats, 0, dt.int64)
    total = _number(view(ends, ends._array[-1:])) if output_size is None else output_size
    if not total:
        return new_tensor((0,), repeats.dtype, repeats.device)
    marks = run("zero_", new_tensor((total + 1,), dt.int64, repeats.device))
    ones = run("fill_.Scalar", new_tensor(ends._array.shape, dt.int64, repeats.device), 1)
    counted = run("cumsum", run("scatter_add", marks, 0, ends, ones), 0, None)
    return row_helpers.as_type(view(counted, counted._array[:total]), repeats)

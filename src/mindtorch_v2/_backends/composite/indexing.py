"""Indexing ops that are made of others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import _dtype as dt
from ... import _observer
from ..._dispatch import aten
from ..._dispatch.registry import composite
from ..._keys import CPU, DEVICES
from ..._ops.indexing import check_mask
from ..._shape import broadcast_shapes, normalize_dim
from ..._tensor import wrap
from .leaf import run_index, run_leaf

_MASKS = (dt.bool_, dt.uint8)


# --- advanced indexing
def _index_positions(self: Any, indices: Sequence[Any]) -> list[Any]:
    """Index tensors with each mask replaced by the coordinates of its true elements. That is a visible step: when
    nobody watches, the kernels take masks as they are.
    """
    if (_observer.active is None and self._keys & CPU) or not any(i is not None and i.dtype in _MASKS for i in indices):
        return list(indices)
    out: list[Any] = []
    for index in indices:
        if index is None or index.dtype not in _MASKS:
            out.append(index)
            continue
        check_mask(index.shape, self.shape, len(out))
        found = aten.nonzero(index)
        out.extend(aten.select(found, 1, d) for d in range(index.dim()))
    return out


@composite("index.Tensor")
def index(self: Any, indices: Sequence[Any]) -> Any:
    return run_index(self, _index_positions(self, indices))


@composite("_index_put_impl_")
def index_put_impl_(self: Any, indices: Sequence[Any], values: Any, accumulate: bool, unsafe: bool) -> Any:
    if (
        not accumulate
        and len(indices) == 1
        and values.numel() == 1
        and values.dim() == 0
        and indices[0] is not None
        and indices[0].dtype in _MASKS
        and values.dtype is self.dtype
        and not self.is_meta
    ):
        mask = indices[0] if indices[0].dtype is dt.bool_ else aten.ne(indices[0], 0)
        check_mask(mask.shape, self.shape, 0)
        while mask.dim() < self.dim():
            mask = aten.unsqueeze(mask, -1)
        return aten.masked_fill_(self, mask, aten.item(values))
    positions = list(indices) if self.is_meta else _index_positions(self, indices)
    return run_leaf("_index_put_impl_", self, positions, values, accumulate, unsafe)


@composite("index_put_")
def index_put_(self: Any, indices: Sequence[Any], values: Any, accumulate: bool) -> Any:
    return aten._index_put_impl_(self, indices, values, accumulate, False)


@composite("index_put")
def index_put(self: Any, indices: Sequence[Any], values: Any, accumulate: bool) -> Any:
    return aten.index_put_(aten.clone(self), indices, values, accumulate)


# --- copies that are then written
@composite("index_fill.int_Scalar", "index_fill.int_Tensor")
def index_fill(self: Any, dim: int, index: Any, value: Any) -> Any:
    return aten.index_fill_(aten.clone(self), dim, index, value)


@composite("index_fill_.int_Tensor")
def index_fill_tensor_(self: Any, dim: int, index: Any, value: Any) -> Any:
    if value.dim():
        raise RuntimeError(
            f"index_fill_ only supports a 0-dimensional value tensor, but got tensor with {value.dim()} dimension(s)."
        )
    return aten.index_fill_(self, dim, index, 0 if value.is_meta else aten.item(value))


@composite("masked_scatter")
def masked_scatter(self: Any, mask: Any, source: Any) -> Any:
    shape = broadcast_shapes(tuple(self.shape), tuple(mask.shape))
    whole = self if tuple(self.shape) == shape else aten.expand(self, shape)
    copy = aten.clone(whole, memory_format=_contiguous())
    return aten.masked_scatter_(copy, mask if tuple(mask.shape) == shape else aten.expand(mask, shape), source)


def _contiguous() -> Any:
    from ..._tensor import contiguous_format

    return contiguous_format


@composite("put")
def put(self: Any, index: Any, source: Any, accumulate: bool) -> Any:
    return aten.put_(aten.clone(self), index, source, accumulate)


# --- reading
@composite("take_along_dim")
def take_along_dim(self: Any, indices: Any, dim: int | None) -> Any:
    if indices.dtype is not dt.int64:
        from ..._dispatch.checks import type_word

        raise RuntimeError(
            f"torch.take_along_dim(): dtype of indices should be Long but got {type_word(indices.dtype)}"
        )
    if dim is None:
        return aten.gather(aten.reshape(self, (-1,)), 0, aten.reshape(indices, (-1,)))
    if self.dim() != indices.dim():
        raise RuntimeError(
            "torch.take_along_dim(): input and indices should have the same number of dimensions, but got "
            f"{self.dim()} dimensions for input, and {indices.dim()} dimensions for indices"
        )
    axis = normalize_dim(dim, self.dim())
    n = self.shape[axis] if self.dim() else 1
    sizes = [list(t.shape) for t in (self, indices)]
    for s in sizes:
        if s:
            s[axis] = 1
    shape = broadcast_shapes(*sizes)

    def widen(t: Any) -> Any:
        full = tuple(t.shape[d] if d == axis else m for d, m in enumerate(shape))
        return aten.broadcast_to(t, full)

    return aten.gather(widen(self), axis, aten.remainder(widen(indices), n) if n else widen(indices))


@composite("nonzero_numpy")
def nonzero_numpy(self: Any) -> Any:
    return aten.unbind(aten.nonzero(aten.unsqueeze(self, 0) if self.dim() == 0 else self), 1)


@composite("argwhere")
def argwhere(self: Any) -> Any:
    return aten.nonzero(self)


@composite("isin.Tensor_Scalar")
def isin_number(elements: Any, test_element: Any, assume_unique: bool, invert: bool) -> Any:
    return aten.ne(elements, test_element) if invert else aten.eq(elements, test_element)


def _one_hot(classes: np.ndarray, count: int) -> np.ndarray:
    """The rows of one_hot at once, for indices of which there is at least one."""
    if np.minimum.reduce(classes, None) < 0:
        raise RuntimeError("Class values must be non-negative.")
    top = int(np.maximum.reduce(classes, None))
    if count != -1 and top >= count:
        raise RuntimeError("Class values must be smaller than num_classes.")
    columns = top + 1 if count == -1 else count
    out = np.zeros((*classes.shape, columns), np.int64)
    out.reshape(-1)[np.arange(0, out.size, columns) + classes.reshape(-1)] = 1
    return out


@composite("one_hot")
def one_hot(self: Any, num_classes: int) -> Any:
    if self.dtype is not dt.int64:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    if self.numel() == 0:
        if num_classes <= 0:
            raise RuntimeError("Can not infer total number of classes from empty tensor.")
        return aten.zeros((*self.shape, num_classes), dtype=dt.int64, device=self.device)
    if _observer.active is None and self._keys & DEVICES == CPU:
        return wrap(_one_hot(self._array, num_classes), dt.int64)
    top = -1
    if num_classes == -1 or not self.is_meta:  # values that do not exist cannot be wrong
        low, high = aten.aminmax(self)
        if aten.item(low) < 0:
            raise RuntimeError("Class values must be non-negative.")
        top = aten.item(high)
        if num_classes != -1 and top >= num_classes:
            raise RuntimeError("Class values must be smaller than num_classes.")
    out = aten.zeros((*self.shape, top + 1 if num_classes == -1 else num_classes), dtype=dt.int64, device=self.device)
    return aten.scatter_(out, -1, aten.unsqueeze(self, -1), 1)


# --- backward steps
@composite("index_select_backward")
def index_select_backward(grad: Any, self_sizes: Sequence[int], dim: int, index: Any) -> Any:
    return aten.index_add_(aten.new_zeros(grad, self_sizes), dim, index, grad)


@composite("gather_backward")
def gather_backward(grad: Any, self: Any, dim: int, index: Any, sparse_grad: bool) -> Any:
    return aten.scatter_add_(aten.new_zeros(grad, tuple(self.shape)), dim, index, grad)


@composite("masked_select_backward")
def masked_select_backward(grad: Any, input: Any, mask: Any) -> Any:
    shape = broadcast_shapes(tuple(input.shape), tuple(mask.shape))
    return aten.masked_scatter_(aten.zeros(shape, dtype=input.dtype, device=input.device), mask, grad)


@composite("masked_scatter_backward")
def masked_scatter_backward(grad_output: Any, mask: Any, sizes: Sequence[int]) -> Any:
    count = 1
    for n in sizes:
        count *= n
    chosen = aten.masked_select(grad_output, mask)
    if chosen.numel() < count:
        chosen = aten.cat([chosen, aten.new_zeros(chosen, (count - chosen.numel(),))])
    return aten.view(chosen, sizes)


# --- embeddings
@composite("embedding")
def embedding(weight: Any, indices: Any, padding_idx: int, scale_grad_by_freq: bool, sparse: bool) -> Any:
    if weight.dim() != 2:
        raise RuntimeError("'weight' must be 2-D")
    if indices.dtype is not dt.int64 and indices.dtype is not dt.int32:
        from ..._dispatch.checks import type_word

        raise RuntimeError(
            "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got "
            f"torch.{type_word(indices.dtype)}Tensor instead (while checking arguments for embedding)"
        )
    if indices.dim() == 1:
        return aten.index_select(weight, 0, indices)
    rows = aten.index_select(weight, 0, aten.reshape(indices, (-1,)))
    return aten.view(rows, (*indices.shape, weight.shape[1]))


@composite("embedding_backward")
def embedding_backward(
    grad: Any, indices: Any, num_weights: int, padding_idx: int, scale_grad_by_freq: bool, sparse: bool
) -> Any:
    if sparse:
        return aten.embedding_sparse_backward(grad, indices, num_weights, padding_idx, scale_grad_by_freq)
    return aten.embedding_dense_backward(grad, indices, num_weights, padding_idx, scale_grad_by_freq)


@composite("embedding_bag")
def embedding_bag(weight: Any, indices: Any, offsets: Any, *options: Any) -> Any:
    needs = weight.requires_grad or (options[3] is not None and options[3].requires_grad)
    run = aten._embedding_bag if needs else aten._embedding_bag_forward_only
    return run(weight, indices, offsets, *options)


@composite("embedding_bag.padding_idx")
def embedding_bag_padded(weight: Any, indices: Any, offsets: Any, *options: Any) -> Any:
    *options_before, padding_idx = options
    if padding_idx is None:
        padding_idx = -1
    elif not -weight.shape[0] <= padding_idx < weight.shape[0]:
        raise RuntimeError(
            f"padding_idx must be within the number of embeddings, -{weight.shape[0]} through {weight.shape[0] - 1}, "
            f"but got {padding_idx}"
        )
    elif padding_idx < 0:
        padding_idx += weight.shape[0]
    return embedding_bag(weight, indices, offsets, *options_before, padding_idx)


@composite("_embedding_bag_backward")
def embedding_bag_backward(
    grad: Any,
    indices: Any,
    offsets: Any,
    offset2bag: Any,
    bag_size: Any,
    maximum_indices: Any,
    num_weights: int,
    scale_grad_by_freq: bool,
    mode: int,
    sparse: bool,
    per_sample_weights: Any,
    padding_idx: int,
) -> Any:
    if sparse:
        rows = aten.index_select(grad, 0, offset2bag)
        if mode == 1:
            rows = aten.div(rows, aten.unsqueeze(aten.index_select(bag_size, 0, offset2bag), 1))
        if per_sample_weights is not None:
            rows = aten.mul(rows, aten.unsqueeze(per_sample_weights, 1))
        return aten.embedding_sparse_backward(rows, indices, num_weights, padding_idx, scale_grad_by_freq)
    return aten._embedding_bag_dense_backward(
        grad,
        indices,
        offset2bag,
        bag_size,
        maximum_indices,
        num_weights,
        scale_grad_by_freq,
        mode,
        per_sample_weights,
        padding_idx,
    )


# --- positions that may lie outside where a mask says so
def _inside(self: Any, indices: Sequence[Any]) -> list[Any]:
    """The indices, moved into the tensor where they are outside of it."""
    return [None if index is None else aten.clamp(index, 0, size - 1) for index, size in zip(indices, self.shape)]


@composite("_unsafe_masked_index")
def _unsafe_masked_index(self: Any, mask: Any, indices: Sequence[Any], fill: Any) -> Any:
    if not self.numel():
        return aten.full(
            broadcast_shapes(tuple(mask.shape), *[tuple(i.shape) for i in indices if i is not None]),
            fill,
            dtype=self.dtype,
            device=self.device,
        )
    return aten.masked_fill(aten.overload("index.Tensor")(self, _inside(self, indices)), aten.logical_not(mask), fill)


@composite("_unsafe_masked_index_put_accumulate")
def _unsafe_masked_index_put_accumulate(self: Any, mask: Any, indices: Sequence[Any], values: Any) -> Any:
    if not self.numel():
        return aten.clone(self)
    return aten.index_put(self, _inside(self, indices), aten.masked_fill(values, aten.logical_not(mask), 0), True)

"""Derivatives of indexing: reading scatters the gradient, writing gathers it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..._dispatch import aten
from ..rules import derivative
from .common import no_derivative


# --- advanced indexing
def _index_grad(g: Any, indices: Sequence[Any], self_shape: Any) -> Any:
    return aten._index_put_impl_(aten.new_zeros(g, self_shape), indices, g, True, True)


def _zero_overwritten(g: Any, indices: Sequence[Any], values_shape: Any, accumulate: bool) -> Any:
    """The gradient of what was there before: none where it was overwritten."""
    if accumulate:
        return g
    return aten.index_put(g, indices, aten.zeros(values_shape, dtype=g.dtype, device=g.device), False)


derivative("index.Tensor", self=_index_grad)
for _name, _node in (("index_put", "IndexPutBackward0"), ("_index_put_impl_", "IndexPutImplBackward0")):
    derivative(_name, node=_node, self=_zero_overwritten, values=lambda g, indices: aten.index(g, indices))


# --- one index for one dimension
def _pick_slices(g: Any, dim: int, index: Any, shape: Sequence[int]) -> Any:
    """The slices of the gradient that an index names, in the shape of a source."""
    found = aten.index_select(g, dim, index)
    return aten.expand(found, shape) if len(shape) else aten.reshape(found, ())


def _index_add_grad(g: Any, dim: int, index: Any, alpha: Any, source_shape: Any) -> Any:
    found = _pick_slices(g, dim, index, source_shape)
    return found if alpha == 1 else aten.mul(found, alpha)


derivative("index_select", self=lambda g, dim, index, self_shape: aten.index_select_backward(g, self_shape, dim, index))
derivative("index_add", self=lambda g: g, source=_index_add_grad)
derivative(
    "index_copy",
    self=lambda g, dim, index: aten.index_fill(g, dim, index, 0),
    source=lambda g, dim, index, source_shape: _pick_slices(g, dim, index, source_shape),
)
derivative("index_fill.int_Scalar", self=lambda g, dim, index: aten.index_fill(g, dim, index, 0))
derivative(
    "index_fill.int_Tensor",
    node="IndexFillBackward1",
    self=lambda g, dim, index: aten.index_fill(g, dim, index, 0),
    value=lambda g, dim, index: aten.sum(aten.index_select(g, dim, aten._unique2(index, True, False, False)[0])),
)


# --- one index per element
derivative(
    "gather", self=lambda g, self, dim, index, sparse_grad: aten.gather_backward(g, self, dim, index, sparse_grad)
)
derivative(
    "scatter.src",
    self=lambda g, dim, index: aten.scatter(g, dim, index, 0),
    src=lambda g, dim, index: aten.gather(g, dim, index),
)
derivative("scatter.value", node="ScatterBackward1", self=lambda g, dim, index: aten.scatter(g, dim, index, 0))
derivative("scatter_add", self=lambda g: g, src=lambda g, dim, index: aten.gather(g, dim, index))


for _name in ("scatter.reduce", "scatter.value_reduce"):
    no_derivative(_name, "self")


class _Folding:
    """What the gradients of scatter_reduce and index_reduce have in common.

    `pick` reads at the positions, `add` adds there.
    """

    def __init__(
        self,
        pick: Callable[[Any], Any],
        add: Callable[[Any, Any], Any],
        fold: Callable[[Any, Any], Any],
        clear: Callable[[Any], Any],
    ) -> None:
        self.pick, self.add, self.fold, self.clear = pick, add, fold, clear

    def grads(self, g: Any, base: Any, source: Any, reduce: str, include_self: bool, result: Any) -> tuple[Any, Any]:
        of_base, of_source = getattr(self, reduce)(g, base, source, include_self, result)
        return of_base if include_self else self.clear(of_base), of_source

    def sum(self, g: Any, base: Any, source: Any, include_self: bool, result: Any) -> tuple[Any, Any]:
        return g, self.pick(g)

    def mean(self, g: Any, base: Any, source: Any, include_self: bool, result: Any) -> tuple[Any, Any]:
        count = self.add(aten.ones_like(g) if include_self else aten.zeros_like(g), aten.ones_like(source))
        count = aten.masked_fill_(count, aten.eq(count, 0), 1)
        return aten.div(g, count), aten.div(self.pick(g), self.pick(count))

    def amax(self, g: Any, base: Any, source: Any, include_self: bool, result: Any) -> tuple[Any, Any]:
        kept, taken = aten.eq(base, result), aten.eq(source, self.pick(result))
        count = self.add(aten.to(kept, g.dtype), aten.to(taken, g.dtype))
        share = aten.div(g, count)
        return aten.mul(share, kept), aten.mul(self.pick(share), taken)

    amin = amax

    def prod(self, g: Any, base: Any, source: Any, include_self: bool, result: Any) -> tuple[Any, Any]:
        whole_base = aten.masked_fill(base, aten.eq(base, 0), 1)
        of_base = aten.div(aten.mul(g, self.fold(whole_base, source)), whole_base)
        is_zero = aten.eq(source, 0)
        zeros = self.pick(self.add(aten.zeros_like(base), aten.to(is_zero, base.dtype)))
        alone = aten.logical_and(is_zero, aten.eq(zeros, 1))
        without = self.pick(aten.mul(g, self.fold(base, aten.masked_fill(source, alone, 1))))
        divided = aten.div(self.pick(aten.mul(g, result)), aten.masked_fill(source, is_zero, 1))
        return of_base, aten.where(alone, without, divided)


def _scatter_reduce_grads(
    g: Any, needs: Any, self: Any, dim: int, index: Any, src: Any, reduce: str, include_self: bool, result: Any
) -> tuple[Any, Any]:
    folding = _Folding(
        lambda t: aten.gather(t, dim, index),
        lambda t, s: aten.scatter_add(t, dim, index, s),
        lambda t, s: aten.scatter_reduce(t, dim, index, s, reduce, include_self=include_self),
        lambda t: aten.scatter(t, dim, index, 0),
    )
    return folding.grads(g, self, src, reduce, include_self, result)


def _index_reduce_grads(
    g: Any, needs: Any, self: Any, dim: int, index: Any, source: Any, reduce: str, include_self: bool, result: Any
) -> tuple[Any, Any]:
    folding = _Folding(
        lambda t: aten.index_select(t, dim, index),
        lambda t, s: aten.index_add(t, dim, index, s),
        lambda t, s: aten.index_reduce(t, dim, index, s, reduce, include_self=include_self),
        lambda t: aten.index_fill(t, dim, index, 0),
    )
    return folding.grads(g, self, source, reduce, include_self, result)


derivative("scatter_reduce.two", inputs=("self", "src"), joint=_scatter_reduce_grads)
derivative("index_reduce", inputs=("self", "source"), joint=_index_reduce_grads)


# --- flat positions and masks
def _put_grad(g: Any, index: Any, accumulate: bool, source_shape: Any) -> Any:
    return g if accumulate else aten.put(g, index, aten.zeros(source_shape, dtype=g.dtype, device=g.device), False)


derivative("take", self=lambda g, index, self_shape: aten.put_(aten.new_zeros(g, self_shape), index, g, True))
derivative("put", self=_put_grad, source=lambda g, index, source_shape: aten.reshape(aten.take(g, index), source_shape))
derivative("masked_select", self=lambda g, self, mask: aten.masked_select_backward(g, self, mask))
derivative(
    "masked_scatter",
    self=lambda g, mask: aten.masked_fill(g, mask, 0),
    source=lambda g, mask, source_shape: aten.masked_scatter_backward(g, mask, source_shape),
)


# --- embeddings
def _embedding_second(g: Any, indices: Any, padding_idx: int) -> Any:
    rows = aten.view(aten.index_select(g, 0, aten.reshape(indices, (-1,))), (*indices.shape, g.shape[1]))
    return aten.masked_fill(rows, aten.unsqueeze(aten.eq(indices, padding_idx), -1), 0) if padding_idx >= 0 else rows


def _bag_grad(
    g: Any,
    indices: Any,
    offsets: Any,
    result1: Any,
    result2: Any,
    result3: Any,
    weight_shape: Any,
    scale_grad_by_freq: bool,
    mode: int,
    sparse: bool,
    per_sample_weights: Any,
    padding_idx: int,
) -> Any:
    return aten._embedding_bag_backward(
        g[0],
        indices,
        offsets,
        result1,
        result2,
        result3,
        weight_shape[0],
        scale_grad_by_freq,
        mode,
        sparse,
        per_sample_weights,
        padding_idx,
    )


derivative(
    "embedding",
    weight=lambda g, indices, weight_shape, padding_idx, scale_grad_by_freq, sparse: aten.embedding_backward(
        g, indices, weight_shape[0], padding_idx, scale_grad_by_freq, sparse
    ),
)
derivative("embedding_dense_backward", grad_output=_embedding_second)
derivative(
    "_embedding_bag",
    weight=_bag_grad,
    per_sample_weights=lambda g, weight, indices, offsets, result1, mode, padding_idx: (
        aten._embedding_bag_per_sample_weights_backward(g[0], weight, indices, offsets, result1, mode, padding_idx)
    ),
)
no_derivative(
    "_embedding_bag_dense_backward", "grad", node="EmbeddingBagBackwardBackward0", message="_embedding_bag_backward"
)
no_derivative("_embedding_bag_per_sample_weights_backward", "grad", "weight")

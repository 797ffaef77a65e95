"""Declarations of the ops that read from, or write to, positions given by index tensors or masks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import _dtype as dt
from .._shape import broadcast_shapes, normalize_dim
from .rules import MetaRule, Spec, like
from .table import op

POSITIONS = "the result is a position or a truth value"
UNKNOWN = "PyTorch has no derivative for it either"


def _unknown_size(name: str) -> MetaRule:
    """For ops whose output size depends on values, which the meta device has not."""

    def rule(*args: Any) -> Spec:
        raise NotImplementedError(
            f"aten::{name}: the shape of the result depends on values, which meta tensors do not have"
        )

    return rule


def check_mask(mask: Sequence[int], shape: Sequence[int], position: int) -> None:
    """IndexError if a mask of these sizes does not fit the dimensions of `shape` from `position` on."""
    if position + len(mask) > len(shape):
        raise IndexError(f"too many indices for tensor of dimension {len(shape)}")
    for k, n in enumerate(mask):
        if n != shape[position + k]:
            raise IndexError(
                f"The shape of the mask {list(mask)} at index {k} does not match the shape of the indexed tensor "
                f"{list(shape)} at index {position + k}"
            )


def _index_spec(self: Any, indices: Sequence[Any]) -> Spec:
    """Advanced indexing: the broadcast index shape stands where the indices are if those are neighbours, else in
    front.
    """
    if any(i is not None and i.dtype in (dt.bool_, dt.uint8) for i in indices):
        _unknown_size("index")(self)
    dims = [d for d, i in enumerate(indices) if i is not None]
    block = broadcast_shapes(*(tuple(indices[d].shape) for d in dims))
    sizes = tuple(self.shape)
    if dims and dims[-1] - dims[0] + 1 == len(dims):
        return Spec((*sizes[: dims[0]], *block, *sizes[dims[-1] + 1 :]), self.dtype)
    return Spec((*block, *(n for d, n in enumerate(sizes) if d not in dims)), self.dtype)


def _index_select_spec(self: Any, dim: int, index: Any) -> Spec:
    shape = list(self.shape)
    if shape:
        shape[normalize_dim(dim, len(shape))] = index.numel()
    return Spec(tuple(shape), self.dtype)


def _shape_of(position: int) -> MetaRule:
    """The shape of the argument at `position`, the type of the first."""

    def rule(*args: Any) -> Spec:
        return Spec(tuple(args[position].shape), args[0].dtype)

    return rule


def _truth_of(elements: Any, *rest: Any) -> Spec:
    return Spec(tuple(getattr(elements, "shape", ())), dt.bool_)


def _triangle(lower: bool) -> MetaRule:
    """For tril_indices and triu_indices: two rows, one column per element of the triangle."""

    def rule(row: int, col: int, offset: int, dtype: dt.dtype | None, *rest: Any) -> Spec:
        below = sum(min(max(i + offset + (1 if lower else 0), 0), col) for i in range(row))
        return Spec((2, below if lower else row * col - below), dtype or dt.int64)

    return rule


# Advanced indexing
op("index.Tensor(Tensor self, Tensor?[] indices) -> Tensor", meta=_index_spec, function=False, method=False)
op("_unsafe_masked_index(Tensor self, Tensor mask, Tensor?[] indices, Scalar fill) -> Tensor", method=False)
op(
    "_unsafe_masked_index_put_accumulate(Tensor self, Tensor mask, Tensor?[] indices, Tensor values) -> Tensor",
    method=False,
)
op("index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor", inplace=True)
op(
    "_index_put_impl_(Tensor(a!) self, Tensor?[] indices, Tensor values, bool accumulate=False, bool unsafe=False) "
    "-> Tensor(a!)",
    meta=like(),
    method=False,
)

# One index for one dimension
op("index_select(Tensor self, int dim, Tensor index) -> Tensor", meta=_index_select_spec, out=True)
op(
    "index_select_backward(Tensor grad, SymInt[] self_sizes, int dim, Tensor index) -> Tensor",
    function=False,
    method=False,
)
op(
    "index_add(Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> Tensor",
    meta=like(),
    inplace=True,
    out=True,
)
op("index_copy(Tensor self, int dim, Tensor index, Tensor source) -> Tensor", meta=like(), inplace=True, out=True)
op("index_fill.int_Scalar(Tensor self, int dim, Tensor index, Scalar value) -> Tensor", meta=like(), inplace=True)
op("index_fill.int_Tensor(Tensor self, int dim, Tensor index, Tensor value) -> Tensor", meta=like(), inplace=True)
op(
    "index_reduce(Tensor self, int dim, Tensor index, Tensor source, str reduce, *, bool include_self=True) -> Tensor",
    meta=like(),
    inplace=True,
    out=True,
)

# One index per element
op("gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor", meta=_shape_of(2), out=True)
op(
    "gather_backward(Tensor grad, Tensor self, int dim, Tensor index, bool sparse_grad) -> Tensor",
    function=False,
    method=False,
)
op("scatter.src(Tensor self, int dim, Tensor index, Tensor src) -> Tensor", meta=like(), inplace=True, out=True)
op("scatter.value(Tensor self, int dim, Tensor index, Scalar value) -> Tensor", meta=like(), inplace=True, out=True)
op(
    "scatter.reduce(Tensor self, int dim, Tensor index, Tensor src, *, str reduce) -> Tensor",
    meta=like(),
    inplace=True,
    out=True,
    no_grad=UNKNOWN,
)
op(
    "scatter.value_reduce(Tensor self, int dim, Tensor index, Scalar value, *, str reduce) -> Tensor",
    meta=like(),
    inplace=True,
    out=True,
    no_grad=UNKNOWN,
)
op("scatter_add(Tensor self, int dim, Tensor index, Tensor src) -> Tensor", meta=like(), inplace=True, out=True)
op(
    "scatter_reduce.two(Tensor self, int dim, Tensor index, Tensor src, str reduce, *, bool include_self=True) -> "
    "Tensor",
    meta=like(),
    inplace=True,
    out=True,
)
op("take_along_dim(Tensor self, Tensor indices, int? dim=None) -> Tensor", out=True)

# Flat positions
op("take(Tensor self, Tensor index) -> Tensor", meta=_shape_of(1), out=True)
op("put(Tensor self, Tensor index, Tensor source, bool accumulate=False) -> Tensor", meta=like(), inplace=True)

# Masks
op("masked_select(Tensor self, Tensor mask) -> Tensor", meta=_unknown_size("masked_select"), out=True)
op("masked_select_backward(Tensor grad, Tensor input, Tensor mask) -> Tensor", function=False, method=False)
op("masked_scatter(Tensor self, Tensor mask, Tensor source) -> Tensor", meta=like(), inplace=True)
op("masked_scatter_backward(Tensor grad_output, Tensor mask, SymInt[] sizes) -> Tensor", function=False, method=False)
op("nonzero(Tensor self) -> Tensor", meta=_unknown_size("nonzero"), out=True, no_grad=POSITIONS)
op("nonzero_numpy(Tensor self) -> Tensor[]", function=False, method=False, no_grad=POSITIONS)
op("argwhere(Tensor self) -> Tensor", no_grad=POSITIONS)

# Membership and index tables
_ISIN = "*, bool assume_unique=False, bool invert=False) -> Tensor"
op(
    f"isin.Tensor_Tensor(Tensor elements, Tensor test_elements, {_ISIN}",
    meta=_truth_of,
    method=False,
    out=True,
    no_grad=POSITIONS,
)
op(f"isin.Tensor_Scalar(Tensor elements, Scalar test_element, {_ISIN}", method=False, out=True, no_grad=POSITIONS)
op(
    f"isin.Scalar_Tensor(Scalar element, Tensor test_elements, {_ISIN}",
    meta=_truth_of,
    method=False,
    out=True,
    no_grad=POSITIONS,
)
op("one_hot(Tensor self, int num_classes=-1) -> Tensor", method=False, namespace="nn", no_grad=POSITIONS)
_TABLE = (
    "int row, int col, int offset=0, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
    "bool? pin_memory=None"
)
for _name in ("tril_indices", "triu_indices"):
    op(f"{_name}({_TABLE}) -> Tensor", meta=_triangle(_name == "tril_indices"), method=False, no_grad=POSITIONS)

# Embeddings
op(
    "embedding(Tensor weight, Tensor indices, SymInt padding_idx=-1, bool scale_grad_by_freq=False, bool "
    "sparse=False) -> Tensor",
    method=False,
)
op(
    "embedding_backward(Tensor grad, Tensor indices, SymInt num_weights, SymInt padding_idx, bool "
    "scale_grad_by_freq, bool sparse)"
    " -> Tensor",
    function=False,
    method=False,
)
op(
    "embedding_dense_backward(Tensor grad_output, Tensor indices, SymInt num_weights, SymInt padding_idx, bool "
    "scale_grad_by_freq)"
    " -> Tensor",
    function=False,
    method=False,
    meta=lambda grad, indices, num_weights, padding_idx, scale: Spec((num_weights, grad.shape[-1]), grad.dtype),
)
op(
    "embedding_renorm_(Tensor(a!) self, Tensor indices, float max_norm, float norm_type) -> Tensor(a!)",
    meta=like(),
    method=False,
    no_grad="PyTorch forbids it while recording",
)
_BAG = "Tensor weight, Tensor indices, Tensor offsets"
_BAG_MORE = (
    "bool scale_grad_by_freq{}, int mode{}, bool sparse{}, Tensor? per_sample_weights{}, bool include_last_offset{}"
)
_BAG_DEFAULTS = _BAG_MORE.format("=False", "=0", "=False", "=None", "=False")
_BAG_OUT = "(Tensor, Tensor, Tensor, Tensor)"


def _bag(
    weight: Any, indices: Any, offsets: Any, scale: bool, mode: int, sparse: bool, samples: Any, last: bool, pad: int
) -> tuple[Spec, ...]:
    bags = offsets.shape[0] - int(last)
    per_bag = Spec((bags, weight.shape[1]) if mode == 2 else (bags,), dt.int64)
    return (
        Spec((bags, weight.shape[1]), weight.dtype),
        Spec((indices.shape[0],), dt.int64),
        Spec((bags,), dt.int64),
        per_bag,
    )


op(f"embedding_bag({_BAG}, {_BAG_DEFAULTS}) -> {_BAG_OUT}", method=False)
op(
    f"embedding_bag.padding_idx({_BAG}, {_BAG_MORE.format('', '', '', '', '')}, int? padding_idx) -> {_BAG_OUT}",
    method=False,
)
op(f"_embedding_bag({_BAG}, {_BAG_DEFAULTS}, int padding_idx=-1) -> {_BAG_OUT}", meta=_bag, method=False)
op(
    f"_embedding_bag_forward_only({_BAG}, {_BAG_DEFAULTS}, int padding_idx=-1) -> {_BAG_OUT}",
    meta=_bag,
    method=False,
    no_grad="used where no gradient is recorded",
)
_BAG_GRAD = (
    "SymInt num_weights, bool scale_grad_by_freq, int mode, {}Tensor? per_sample_weights, int padding_idx=-1) -> Tensor"
)
op(
    "_embedding_bag_backward(Tensor grad, Tensor indices, Tensor offsets, Tensor offset2bag, Tensor bag_size, "
    "Tensor maximum_indices, " + _BAG_GRAD.format("bool sparse, "),
    function=False,
    method=False,
)
op(
    "_embedding_bag_dense_backward(Tensor grad, Tensor indices, Tensor offset2bag, Tensor bag_size, Tensor "
    "maximum_indices, " + _BAG_GRAD.format(""),
    function=False,
    method=False,
    no_grad=UNKNOWN,
    meta=lambda grad, indices, bags, sizes, positions, num_weights, *rest: Spec(
        (num_weights, grad.shape[1]), grad.dtype
    ),
)
op(
    "_embedding_bag_per_sample_weights_backward(Tensor grad, Tensor weight, Tensor indices, Tensor offsets, Tensor "
    "offset2bag, int mode, int padding_idx=-1) -> Tensor",
    function=False,
    method=False,
    no_grad="it is a first derivative",
    meta=lambda grad, weight, indices, *rest: Spec(tuple(indices.shape), grad.dtype),
)

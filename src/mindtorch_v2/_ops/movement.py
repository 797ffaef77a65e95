"""Declarations of the ops that move elements without computing with them: views, joins, splits, copies, conversions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import _dtype as dt
from .._shape import infer_size, normalize_dim
from .movement_shapes import check_cat, format_strides, is_channels_last
from .rules import Spec, alike, like
from .table import op

NOT_DIFFERENTIABLE = "the result is not a tensor"
OVERWRITES = "the tensor gets other memory"


# --- output rules
def _reshape_spec(self: Any, size: Sequence[int]) -> Spec:
    return Spec(infer_size(size, self.numel()), self.dtype)


def _cat_spec(tensors: Sequence[Any], dim: int) -> Spec:
    """The output of cat: legacy empty tensors of one dimension are left out, types are promoted."""
    shapes = [tuple(t.shape) for t in tensors]
    axis, used = check_cat(shapes, dim)
    common = tensors[0].dtype
    for t in tensors[1:]:
        common = dt.promote_types(common, t.dtype)
    if not used:
        return Spec((0,), common)
    first = shapes[used[0]]
    shape = (*first[:axis], sum(shapes[i][axis] for i in used), *first[axis + 1 :])
    last = all(is_channels_last(tensors[i]._array.shape, tensors[i]._array.strides) for i in used)
    return Spec(shape, common, format_strides(shape) if last else None)


def _repeat_spec(self: Any, repeats: Sequence[int]) -> Spec:
    shape = (1,) * (len(repeats) - self.dim()) + tuple(self.shape)
    return Spec(tuple(n * r for n, r in zip(shape, repeats)), self.dtype)


def _of_sizes(grad: Any, input_sizes: Sequence[int], *rest: Any) -> Spec:
    """For backward-only ops: the gradient of a view has the shape of what was viewed."""
    return Spec(tuple(input_sizes), grad.dtype)


def _interleave_spec(repeats: Any, output_size: int | None) -> Spec:
    if output_size is None:
        raise NotImplementedError("repeat_interleave on the meta device needs output_size")
    return Spec((output_size,), repeats.dtype)


def _narrow_spec(self: Any, dim: int, start: int, length: int) -> Spec:
    dim = normalize_dim(dim, self.dim())
    shape = tuple(self.shape)
    return Spec((*shape[:dim], length, *shape[dim + 1 :]), self.dtype)


# --- views: another shape or order over the same memory
op("view(Tensor(a) self, SymInt[] size) -> Tensor(a)", function=False)
op(
    "view.dtype(Tensor(a) self, ScalarType dtype) -> Tensor(a)",
    function=False,
    no_grad="the bits are read as another type",
)
op("reshape(Tensor(a) self, SymInt[] shape) -> Tensor(a)")
op("_unsafe_view(Tensor self, SymInt[] size) -> Tensor", meta=_reshape_spec, function=False, method=False)
op("_reshape_alias(Tensor(a) self, SymInt[] size, SymInt[] stride) -> Tensor(a)", function=False, method=False)
op("flatten.using_ints(Tensor(a) self, int start_dim=0, int end_dim=-1) -> Tensor(a)")
op("unflatten.int(Tensor(a) self, int dim, SymInt[] sizes) -> Tensor(a)")
op("ravel(Tensor(a) self) -> Tensor(a)")
op("squeeze(Tensor(a) self) -> Tensor(a)")
op("squeeze.dim(Tensor(a) self, int dim) -> Tensor(a)")
op("squeeze.dims(Tensor(a) self, int[] dim) -> Tensor(a)")
op("unsqueeze(Tensor(a) self, int dim) -> Tensor(a)")
op("transpose.int(Tensor(a) self, int dim0, int dim1) -> Tensor(a)")
op("t(Tensor(a) self) -> Tensor(a)")
op("numpy_T(Tensor(a) self) -> Tensor(a)", function=False, method=False)
op("matrix_H(Tensor(a) self) -> Tensor(a)", function=False, method=False)
op("mT(Tensor(a) self) -> Tensor(a)", function=False, method=False)
op("mH(Tensor(a) self) -> Tensor(a)", function=False, method=False)
op("adjoint(Tensor(a) self) -> Tensor(a)")
op("permute(Tensor(a) self, int[] dims) -> Tensor(a)")
op("movedim.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)")
op("movedim.int(Tensor(a) self, int source, int destination) -> Tensor(a)")
op("moveaxis.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)")
op("moveaxis.int(Tensor(a) self, int source, int destination) -> Tensor(a)")
op("swapaxes(Tensor(a) self, int axis0, int axis1) -> Tensor(a)")
op("swapdims(Tensor(a) self, int dim0, int dim1) -> Tensor(a)")
op("expand(Tensor(a) self, SymInt[] size, *, bool implicit=False) -> Tensor(a)", function=False)
op("expand_as(Tensor(a) self, Tensor other) -> Tensor(a)", function=False)
op("broadcast_to(Tensor(a) self, SymInt[] size) -> Tensor(a)")
op("broadcast_tensors(Tensor[] tensors) -> Tensor[]", method=False)
op("view_as(Tensor(a) self, Tensor other) -> Tensor(a)", function=False)
op("reshape_as(Tensor(a) self, Tensor other) -> Tensor(a)", function=False)
op("select.int(Tensor(a) self, int dim, SymInt index) -> Tensor(a)")
op(
    "slice.Tensor(Tensor(a) self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor(a)",
    function=False,
    method=False,
)
op("narrow(Tensor(a) self, int dim, SymInt start, SymInt length) -> Tensor(a)")
op("narrow.Tensor(Tensor(a) self, int dim, Tensor start, SymInt length) -> Tensor(a)")
op("diagonal(Tensor(a) self, int offset=0, int dim1=0, int dim2=1) -> Tensor(a)")
op("unfold(Tensor(a) self, int dimension, int size, int step) -> Tensor(a)", function=False)
op("as_strided(Tensor(a) self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor(a)")
op("alias(Tensor(a) self) -> Tensor(a)", function=False, method=False)
op("detach(Tensor(a) self) -> Tensor(a)", no_grad="it leaves the graph")
op("lift_fresh(Tensor(a) self) -> Tensor(a)", function=False, method=False)

# --- views that come in several pieces
op("split.Tensor(Tensor(a) self, SymInt split_size, int dim=0) -> Tensor(a)[]", method=False)
op("split.sizes(Tensor(a) self, SymInt[] split_size, int dim=0) -> Tensor(a)[]", method=False)
op("split_with_sizes(Tensor(a) self, SymInt[] split_sizes, int dim=0) -> Tensor(a)[]")
op("chunk(Tensor(a) self, int chunks, int dim=0) -> Tensor(a)[]")
op("tensor_split.sections(Tensor(a) self, SymInt sections, int dim=0) -> Tensor(a)[]")
op("tensor_split.indices(Tensor(a) self, SymInt[] indices, int dim=0) -> Tensor(a)[]")
op(
    "tensor_split.tensor_indices_or_sections(Tensor(a) self, Tensor tensor_indices_or_sections, int dim=0) -> "
    "Tensor(a)[]"
)
for _name in ("hsplit", "vsplit", "dsplit"):
    op(f"{_name}.int(Tensor(a) self, int sections) -> Tensor(a)[]")
    op(f"{_name}.array(Tensor(a) self, int[] indices) -> Tensor(a)[]")
op("unbind.int(Tensor(a) self, int dim=0) -> Tensor(a)[]")
op("unsafe_split.Tensor(Tensor self, SymInt split_size, int dim=0) -> Tensor[]")
op("unsafe_chunk(Tensor self, int chunks, int dim=0) -> Tensor[]")

# --- forms that change the shape of the tensor they are called on
op("squeeze_(Tensor(a!) self) -> Tensor(a!)", function=False)
op("squeeze_.dim(Tensor(a!) self, int dim) -> Tensor(a!)", function=False)
op("squeeze_.dims(Tensor(a!) self, int[] dim) -> Tensor(a!)", function=False)
op("unsqueeze_(Tensor(a!) self, int dim) -> Tensor(a!)", function=False)
op("transpose_(Tensor(a!) self, int dim0, int dim1) -> Tensor(a!)", function=False)
op("t_(Tensor(a!) self) -> Tensor(a!)", function=False)
op("swapaxes_(Tensor(a!) self, int axis0, int axis1) -> Tensor(a!)", function=False)
op("swapdims_(Tensor(a!) self, int dim0, int dim1) -> Tensor(a!)", function=False)
op("as_strided_(Tensor(a!) self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor(a!)")
op("detach_(Tensor(a!) self) -> Tensor(a!)", no_grad="it leaves the graph")
op(
    "resize_(Tensor(a!) self, SymInt[] size, *, MemoryFormat? memory_format=None) -> Tensor(a!)",
    function=False,
    no_grad=OVERWRITES,
)
op(
    "resize_as_(Tensor(a!) self, Tensor the_template, *, MemoryFormat? memory_format=None) -> Tensor(a!)",
    no_grad=OVERWRITES,
)
op("set_(Tensor(a!) self) -> Tensor(a!)", function=False, no_grad=OVERWRITES)
op("set_.source_Tensor(Tensor(a!) self, Tensor source) -> Tensor(a!)", function=False, no_grad=OVERWRITES)
op(
    "set_.source_Tensor_storage_offset(Tensor(a!) self, Tensor source, SymInt storage_offset, SymInt[] size, "
    "SymInt[] stride=[]) -> Tensor(a!)",
    function=False,
    no_grad=OVERWRITES,
)

# --- joins and repetitions
op("cat(Tensor[] tensors, int dim=0) -> Tensor", meta=_cat_spec, method=False, out=True)
for _name in ("concat", "concatenate"):
    op(f"{_name}(Tensor[] tensors, int dim=0) -> Tensor", method=False, out=True)
op("stack(Tensor[] tensors, int dim=0) -> Tensor", method=False, out=True)
for _name in ("hstack", "vstack", "row_stack", "dstack", "column_stack"):
    op(f"{_name}(Tensor[] tensors) -> Tensor", method=False, out=True)
op("repeat(Tensor self, SymInt[] repeats) -> Tensor", meta=_repeat_spec, function=False)
op("tile(Tensor self, SymInt[] dims) -> Tensor")
op("repeat_interleave.self_int(Tensor self, SymInt repeats, int? dim=None, *, SymInt? output_size=None) -> Tensor")
op("repeat_interleave.self_Tensor(Tensor self, Tensor repeats, int? dim=None, *, SymInt? output_size=None) -> Tensor")
op(
    "repeat_interleave.Tensor(Tensor repeats, *, SymInt? output_size=None) -> Tensor",
    meta=_interleave_spec,
    method=False,
    no_grad="the result is made of positions",
)
op("meshgrid(Tensor[] tensors) -> Tensor[]", method=False)
op("meshgrid.indexing(Tensor[] tensors, *, str indexing) -> Tensor[]", method=False)
op("cartesian_prod(Tensor[] tensors) -> Tensor", method=False)
op("combinations(Tensor self, int r=2, bool with_replacement=False) -> Tensor", method=False)
op("block_diag(Tensor[] tensors) -> Tensor", method=False)
for _name in ("atleast_1d", "atleast_2d", "atleast_3d"):
    op(f"{_name}(Tensor self) -> Tensor", method=False)
    op(f"{_name}.Sequence(Tensor[] tensors) -> Tensor[]", method=False)

# --- elements in another order, or some of them
op("flip(Tensor self, int[] dims) -> Tensor", meta=lambda self, dims: alike(self))
op("fliplr(Tensor self) -> Tensor")
op("flipud(Tensor self) -> Tensor")
op("roll(Tensor self, SymInt[1] shifts, int[1] dims=[]) -> Tensor")
op("rot90(Tensor self, int k=1, int[] dims=[0, 1]) -> Tensor")
op("narrow_copy(Tensor self, int dim, SymInt start, SymInt length) -> Tensor", meta=_narrow_spec, out=True)
op("diag(Tensor self, int diagonal=0) -> Tensor", out=True)
op("diagonal_copy(Tensor self, int offset=0, int dim1=0, int dim2=1) -> Tensor", method=False, out=True)
op("diag_embed(Tensor self, int offset=0, int dim1=-2, int dim2=-1) -> Tensor")
op("diagflat(Tensor self, int offset=0) -> Tensor")
op("tril(Tensor self, SymInt diagonal=0) -> Tensor", meta=like(), inplace=True, out=True)
op("triu(Tensor self, SymInt diagonal=0) -> Tensor", meta=like(), inplace=True, out=True)

op("select_scatter(Tensor self, Tensor src, int dim, SymInt index) -> Tensor")
op(
    "slice_scatter(Tensor self, Tensor src, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor",
    out=True,
)
op("diagonal_scatter(Tensor self, Tensor src, int offset=0, int dim1=0, int dim2=1) -> Tensor")

# --- gradients of views
op(
    "select_backward(Tensor grad_output, SymInt[] input_sizes, int dim, SymInt index) -> Tensor",
    function=False,
    method=False,
)
op(
    "slice_backward(Tensor grad_output, SymInt[] input_sizes, int dim, SymInt start, SymInt end, SymInt step) -> "
    "Tensor",
    function=False,
    method=False,
)
op(
    "diagonal_backward(Tensor grad_output, SymInt[] input_sizes, int offset, int dim1, int dim2) -> Tensor",
    function=False,
    method=False,
)
op(
    "unfold_backward(Tensor grad_in, SymInt[] input_sizes, int dim, int size, int step) -> Tensor",
    meta=_of_sizes,
    function=False,
    method=False,
)

# --- copies and conversions
op("clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor")
op("contiguous(Tensor(a) self, *, MemoryFormat? memory_format=None) -> Tensor(a)", function=False, method=False)
op(
    "to.dtype(Tensor(a) self, ScalarType dtype, bool non_blocking=False, bool copy=False, MemoryFormat? "
    "memory_format=None)"
    " -> Tensor(a)",
    function=False,
    method=False,
)
op(
    "to.device(Tensor(a) self, Device device, ScalarType dtype, bool non_blocking=False, bool copy=False, "
    "MemoryFormat? memory_format=None) -> Tensor(a)",
    function=False,
    method=False,
)
op(
    "to.other(Tensor(a) self, Tensor other, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None)"
    " -> Tensor(a)",
    function=False,
    method=False,
)
op(
    "to.dtype_layout(Tensor(a) self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
    "bool? pin_memory=None, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)",
    function=False,
    method=False,
)
op(
    "_to_copy(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, "
    "bool non_blocking=False, MemoryFormat? memory_format=None) -> Tensor",
    function=False,
    method=False,
)
op("type_as(Tensor self, Tensor other) -> Tensor", function=False)
op("item(Tensor self) -> Scalar", function=False, no_grad=NOT_DIFFERENTIABLE)
op("_local_scalar_dense(Tensor self) -> Scalar", function=False, method=False, no_grad=NOT_DIFFERENTIABLE)
op("is_nonzero(Tensor self) -> bool", no_grad=NOT_DIFFERENTIABLE)
op("is_same_size(Tensor self, Tensor other) -> bool", no_grad=NOT_DIFFERENTIABLE)

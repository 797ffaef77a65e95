"""In-place writes in a graph: who may be written, and how histories are rewritten."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .. import _dtype as dt
from .._dispatch import aten
from .._dispatch.dispatcher import run_below_autograd
from .._dispatch.plan import GradientPlan, SavedKind
from .._dispatch.views import mark_views
from .._keys import GRAD
from .._ops.table import Op
from .._tensor import Tensor, shallow_alias
from .node import Node, Slot, edge_of, function_name
from .record import collect_edges, finish_node, gradient_plan, new_node, save, saved_fact


def check_inplace(t: Tensor) -> None:
    """RuntimeError where writing would lose a gradient."""
    if t._edge is None and t._keys & GRAD and t._base is None:
        raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")
    base = t._base
    if base is not None:
        if base._edge is None and base._keys & GRAD:
            raise RuntimeError("a view of a leaf Variable that requires grad is being used in an in-place operation.")
        if t._view_kind == "multi" and base._keys & GRAD and t._edge is not None:
            edge = t._edge
            node, nr = (edge.node, edge.nr) if edge.__class__ is Slot else (edge, 0)
            raise RuntimeError(
                f"Output {nr} of {function_name(node)} is a view and is being modified inplace. This view is the "
                "output of a function that returns multiple views. Such functions do not allow the output views to be "
                "modified inplace. You should replace the inplace operation by an out-of-place one."
            )


def forward_inplace(op: Op, kernel: Any, args: tuple[Any, ...]) -> Any:
    """Runs an in-place kernel and makes its node the new history of the first argument."""
    target = args[0]
    check_inplace(target)
    gradient = gradient_plan(op)
    edges, counts = collect_edges(gradient, args)
    replaced = {value.name: saved_fact(value, args) for value in gradient.saved if value.fact is not None}
    replaced |= {
        value.name: _before_write(target)
        for value in gradient.saved
        if value.kind == SavedKind.ARGUMENT
        and value.position == 0
        and (not value.users or any(edges[i] is not None for i in value.users))
    }
    before = 0 if target._storage is None else target._storage.version
    if op.is_composite:
        run_below_autograd(kernel, args)
    else:
        kernel(*args)
    if all(e is None for e in edges) or not target.dtype.inexact:
        return target
    node = new_node(gradient, edges, counts, [target], single=True)
    save(node, gradient, args, [target], replaced)
    _date_back(node, gradient, target, before)
    rebase(target, node)
    return target


def _date_back(node: Node, gradient: GradientPlan, target: Tensor, before: int) -> None:
    """What was saved of arguments that share the memory written has another value now: the backward pass says so."""
    if node.saved is None:
        return
    for i, (value, kept) in enumerate(zip(gradient.saved, node.saved)):
        if value.kind == SavedKind.ARGUMENT and isinstance(kept, Tensor) and kept._storage is target._storage:
            versions = [0] * len(node.saved) if node.versions is None else list(node.versions)
            versions[i] = before
            node.versions = tuple(versions)


def _before_write(target: Tensor) -> Tensor:
    """A copy of what is about to be overwritten, with its edge, so that second derivatives reach it."""
    kept = run_below_autograd(aten.clone, (shallow_alias(target),))
    edge = edge_of(target)
    if edge is not None and not isinstance(edge, Tensor):
        kept._edge, kept._keys = edge, kept._keys | GRAD
    return kept


def rebase(target: Tensor, node: Node) -> None:
    """Makes `node` the origin of a written tensor; the base of a written view gets a CopySlices node."""
    base = target._base
    whole = target if base is None else base
    is_new = not whole._keys & GRAD
    target._keys |= GRAD
    whole._keys |= GRAD
    if is_new:
        mark_views(whole)  # their histories are made anew when somebody asks: `view_edge`
    if base is None:
        target._edge = node
        return
    copy = CopySlices()
    finish_node(copy, (edge_of(base), *node.next[1:]), [base], single=True)
    copy.inner = node
    copy.geometry = ViewGeometry.of(target, base)
    base._edge = copy
    regenerate_view(target, base)


@dataclass(frozen=True)
class ViewGeometry:
    """Where a view lies in its base; strides and offset count elements of the view's type."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    dtype: dt.dtype
    base_shape: tuple[int, ...]
    base_strides: tuple[int, ...]
    base_dtype: dt.dtype

    @classmethod
    def of(cls, view: Tensor, base: Tensor) -> ViewGeometry:
        offset = (view.data_ptr() - base.data_ptr()) // view._array.itemsize
        return cls(view._array.shape, view.stride(), offset, view.dtype, base._array.shape, base.stride(), base.dtype)

    def empty_base(self, like: Tensor) -> Tensor:
        """Memory laid out as the base's."""
        return aten.new_empty_strided(like, self.base_shape, self.base_strides, dtype=self.base_dtype)

    def inside(self, whole: Tensor) -> Tensor:
        """The view's part of a tensor laid out as the base."""
        if self.base_dtype.is_complex and not self.dtype.is_complex:
            whole = aten.view_as_real(whole)
        elif self.dtype.is_complex and not self.base_dtype.is_complex:
            whole = aten.view_as_complex(whole)
        return aten.as_strided(whole, self.shape, self.strides, self.offset)

    def overlaps(self) -> bool:
        """Whether elements of the view may share memory, as those of an expanded or unfolded tensor do."""
        reach = 0
        for step, n in sorted((s, n) for s, n in zip(self.strides, self.shape) if n > 1):
            if step <= reach:
                return True
            reach += step * (n - 1)
        return False


def regenerate_view(view: Tensor, base: Tensor) -> None:
    """Gives a view the history "as_strided of the base", after the base was written."""
    node = AsStridedOfBase()
    node.geometry = ViewGeometry.of(view, base)
    finish_node(node, (edge_of(base),), [view], single=True)
    view._edge = node
    view._keys |= GRAD
    assert view._storage is not None
    view._view_version = view._storage.version


class CopySlices(Node):
    """The history of a base of which a view was written: the written part goes through the write's own node."""

    inner: Node
    geometry: ViewGeometry

    def __init__(self) -> None:
        self.hooked = True  # what it saved is its inner node's: the engine's short cut does not know that

    def name(self) -> str:
        return "torch::autograd::CopySlices"

    def apply(self, g: Any) -> Any:
        whole = aten.copy_(self.geometry.empty_base(g), g)
        part = self.geometry.inside(whole)
        grads = list(self.inner.apply(aten.clone(part)))
        if grads[0] is None:
            aten.zero_(part)
        else:
            aten.copy_(part, grads[0])
        return (whole, *grads[1:])

    def release(self) -> None:
        self.inner.release()


class AsStridedOfBase(Node):
    """The history of a view after its base was written."""

    geometry: ViewGeometry

    def name(self) -> str:
        return "AsStridedBackward0"

    def apply(self, g: Any) -> Any:
        geometry = self.geometry
        if geometry.overlaps():
            from .derivatives.movement import through_storage

            return (
                through_storage(
                    g, geometry.shape, geometry.strides, geometry.offset, geometry.base_shape, geometry.base_strides, 0
                ),
            )
        whole = aten.zero_(geometry.empty_base(g))
        aten.copy_(geometry.inside(whole), g)
        return (whole,)

"""The general way to run an op and remember how to differentiate it."""

from __future__ import annotations

import threading
from typing import Any

from .. import _observer
from .._dispatch import modes
from .._dispatch.dispatcher import run_below_autograd
from .._dispatch.plan import GradientPlan, Saved, SavedKind, plan_of
from .._keys import DEVICES, GRAD, INFERENCE, SPECIAL
from .._ops.table import Op
from .._tensor import Tensor, shallow_alias
from .node import Node, Packed, Slot, edge_of, versions_of


def forward(op: Op, kernel: Any, args: tuple[Any, ...]) -> Any:
    """Runs the kernel; ties floating outputs to a new node if any differentiable input needs a gradient."""
    if op.writes:
        from .inplace import forward_inplace

        return forward_inplace(op, kernel, args)
    out = run_below_autograd(kernel, args) if op.is_composite else kernel(*args)
    gradient = gradient_plan(op)
    edges, counts = collect_edges(gradient, args)
    if not _is_any(edges) or _is_one_of(out, args):
        return out
    single = isinstance(out, Tensor)
    outputs = [out] if single else list(out)
    if gradient.only_inexact and not any(t is not None and t.dtype.inexact for t in outputs):
        return out
    if op.is_composite and not op.is_view:
        own_outputs(outputs, args)
    node = new_node(gradient, edges, counts, outputs, single)
    save(node, gradient, args, outputs)
    attach(node, outputs, single, gradient.constant)
    if op.is_view and not single:
        for t in outputs:
            t._view_kind = "multi"
    return out


def own_outputs(outputs: list[Tensor], args: tuple[Any, ...]) -> None:
    """Outputs that are views of what the steps of a composite made stand for themselves: the base, which nobody else
    has, knows nothing of the node, so a later write through a view would leave the node out.
    """
    for t in outputs:
        if t is not None and t._base is not None and not any(_belongs(t._base, a) for a in args):
            t._base = None


def _belongs(base: Tensor, arg: Any) -> bool:
    """Whether this is the memory of an argument, or of a tensor in a list of them."""
    if isinstance(arg, Tensor):
        return base is arg or base is arg._base
    return isinstance(arg, (list, tuple)) and any(_belongs(base, a) for a in arg)


def _is_any(edges: tuple[Any, ...]) -> bool:
    for edge in edges:  # noqa: SIM110 - half the time of a generator
        if edge is not None:
            return True
    return False


def _is_one_of(out: Any, args: tuple[Any, ...]) -> bool:
    for a in args:  # noqa: SIM110 - half the time of a generator
        if out is a:
            return True
    return False


def gradient_plan(op: Op) -> GradientPlan:
    """What the node of a call of this op, which has a derivative, is made of."""
    gradient: GradientPlan = plan_of(op).gradient if op.plan is None else op.plan.gradient  # type: ignore[assignment]
    return gradient


def collect_edges(gradient: GradientPlan, args: tuple[Any, ...]) -> tuple[tuple[Any, ...], tuple[int, ...]]:
    """The edges of the differentiable inputs, and how many each input has where one is a list."""
    if not gradient.takes_lists:
        return tuple([edge_of(args[i]) if isinstance(args[i], Tensor) else None for i in gradient.inputs]), ()
    edges: list[Any] = []
    counts: list[int] = []
    for i in gradient.inputs:
        value = args[i]
        if isinstance(value, Tensor):
            edges.append(edge_of(value))
            counts.append(1)
        elif isinstance(value, (list, tuple)):
            edges.extend(None if t is None else edge_of(t) for t in value)
            counts.append(len(value))
        else:
            edges.append(None)
            counts.append(1)
    return tuple(edges), tuple(counts)


def saved_fact(value: Saved, args: tuple[Any, ...]) -> Any:
    """A fact about an argument, known without keeping the tensor: its shape, strides (in bytes), offset (in
    elements), type or device. Lists of tensors give lists.
    """
    given = args[value.position]
    assert value.fact is not None
    return value.fact(given) if isinstance(given, (Tensor, list, tuple)) else value.absent


def new_node(
    gradient: GradientPlan, edges: tuple[Any, ...], counts: tuple[int, ...], outputs: list[Tensor], single: bool
) -> Node:
    node: Node = gradient.node_class()
    finish_node(node, edges, outputs, single)
    if gradient.takes_lists:
        node.counts = counts
    return node


def finish_node(node: Node, edges: tuple[Any, ...], outputs: list[Tensor], single: bool) -> None:
    """Gives a node its edges, sequence id, thread and the description of its outputs."""
    node.next = edges
    node.seq = modes.sequence[0]
    modes.sequence[0] += 1
    if single:
        t = outputs[0]
        node.shape, node.dtype, node.key, node.device = t._array.shape, t.dtype, t._keys & DEVICES, t._device
    else:
        node.specs = tuple(None if t is None else (t._array.shape, t.dtype, t._keys & DEVICES) for t in outputs)
    if _observer.active is not None:
        node.forward_thread = threading.get_ident()
    if modes.SPACE["_mode"] & SPECIAL and modes.state.anomaly:
        import traceback

        node.trace = "".join(traceback.format_stack()[:-4])
        node.hooked = True


def attach(node: Node, outputs: list[Tensor], single: bool, constant: frozenset[int] = frozenset()) -> None:
    """Makes the node the origin of its floating outputs, except those that have no gradient."""
    if single and not constant:
        t = outputs[0]
        if t.dtype.inexact:
            t._edge, t._keys = node, t._keys | GRAD
        return
    for i, t in enumerate(outputs):
        if t is not None and t.dtype.inexact and i not in constant:
            t._edge = node if single else Slot(node, i)
            t._keys |= GRAD


def save(
    node: Node,
    gradient: GradientPlan,
    args: tuple[Any, ...],
    outputs: list[Tensor],
    replaced: dict[str, Any] | None = None,
) -> None:
    """Keeps the values that the node's rows name and that some needed gradient uses.

    `replaced` are values that were taken earlier.
    """
    if not gradient.saved:
        return
    values = [
        _value_to_save(value, node, gradient, args, outputs)
        if replaced is None or value.name not in replaced
        else replaced[value.name]
        for value in gradient.saved
    ]
    for v in values:
        if isinstance(v, Tensor) and v._keys & INFERENCE:
            raise RuntimeError(
                "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference "
                "mode in computation tracked by autograd. To work around this, you can make a clone to get a "
                "normal tensor and use it in autograd, or use `torch.no_grad()` instead of `torch.inference_mode()`."
            )
    store(node, values)


def _value_to_save(
    value: Saved, node: Node, gradient: GradientPlan, args: tuple[Any, ...], outputs: list[Tensor]
) -> Any:
    if value.kind == SavedKind.RESULT:
        return shallow_alias(outputs[value.position])
    if value.kind != SavedKind.ARGUMENT:
        return saved_fact(value, args)
    given = args[value.position]
    unused = isinstance(given, Tensor) and not gradient.takes_lists and all(node.next[i] is None for i in value.users)
    return None if unused else given


class _Packing(modes.Switch):
    _changes = {"saved_hooks": (), "grad": False}
    _special = False


_packing = _Packing()


def store(node: Node, values: list[Any]) -> None:
    """Puts saved values into a node, through the pack hooks in force. Hooks run without gradients, as in PyTorch."""
    versions = versions_of(values)
    hooks = modes.state.saved_hooks if modes.SPACE["_mode"] & SPECIAL else ()
    if hooks:
        pack, unpack = hooks[-1]
        if pack is None:
            raise RuntimeError(unpack)
        values = _packing.run(
            lambda: [Packed(pack(v), unpack, edge_of(v)) if isinstance(v, Tensor) else v for v in values]
        )
    node.saved = tuple(values)
    if any(versions):
        node.versions = versions

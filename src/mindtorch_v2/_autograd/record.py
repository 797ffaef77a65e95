"""The general way to run an op and remember how to differentiate it."""
from __future__ import annotations

import functools
import threading
import traceback
from collections.abc import Set
from typing import TYPE_CHECKING, Any

from .. import _observer
from .._dispatch import modes
from .._dispatch.dispatcher import run_below_autograd
from .._keys import DEVICES, GRAD, INFERENCE
from .._ops.table import Op
from .._tensor import Tensor, shallow_alias
from .node import Node, Packed, Slot, edge_of

if TYPE_CHECKING:
    from .rules import Derivative


def forward(derivative: Derivative, op: Op, keyset: int, kernel: Any, args: tuple[Any, ...]) -> Any:
    """Runs the kernel; ties floating outputs to a new node if any differentiable input needs a gradient."""
    if op.writes:
        from .inplace import forward_inplace
        return forward_inplace(derivative, op, kernel, args)
    out = run_below_autograd(kernel, args) if op.is_composite else kernel(*args)
    edges, counts = collect_edges(derivative, op, args)
    if all(e is None for e in edges) or any(out is a for a in args):
        return out
    outputs = [out] if isinstance(out, Tensor) else list(out)
    node = new_node(derivative, edges, counts, outputs, single=isinstance(out, Tensor))
    save(node, derivative, op, args, outputs)
    attach(node, outputs, single=isinstance(out, Tensor), constant=derivative.constant)
    if op.is_view and not isinstance(out, Tensor):
        for t in outputs:
            t._view_kind = "multi"
    return out


def collect_edges(derivative: Derivative, op: Op, args: tuple[Any, ...]) -> tuple[tuple[Any, ...], tuple[int, ...]]:
    """The edges of the differentiable inputs, and how many each input has."""
    edges: list[Any] = []
    counts: list[int] = []
    for name in derivative.inputs:
        value = args[position(op, name)]
        if isinstance(value, Tensor):
            edges.append(edge_of(value))
            counts.append(1)
        elif isinstance(value, (list, tuple)) and name in derivative.list_inputs:
            edges.extend(None if t is None else edge_of(t) for t in value)
            counts.append(len(value))
        else:
            edges.append(None)
            counts.append(1)
    return tuple(edges), tuple(counts)


@functools.cache
def position(op: Op, name: str) -> int:
    """Where an argument stands in the schema."""
    for i, p in enumerate(op.schema.params):
        if p.name == name:
            return i
    raise KeyError(name)


def tensor_fact(op: Op, args: tuple[Any, ...], name: str) -> Any:
    """What a row names as `self_shape`, `self_strides` (in bytes), `self_offset` (in elements), `self_dtype` or `self_device`:
    known without keeping the tensor. Lists of tensors give lists."""
    word, _, what = name.rpartition("_")
    value = args[position(op, word)]
    if what == "offset":
        return value.storage_offset()
    of_tensor = what in ("dtype", "device")
    if isinstance(value, (list, tuple)):
        return [getattr(t if of_tensor else t._array, what) for t in value]
    if not isinstance(value, Tensor):
        return None if of_tensor else ()
    return getattr(value if of_tensor else value._array, what)


def new_node(derivative: Derivative, edges: tuple[Any, ...], counts: tuple[int, ...], outputs: list[Tensor], single: bool) -> Node:
    node = derivative.node_class()
    finish_node(node, edges, outputs, single)
    node.counts = counts
    return node


def finish_node(node: Node, edges: tuple[Any, ...], outputs: list[Tensor], single: bool) -> None:
    """Gives a node its edges, number, thread and the description of its outputs."""
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
    if modes.state.anomaly:
        node.trace = "".join(traceback.format_stack()[:-4])
        node.hooked = True


def attach(node: Node, outputs: list[Tensor], single: bool, constant: frozenset[int] = frozenset()) -> None:
    """Makes the node the origin of its floating outputs, except those that have no gradient."""
    for i, t in enumerate(outputs):
        if t is not None and t.dtype.inexact and i not in constant:
            t._edge = node if single else Slot(node, i)
            t._keys |= GRAD


def save(node: Node, derivative: Derivative, op: Op, args: tuple[Any, ...], outputs: list[Tensor],
         replaced: dict[str, Any] | None = None) -> None:
    """Keeps the values that the node's rows name and that some needed gradient uses."""
    if not derivative.saved_names:
        return
    needed = _needed_names(derivative, node)
    values: list[Any] = []
    results = derivative.results
    for name in derivative.saved_names:
        if name in results:
            values.append(shallow_alias(outputs[results[name]]))
        elif replaced is not None and name in replaced:
            values.append(replaced[name])
        elif name in derivative.facts:
            values.append(tensor_fact(op, args, name))
        else:
            value = args[position(op, name)]
            if isinstance(value, Tensor) and name not in needed:
                value = None
            values.append(value)
    for v in values:
        if isinstance(v, Tensor) and v._keys & INFERENCE:
            raise RuntimeError("Inference tensors cannot be saved for backward. Please do not use Tensors created in inference "
                               "mode in computation tracked by autograd. To work around this, you can make a clone to get a "
                               "normal tensor and use it in autograd, or use `torch.no_grad()` instead of `torch.inference_mode()`.")
    store(node, values)


class _Packing(modes.Switch):
    _changes = {"saved_hooks": (), "grad": False}
    _special = False


_packing = _Packing()


def store(node: Node, values: list[Any]) -> None:
    """Puts saved values into a node, through the pack hooks in force. Hooks run without gradients, as in PyTorch."""
    versions = tuple(v._storage.version if isinstance(v, Tensor) and v._storage is not None else 0 for v in values)
    hooks = modes.state.saved_hooks
    if hooks:
        pack, unpack = hooks[-1]
        if pack is None:
            raise RuntimeError(unpack)
        values = _packing.run(lambda: [Packed(pack(v), unpack, edge_of(v)) if isinstance(v, Tensor) else v for v in values])
    node.saved = tuple(values)
    if any(versions):
        node.versions = versions


def _needed_names(derivative: Derivative, node: Node) -> Set[str]:
    if derivative.joint is not None or None not in node.next or len(node.next) != len(derivative.inputs):
        return derivative.all_saved
    return {n for name, e in zip(derivative.inputs, node.next) if e is not None for n in derivative.needs_of(name)}

"""Running one node: hooks before and after it, retained gradients, anomaly mode's checks."""

from __future__ import annotations

import warnings
from typing import Any

from .. import _observer
from .._dispatch import aten, modes
from .._observer import NODE_PREFIX
from .._tensor import Tensor
from .hooks import run_hooks
from .node import Node

_names: dict[type, tuple[str, str]] = {}  # class of a node -> the names of its two events


def apply_guarded(node: Node, g: Any) -> Any:
    """What a node makes of its gradients, with anomaly mode's checks where it is on."""
    if node.specs is not None and g.__class__ is list:
        g = tuple(g)
    if node.trace is None and not modes.state.anomaly:
        return node.apply(g)
    return _apply_with_anomaly(node, g)


def apply_pre_hooks(node: Node, g: Any) -> Any:
    """Hooks on the gradients of a node's outputs, and `retain_grad`."""
    if g.__class__ is not list:
        if node.pre_hooks and 0 in node.pre_hooks:
            g = run_hooks(node.pre_hooks[0], g)
        if node.node_pre_hooks:
            g = _node_pre_hooks(node, (g,))[0]
        if node.retains and 0 in node.retains:
            _retain(node.retains[0], g)
        return g
    for nr, hooks in (node.pre_hooks or {}).items():
        if g[nr] is not None:
            g[nr] = run_hooks(hooks, g[nr])
    if node.node_pre_hooks:
        g = list(_node_pre_hooks(node, tuple(g)))
    for nr, ref in (node.retains or {}).items():
        if g[nr] is not None:
            _retain(ref, g[nr])
    return g


def _node_pre_hooks(node: Node, grads: tuple[Any, ...]) -> tuple[Any, ...]:
    for hook in list(node.node_pre_hooks.values()):
        made = hook(grads)
        if made is not None:
            grads = made if isinstance(made, tuple) else (made,)
    return grads


def _retain(ref: Any, grad: Tensor) -> None:
    tensor = ref()
    if tensor is not None:
        tensor._grad = aten.clone(grad) if tensor._grad is None else aten.add(tensor._grad, grad)


def apply_post_hooks(node: Node, grads: Any, g: Any) -> Any:
    outputs = tuple(g) if g.__class__ is list else (g,)
    for hook in list(node.post_hooks.values()):
        made = hook(tuple(grads), outputs)
        if made is not None:
            grads = made if isinstance(made, tuple) else (made,)
    return grads


def _apply_with_anomaly(node: Node, g: Any) -> Any:
    try:
        grads = node.apply(g)
    except Exception:
        _warn_origin(node)
        raise
    if modes.state.anomaly and modes.state.check_nan:
        for i, grad in enumerate(grads):
            if isinstance(grad, Tensor) and grad.dtype.inexact and bool(aten.isnan(grad).any()):
                _warn_origin(node)
                raise RuntimeError(f"Function '{node.name()}' returned nan values in its {i}th output.")
    return grads


def _warn_origin(node: Node) -> None:
    if node.trace:
        warnings.warn(
            f"Error detected in {node.name()}. Traceback of forward call that caused the error:\n{node.trace}",
            stacklevel=2,
        )
    else:
        warnings.warn(
            f"Error detected in {node.name()}. No forward pass information available. Enable detect anomaly during "
            "forward pass for more information.",
            stacklevel=2,
        )


def names_of(node: Node) -> tuple[str, str]:
    """The names of the events of a node's evaluation and of its application."""
    found = _names.get(node.__class__)
    if found is None:
        found = _names[node.__class__] = NODE_PREFIX + node.name(), node.name()
    return found


def apply_observed(node: Node, g: Any, observer: Any) -> Any:
    """The gradients that a node gives, inside its event where somebody watches."""
    if observer is None:
        return apply_guarded(node, g)
    inputs = tuple(g) if g.__class__ is list else (g,)
    observer.enter_node(names_of(node)[1], node.seq, node.forward_thread, inputs, True)
    try:
        return apply_guarded(node, g)
    finally:
        observer.leave()


def run_hooked(node: Node, g: Any, keep_graph: bool) -> list[Any]:
    """The gradients that a node with hooks gives: hooks before, the node (inside its event), hooks after."""
    g = apply_pre_hooks(node, g)
    grads = apply_observed(node, g, _observer.active)
    if node.post_hooks:
        grads = apply_post_hooks(node, grads, g)
    if not keep_graph:
        node.release()
    return list(grads)

"""Flattening the inputs of graphs by a structure that is known before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..utils._pytree import TreeSpec

__all__ = ["register_pytree_flatten_spec", "tree_flatten_spec"]

_flatteners: dict[type, Callable[[Any, Any], list[Any]]] = {
    dict: lambda tree, spec: [tree[key] for key in spec.context],
    list: lambda tree, spec: [tree[i] for i in range(len(spec.children_specs))],
    tuple: lambda tree, spec: [tree[i] for i in range(len(spec.children_specs))],
}


def register_pytree_flatten_spec(cls: type, flatten_fn_spec: Callable[[Any, Any], list[Any]], *args: Any) -> None:
    """Says how instances of a class give their children in the order of a structure."""
    _flatteners[cls] = flatten_fn_spec


def tree_flatten_spec(pytree: Any, spec: TreeSpec) -> list[Any]:
    """The leaves of `pytree` in the order of the structure `spec`."""
    if spec.is_leaf():
        return [pytree]
    if spec.type not in _flatteners:
        raise RuntimeError(
            f"{type(pytree)} does not have a flatten_fn_spec associated with it. Please register one with "
            "torch.fx._pytree.register_pytree_flatten_spec."
        )
    children = _flatteners[spec.type](pytree, spec)
    return [leaf for child, inner in zip(children, spec.children_specs) for leaf in tree_flatten_spec(child, inner)]

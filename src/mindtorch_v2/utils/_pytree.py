"""Nested containers as trees: flattened to leaves and a spec, mapped, and put together again.

Containers are tuples, lists, dicts, named tuples, ordered and default dicts, deques, and classes that programs
register. Everything else, None included, is a leaf.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any, overload

from ._pytree_nodes import (  # noqa: F401  - part of this module
    CONSTANT_NODES,
    SUPPORTED_NODES,
    Context,
    FlattenFunc,
    GetAttrKey,
    Leaf,
    MappingKey,
    NodeDef,
    PyTree,
    SequenceKey,
    UnflattenFunc,
    _deregister_pytree_node,
    _dict_flatten,
    _dict_flatten_with_keys,
    _dict_unflatten,
    _get_node_type,
    _is_leaf,
    _is_namedtuple_instance,
    _list_flatten,
    _list_flatten_with_keys,
    _list_unflatten,
    _private_register_pytree_node,
    _register_pytree_node,
    _tuple_flatten,
    _tuple_flatten_with_keys,
    _tuple_unflatten,
    is_constant_class,
    is_namedtuple,
    is_namedtuple_class,
    is_namedtuple_instance,
    is_structseq,
    is_structseq_class,
    is_structseq_instance,
    register_constant,
    register_dataclass,
    register_pytree_node,
    tree_is_leaf,
)
from ._pytree_specs import _LEAF, LeafSpec, TreeSpec, tree_unflatten, treespec_dict, treespec_leaf, treespec_tuple  # noqa: F401  - part of this module

__all__ = [
    "Context",
    "FlattenFunc",
    "LeafSpec",
    "PyTree",
    "TreeSpec",
    "UnflattenFunc",
    "keystr",
    "register_constant",
    "register_dataclass",
    "register_pytree_node",
    "tree_all",
    "tree_all_only",
    "tree_any",
    "tree_any_only",
    "tree_flatten",
    "tree_flatten_with_path",
    "tree_is_leaf",
    "tree_iter",
    "tree_leaves",
    "tree_leaves_with_path",
    "tree_map",
    "tree_map_",
    "tree_map_only",
    "tree_map_only_",
    "tree_map_with_path",
    "tree_structure",
    "tree_unflatten",
    "treespec_dumps",
    "treespec_loads",
    "treespec_pprint",
]


# --- specs
# --- taking apart and putting together
def _flatten_into(tree: PyTree, leaves: list[Any], is_leaf: Leaf) -> TreeSpec:
    if is_leaf is not None and is_leaf(tree):
        leaves.append(tree)
        return _LEAF
    kind = _get_node_type(tree)
    node = SUPPORTED_NODES.get(kind)
    if node is None:
        leaves.append(tree)
        return _LEAF
    children, context = node.flatten_fn(tree)
    return TreeSpec(kind, context, [_flatten_into(child, leaves, is_leaf) for child in children])


def tree_flatten(tree: PyTree, is_leaf: Leaf = None) -> tuple[list[Any], TreeSpec]:
    """The leaves from left to right, and the spec that puts them together again."""
    leaves: list[Any] = []
    return leaves, _flatten_into(tree, leaves, is_leaf)


def tree_iter(tree: PyTree, is_leaf: Leaf = None) -> Iterator[Any]:
    """The leaves from left to right, one by one."""
    if tree_is_leaf(tree, is_leaf):
        yield tree
    else:
        for child in SUPPORTED_NODES[_get_node_type(tree)].flatten_fn(tree)[0]:
            yield from tree_iter(child, is_leaf)


def tree_leaves(tree: PyTree, is_leaf: Leaf = None) -> list[Any]:
    """The leaves from left to right."""
    return list(tree_iter(tree, is_leaf))


def tree_structure(tree: PyTree, is_leaf: Leaf = None) -> TreeSpec:
    """The spec of the tree."""
    return tree_flatten(tree, is_leaf)[1]


def arg_tree_leaves(*args: PyTree, **kwargs: PyTree) -> list[Any]:
    """The leaves of arguments."""
    return [*tree_leaves(args), *tree_leaves(kwargs)]


# --- mapping
def tree_map(func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: Leaf = None) -> PyTree:
    """The tree with `func(leaf, ...)` for its leaves; further trees must have its shape."""
    leaves, spec = tree_flatten(tree, is_leaf)
    others = [spec.flatten_up_to(r) for r in rests]
    return spec.unflatten(map(func, leaves, *others))


def tree_map_(func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: Leaf = None) -> PyTree:
    """Calls the function on the leaves; returns the tree itself."""
    leaves, spec = tree_flatten(tree, is_leaf)
    for values in zip(leaves, *(spec.flatten_up_to(r) for r in rests)):
        func(*values)
    return tree


@overload
def map_only(type_or_types_or_pred: Any, /) -> Callable[[Any], Any]: ...
@overload
def map_only(type_or_types_or_pred: Any, /, func: Callable[[Any], Any]) -> Callable[[Any], Any]: ...
def map_only(type_or_types_or_pred: Any, /, func: Callable[[Any], Any] | None = None) -> Callable[[Any], Any]:
    """A function that leaves all but values of these types (or that a predicate picks) as they are; without `func`,
    a decorator.
    """
    if isinstance(type_or_types_or_pred, (type, tuple)) or not callable(type_or_types_or_pred):

        def wanted(x: Any) -> bool:
            return isinstance(x, type_or_types_or_pred)
    else:
        wanted = type_or_types_or_pred

    def wrap(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        @functools.wraps(function)
        def call(x: Any) -> Any:
            return function(x) if wanted(x) else x

        return call

    return wrap if func is None else wrap(func)


def tree_map_only(
    type_or_types_or_pred: Any, /, func: Callable[[Any], Any], tree: PyTree, is_leaf: Leaf = None
) -> PyTree:
    """The tree with `func(leaf)` for leaves of these types."""
    return tree_map(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_map_only_(
    type_or_types_or_pred: Any, /, func: Callable[[Any], Any], tree: PyTree, is_leaf: Leaf = None
) -> PyTree:
    """Calls the function on leaves of these types; returns the tree itself."""
    return tree_map_(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_all(pred: Callable[[Any], bool], tree: PyTree, is_leaf: Leaf = None) -> bool:
    """Whether the predicate holds for all leaves."""
    return all(map(pred, tree_iter(tree, is_leaf)))


def tree_any(pred: Callable[[Any], bool], tree: PyTree, is_leaf: Leaf = None) -> bool:
    """Whether the predicate holds for a leaf."""
    return any(map(pred, tree_iter(tree, is_leaf)))


def tree_all_only(type_or_types: Any, /, pred: Callable[[Any], bool], tree: PyTree, is_leaf: Leaf = None) -> bool:
    """Whether the predicate holds for all leaves of these types."""
    return all(pred(x) for x in tree_iter(tree, is_leaf) if isinstance(x, type_or_types))


def tree_any_only(type_or_types: Any, /, pred: Callable[[Any], bool], tree: PyTree, is_leaf: Leaf = None) -> bool:
    """Whether the predicate holds for a leaf of these types."""
    return any(pred(x) for x in tree_iter(tree, is_leaf) if isinstance(x, type_or_types))


def _broadcast_to_and_flatten(tree: PyTree, treespec: TreeSpec, is_leaf: Leaf = None) -> list[Any] | None:
    """The leaves of a tree stretched to a spec, a leaf standing for a whole subtree; None where it does not fit."""
    if tree_is_leaf(tree, is_leaf):
        return [tree] * treespec.num_leaves
    kind = _get_node_type(tree)
    if treespec.is_leaf() or kind is not treespec.type:
        return None
    children, context = SUPPORTED_NODES[kind].flatten_fn(tree)
    if len(children) != treespec.num_children or context != treespec.context:
        return None
    parts = [_broadcast_to_and_flatten(c, s, is_leaf) for c, s in zip(children, treespec._children)]
    return None if any(p is None for p in parts) else [x for p in parts if p is not None for x in p]


# --- paths
def _with_path(path: tuple[Any, ...], tree: PyTree, is_leaf: Leaf) -> Iterator[tuple[tuple[Any, ...], Any]]:
    if tree_is_leaf(tree, is_leaf):
        yield path, tree
        return
    kind = _get_node_type(tree)
    with_keys = SUPPORTED_NODES[kind].flatten_with_keys_fn
    if with_keys is None:
        raise ValueError(
            f"Did not find a flatten_with_keys_fn for type: {kind}. Please pass a flatten_with_keys_fn argument to "
            "register_pytree_node."
        )
    for key, child in with_keys(tree)[0]:
        yield from _with_path((*path, key), child, is_leaf)


def tree_flatten_with_path(tree: PyTree, is_leaf: Leaf = None) -> tuple[list[tuple[tuple[Any, ...], Any]], TreeSpec]:
    """The leaves, each with the steps that lead to it, and the spec."""
    return list(_with_path((), tree, is_leaf)), tree_structure(tree, is_leaf)


def tree_leaves_with_path(tree: PyTree, is_leaf: Leaf = None) -> list[tuple[tuple[Any, ...], Any]]:
    """The leaves, each with the steps that lead to it."""
    return list(_with_path((), tree, is_leaf))


def tree_map_with_path(func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: Leaf = None) -> PyTree:
    """The tree with `func(path, leaf, ...)` for its leaves."""
    found, spec = tree_flatten_with_path(tree, is_leaf)
    return spec.unflatten(
        func(path, *values)
        for (path, leaf), *others in zip(found, *(spec.flatten_up_to(r) for r in rests))
        for values in [(leaf, *others)]
    )


def keystr(kp: Iterable[Any]) -> str:
    """A path in Python's words: `[0]['a'].name`."""
    return "".join(str(k) for k in kp)


def key_get(obj: Any, kp: Iterable[Any]) -> Any:
    """What a path leads to."""
    for key in kp:
        obj = key.get(obj)
    return obj


# --- specs as text
def _to_json(spec: TreeSpec) -> dict[str, Any]:
    if spec.is_leaf():
        return {"type": None, "context": None, "children_spec": []}
    node = SUPPORTED_NODES[spec.type]
    if node.serialized_type_name is None:
        raise NotImplementedError(
            f"No registered serialization name for {spec.type} found. Please update your register_pytree_node call "
            "with a `serialized_type_name` kwarg."
        )
    context = node.to_dumpable_context(spec.context) if node.to_dumpable_context else spec.context
    return {
        "type": node.serialized_type_name,
        "context": json.dumps(context),
        "children_spec": [_to_json(c) for c in spec._children],
    }


def _from_json(data: dict[str, Any]) -> TreeSpec:
    if data["type"] is None:
        return _LEAF
    node = next((n for n in SUPPORTED_NODES.values() if n.serialized_type_name == data["type"]), None)
    if node is None:
        raise NotImplementedError(f"Serialized tree is of type {data['type']}, which is not registered")
    context = json.loads(data["context"])
    return TreeSpec(
        node.type,
        node.from_dumpable_context(context) if node.from_dumpable_context else context,
        [_from_json(c) for c in data["children_spec"]],
    )


def treespec_dumps(treespec: TreeSpec, protocol: int | None = None) -> str:
    """The spec as JSON."""
    if not isinstance(treespec, TreeSpec):
        raise TypeError(
            f"treespec_dumps(treespec, protocol): Expected `treespec` to be instance of TreeSpec but got item of type "
            f"{type(treespec)}."
        )
    return json.dumps([1 if protocol is None else protocol, _to_json(treespec)])


def treespec_loads(serialized: str) -> TreeSpec:
    """The spec that `treespec_dumps` wrote."""
    protocol, data = json.loads(serialized)
    if protocol != 1:
        raise ValueError(f"Unknown protocol {protocol}. Available protocols: [1]")
    return _from_json(data)


class _Star:
    def __repr__(self) -> str:
        return "*"


def treespec_pprint(treespec: TreeSpec) -> str:
    """The tree of the spec, with `*` for leaves."""
    import pprint

    return pprint.pformat(tree_unflatten([_Star()] * treespec.num_leaves, treespec))

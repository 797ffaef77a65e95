"""What is left of trees without their leaves."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from collections.abc import Iterable, Iterator
from typing import Any

from ._pytree_nodes import SUPPORTED_NODES, Context, PyTree, _get_node_type


class TreeSpec:
    """What is left of a tree without its leaves: the class of the container, its context (keys), the specs of its
    children.
    """

    __slots__ = ("type", "_context", "_children", "num_nodes", "num_leaves", "num_children")
    num_nodes: int
    num_leaves: int

    def __init__(self, type: Any, context: Context, children: list[TreeSpec]) -> None:
        self.type, self._context, self._children = type, context, children
        self.num_children = len(children)
        self.num_nodes = 1 + sum(c.num_nodes for c in children)
        self.num_leaves = sum(c.num_leaves for c in children) if type is not None else 1

    @property
    def context(self) -> Context:
        return self._context

    @property
    def children_specs(self) -> list[TreeSpec]:
        return self._children

    def is_leaf(self) -> bool:
        return self.type is None

    def children(self) -> list[TreeSpec]:
        return list(self._children)

    def child(self, index: int) -> TreeSpec:
        return self._children[index]

    def unflatten(self, leaves: Iterable[Any]) -> PyTree:
        """The tree with these leaves."""
        return tree_unflatten(leaves, self)

    def flatten_up_to(self, tree: PyTree) -> list[PyTree]:
        """The subtrees that stand where this spec has leaves; ValueError where the tree does not fit."""
        found: list[PyTree] = []
        self._up_to(tree, found)
        return found

    def _up_to(self, tree: PyTree, found: list[PyTree]) -> None:
        if self.is_leaf():
            found.append(tree)
            return
        kind = _get_node_type(tree)
        if kind is not self.type and not (kind in _DICTS and self.type in _DICTS):
            raise ValueError(f"Type mismatch; expected {self.type!r}, but got {kind!r}.")
        if kind in _DICTS:
            keys = self._context[1] if self.type is defaultdict else self._context
            if set(keys) != set(tree):
                raise ValueError(
                    f"Node keys mismatch: missing key(s): {[k for k in keys if k not in tree]}, "
                    f"additional key(s): {[k for k in tree if k not in set(keys)]}."
                )
            children = [tree[k] for k in keys]
        else:
            children, context = SUPPORTED_NODES[kind].flatten_fn(tree)
            if len(children) != self.num_children:
                raise ValueError(f"Node arity mismatch; expected {self.num_children}, but got {len(children)}.")
            if kind is not deque and context != self._context:
                raise ValueError(f"Node context mismatch for custom node type {self.type!r}.")
        for spec, child in zip(self._children, children):
            spec._up_to(child, found)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TreeSpec):
            return NotImplemented
        return self.type == other.type and self._context == other._context and self._children == other._children

    def __hash__(self) -> int:
        context = tuple(self._context) if self.type in (dict, OrderedDict) else self._context
        try:
            hashed = hash(context)
        except TypeError:
            hashed = 0
        return hash((self.type, hashed, tuple(self._children)))

    def __repr__(self, indent: int = 0) -> str:
        """As PyTorch prints it: children after the first on lines of their own."""
        if self.is_leaf():
            return "*"
        start = f"TreeSpec({self.type.__name__}, {self._context}, ["
        inner = [child.__repr__(indent + 2) for child in self._children]
        return start + (",\n" + " " * (indent + 2)).join(inner) + "])"


_DICTS = {dict, OrderedDict, defaultdict}


class LeafSpec(TreeSpec):
    """The spec of a leaf."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(None, None, [])


_LEAF = LeafSpec()


def treespec_leaf() -> LeafSpec:
    return _LEAF


def treespec_tuple(iterable: Iterable[TreeSpec] = (), /) -> TreeSpec:
    """The spec of a tuple of such children."""
    return TreeSpec(tuple, None, list(iterable))


def treespec_dict(mapping: Any = (), /, **kwargs: TreeSpec) -> TreeSpec:
    """The spec of a dict of such children."""
    specs = dict(mapping, **kwargs)
    return TreeSpec(dict, list(specs), list(specs.values()))


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> PyTree:
    """The tree that has these leaves; ValueError where there are too many or too few."""
    if not isinstance(treespec, TreeSpec):
        raise TypeError(f"Expected `treespec` to be an instance of TreeSpec but got item of type {type(treespec)}.")
    given = list(leaves)
    if len(given) != treespec.num_leaves:
        raise ValueError(
            f"treespec.unflatten(leaves): `leaves` has length {len(given)} but the spec refers to a pytree that holds "
            f"{treespec.num_leaves} items ({treespec})."
        )
    return _put_together(iter(given), treespec)


def _put_together(leaves: Iterator[Any], spec: TreeSpec) -> PyTree:
    if spec.is_leaf():
        return next(leaves)
    return SUPPORTED_NODES[spec.type].unflatten_fn(
        [_put_together(leaves, child) for child in spec._children], spec._context
    )

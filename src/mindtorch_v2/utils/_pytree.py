"""Nested containers as trees: flattened to leaves and a spec, mapped, and put together again.

Containers are tuples, lists, dicts, named tuples, ordered and default dicts, deques, and classes that programs
register. Everything else, None included, is a leaf.
"""

from __future__ import annotations

import functools
import json
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, overload

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
PyTree = Any
Context = Any
FlattenFunc = Callable[[Any], tuple[list[Any], Context]]
UnflattenFunc = Callable[[Iterable[Any], Context], Any]
Leaf = Callable[[Any], bool] | None


class SequenceKey(NamedTuple):
    """A step of a path: into a list or tuple."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"

    def get(self, sequence: Any) -> Any:
        return sequence[self.idx]


class MappingKey(NamedTuple):
    """A step of a path: into a dict."""

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"

    def get(self, mapping: Any) -> Any:
        return mapping[self.key]


class GetAttrKey(NamedTuple):
    """A step of a path: to an attribute."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"

    def get(self, obj: Any) -> Any:
        return getattr(obj, self.name)


class NodeDef(NamedTuple):
    """How a class of containers is taken apart and put together."""

    type: type[Any]
    flatten_fn: FlattenFunc
    unflatten_fn: UnflattenFunc
    flatten_with_keys_fn: Callable[[Any], tuple[list[tuple[Any, Any]], Context]] | None
    serialized_type_name: str | None = None
    to_dumpable_context: Callable[[Any], Any] | None = None
    from_dumpable_context: Callable[[Any], Any] | None = None


SUPPORTED_NODES: dict[type[Any], NodeDef] = {}
CONSTANT_NODES: set[type] = set()


def register_pytree_node(
    cls: type[Any],
    flatten_fn: FlattenFunc,
    unflatten_fn: UnflattenFunc,
    *,
    serialized_type_name: str | None = None,
    to_dumpable_context: Any = None,
    from_dumpable_context: Any = None,
    flatten_with_keys_fn: Any = None,
) -> None:
    """Makes instances of the class containers: `flatten_fn(x) -> (children, context)`, `unflatten_fn(children,
    context) -> x`.
    """
    if cls in SUPPORTED_NODES:
        raise ValueError(f"{cls} is already registered as pytree node.")
    SUPPORTED_NODES[cls] = NodeDef(
        cls,
        flatten_fn,
        unflatten_fn,
        flatten_with_keys_fn,
        serialized_type_name,
        to_dumpable_context,
        from_dumpable_context,
    )


def _register_pytree_node(cls: type[Any], flatten_fn: FlattenFunc, unflatten_fn: UnflattenFunc, **options: Any) -> None:
    """The old name."""
    if cls not in SUPPORTED_NODES:
        register_pytree_node(cls, flatten_fn, unflatten_fn, **options)


_private_register_pytree_node = _register_pytree_node


def _deregister_pytree_node(cls: type[Any]) -> None:
    SUPPORTED_NODES.pop(cls, None)


def register_constant(cls: type[Any]) -> None:
    """Makes instances of the class containers without children: they are part of the spec and must be hashable and
    comparable.
    """
    if cls.__eq__ is object.__eq__:
        raise TypeError(
            f"register_constant(cls) expects `cls` to have a non-default `__eq__` implementation, got {cls}"
        )
    CONSTANT_NODES.add(cls)
    register_pytree_node(cls, lambda x: ([], x), lambda _, context: context, flatten_with_keys_fn=lambda x: ([], x))


def is_constant_class(cls: type[Any]) -> bool:
    return cls in CONSTANT_NODES


def register_dataclass(
    cls: type[Any],
    *,
    field_names: list[str] | None = None,
    drop_field_names: list[str] | None = None,
    serialized_type_name: str | None = None,
) -> None:
    """Makes instances of a dataclass containers of their fields."""
    import dataclasses

    names = [f.name for f in dataclasses.fields(cls) if f.init] if field_names is None else list(field_names)
    names = [n for n in names if n not in (drop_field_names or ())]

    def take_apart(obj: Any) -> tuple[list[Any], Context]:
        there = [n for n in names if getattr(obj, n) is not None]
        return [getattr(obj, n) for n in there], (there, [n for n in names if n not in there])

    def with_keys(obj: Any) -> tuple[list[tuple[Any, Any]], Context]:
        values, context = take_apart(obj)
        return [(GetAttrKey(n), v) for n, v in zip(context[0], values)], context

    def put_together(values: Iterable[Any], context: Context) -> Any:
        return cls(**dict(zip(context[0], values)), **dict.fromkeys(context[1]))

    register_pytree_node(
        cls, take_apart, put_together, serialized_type_name=serialized_type_name, flatten_with_keys_fn=with_keys
    )


# --- the containers of Python
def _dict_flatten(d: Mapping[Any, Any]) -> tuple[list[Any], Context]:
    return list(d.values()), list(d.keys())


def _dict_unflatten(values: Iterable[Any], context: Context) -> dict[Any, Any]:
    return dict(zip(context, values))


def _list_flatten(d: list[Any]) -> tuple[list[Any], Context]:
    return d, None


def _list_unflatten(values: Iterable[Any], context: Context) -> list[Any]:
    return list(values)


def _tuple_flatten(d: tuple[Any, ...]) -> tuple[list[Any], Context]:
    return list(d), None


def _tuple_unflatten(values: Iterable[Any], context: Context) -> tuple[Any, ...]:
    return tuple(values)


def _sequence_keys(flatten: FlattenFunc) -> Any:
    def with_keys(d: Any) -> tuple[list[tuple[Any, Any]], Context]:
        values, context = flatten(d)
        return [(SequenceKey(i), v) for i, v in enumerate(values)], context

    return with_keys


def _mapping_keys(flatten: FlattenFunc) -> Any:
    def with_keys(d: Any) -> tuple[list[tuple[Any, Any]], Context]:
        return [(MappingKey(k), v) for k, v in d.items()], flatten(d)[1]

    return with_keys


def _dict_flatten_with_keys(d: Mapping[Any, Any]) -> tuple[list[tuple[Any, Any]], Context]:
    return [(MappingKey(k), v) for k, v in d.items()], list(d)


def _list_flatten_with_keys(d: list[Any]) -> tuple[list[tuple[Any, Any]], Context]:
    return [(SequenceKey(i), v) for i, v in enumerate(d)], None


def _tuple_flatten_with_keys(d: tuple[Any, ...]) -> tuple[list[tuple[Any, Any]], Context]:
    return [(SequenceKey(i), v) for i, v in enumerate(d)], None


def _named_keys(d: Any) -> tuple[list[tuple[Any, Any]], Context]:
    return [(GetAttrKey(n), v) for n, v in zip(type(d)._fields, d)], type(d)


def _defaultdict_unflatten(values: Iterable[Any], context: Context) -> Any:
    return defaultdict(context[0], zip(context[1], values))


class _NamedTuple:
    """Stands for all classes of named tuples in the register."""


def _define(
    kind: type[Any],
    flatten: FlattenFunc,
    unflatten: UnflattenFunc,
    keys: Any,
    name: str,
    dump: Any = None,
    load: Any = None,
) -> None:
    register_pytree_node(
        kind,
        flatten,
        unflatten,
        flatten_with_keys_fn=keys,
        serialized_type_name=name,
        to_dumpable_context=dump,
        from_dumpable_context=load,
    )


_define(tuple, _tuple_flatten, _tuple_unflatten, _sequence_keys(_tuple_flatten), "builtins.tuple")
_define(list, _list_flatten, _list_unflatten, _sequence_keys(_list_flatten), "builtins.list")
_define(dict, _dict_flatten, _dict_unflatten, _mapping_keys(_dict_flatten), "builtins.dict")
_define(
    _NamedTuple, lambda d: (list(d), type(d)), lambda values, kind: kind(*values), _named_keys, "collections.namedtuple"
)
_define(
    OrderedDict,
    _dict_flatten,
    lambda values, context: OrderedDict(zip(context, values)),
    _mapping_keys(_dict_flatten),
    "collections.OrderedDict",
)
_define(
    defaultdict,
    lambda d: (list(d.values()), [d.default_factory, list(d)]),
    _defaultdict_unflatten,
    _mapping_keys(lambda d: (list(d.values()), [d.default_factory, list(d)])),
    "collections.defaultdict",
)
_define(
    deque,
    lambda d: (list(d), d.maxlen),
    lambda values, maxlen: deque(values, maxlen=maxlen),
    _sequence_keys(lambda d: (list(d), d.maxlen)),
    "collections.deque",
)


def is_namedtuple_class(cls: type) -> bool:
    """Whether the class was made by `namedtuple` or `NamedTuple`, or derives from one."""
    return isinstance(cls, type) and issubclass(cls, tuple) and isinstance(getattr(cls, "_fields", None), tuple)


def is_namedtuple(obj: Any) -> bool:
    return is_namedtuple_class(obj if isinstance(obj, type) else type(obj))


def is_namedtuple_instance(obj: Any) -> bool:
    return is_namedtuple_class(type(obj))


_is_namedtuple_instance = is_namedtuple_instance


def is_structseq_class(cls: type) -> bool:
    """Whether the class is one of C's named tuples, such as what `torch.max` returns in PyTorch."""
    return isinstance(cls, type) and issubclass(cls, tuple) and hasattr(cls, "n_sequence_fields")


def is_structseq(obj: Any) -> bool:
    return is_structseq_class(obj if isinstance(obj, type) else type(obj))


def _get_node_type(tree: Any) -> Any:
    kind = type(tree)
    return _NamedTuple if kind not in SUPPORTED_NODES and is_namedtuple_class(kind) else kind


def tree_is_leaf(tree: PyTree, is_leaf: Leaf = None) -> bool:
    """Whether the tree is not a container."""
    return is_leaf is not None and is_leaf(tree) or _get_node_type(tree) not in SUPPORTED_NODES


_is_leaf = tree_is_leaf


# --- specs
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

"""Which classes are containers, how they are taken apart and put together, and the steps of paths into them."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

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


def is_structseq_instance(obj: Any) -> bool:
    return is_structseq_class(type(obj))


def is_structseq(obj: Any) -> bool:
    return is_structseq_class(obj if isinstance(obj, type) else type(obj))


def _get_node_type(tree: Any) -> Any:
    kind = type(tree)
    return _NamedTuple if kind not in SUPPORTED_NODES and is_namedtuple_class(kind) else kind


def tree_is_leaf(tree: PyTree, is_leaf: Leaf = None) -> bool:
    """Whether the tree is not a container."""
    return is_leaf is not None and is_leaf(tree) or _get_node_type(tree) not in SUPPORTED_NODES


_is_leaf = tree_is_leaf

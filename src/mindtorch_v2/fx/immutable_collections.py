"""Lists and dicts in the arguments of nodes: they cannot be changed in place, because a node must know which nodes it
uses."""

from __future__ import annotations

from typing import Any, NoReturn

from ..utils._pytree import register_pytree_node

__all__ = ["immutable_dict", "immutable_list"]


def _refusal(name: str, kind: str) -> Any:
    def method(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(
            f"'{kind}' object does not support mutation. If you are attempting to modify the kwargs or args of a "
            "torch.fx.Node object, instead create a new copy of it and assign the copy to the node: "
            "new_args = ...  # copy and mutate args; node.args = new_args"
        )

    method.__name__ = name
    return method


class immutable_list(list):  # type: ignore[type-arg]
    """A list that cannot be changed; equal to a list of the same elements."""

    def __reduce__(self) -> Any:
        return immutable_list, (list(self),)

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self))


class immutable_dict(dict):  # type: ignore[type-arg]
    """A dict that cannot be changed; equal to a dict of the same items."""

    def __reduce__(self) -> Any:
        return immutable_dict, (dict(self),)

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))


for _name in (
    "__delitem__",
    "__iadd__",
    "__imul__",
    "__setitem__",
    "append",
    "clear",
    "extend",
    "insert",
    "pop",
    "remove",
    "reverse",
    "sort",
):
    setattr(immutable_list, _name, _refusal(_name, "immutable_list"))
for _name in ("__delitem__", "__ior__", "__setitem__", "clear", "pop", "popitem", "setdefault", "update"):
    setattr(immutable_dict, _name, _refusal(_name, "immutable_dict"))

register_pytree_node(immutable_list, lambda values: (list(values), None), lambda values, _: immutable_list(values))
register_pytree_node(
    immutable_dict,
    lambda items: (list(items.values()), list(items)),
    lambda values, keys: immutable_dict(zip(keys, values)),
)

"""State dicts as flat lists of named values, and optimizers whose state is spread as their parameters are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..._tensor import Tensor
from .._shards import mark, shard_of

Path = list[str | int]


class Index(int):
    """An index in a list, in a path; other integers are keys."""


def is_stateful(value: Any) -> bool:
    """Whether a value of a state dict is an object (module, optimizer) that has a state dict of its own."""
    return (
        not isinstance(value, (Tensor, dict))
        and callable(getattr(value, "state_dict", None))
        and callable(getattr(value, "load_state_dict", None))
    )


def state_of(value: Any) -> Any:
    """The state dict of an object; an optimizer's tensors know what part they are of."""
    state = value.state_dict()
    if hasattr(value, "param_groups") and isinstance(state, dict) and "state" in state:
        parameters = [p for group in value.param_groups for p in group["params"]]
        for index, held in state["state"].items():
            shard = shard_of(parameters[index]) if isinstance(index, int) and index < len(parameters) else None
            for entry in held.values() if shard is not None else ():
                if isinstance(entry, Tensor) and entry.shape == parameters[index].shape:
                    mark(entry, shard)
    return state


def leaves(value: Any, path: Path | None = None) -> Iterator[tuple[Path, Any]]:
    """The values in nested dicts and in lists with tensors or dicts in them, each with the keys and indices that lead
    to it. As in PyTorch, so that names are the same; an empty dict is a value."""
    path = path or []
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from leaves(inner, [*path, key if isinstance(key, int) else str(key)])
    elif _is_spread_out(value):
        for index, inner in enumerate(value):
            yield from leaves(inner, [*path, Index(index)])
    else:
        yield path, value


def _is_spread_out(value: Any) -> bool:
    """Whether a value is a list whose items are values of their own."""
    return isinstance(value, list) and any(isinstance(v, (Tensor, dict)) or _is_spread_out(v) for v in value)


def put(root: Any, path: Path, value: Any) -> None:
    """Replaces the value that a path leads to."""
    for part in path[:-1]:
        root = root[_key(root, part)]
    root[_key(root, path[-1])] = value


def _key(holder: Any, part: str | int) -> Any:
    """The key that was written as this part."""
    if isinstance(holder, dict) and part not in holder:
        return next((key for key in holder if str(key) == str(part)), part)
    return part


def built(values: Iterator[tuple[Path, Any]]) -> Any:
    """Nested dicts and lists from values with the keys and indices that lead to them."""
    root: dict[Any, Any] = {}
    lists: list[tuple[dict[Any, Any], Any]] = []  # (holder, key) of what is a list, outermost first
    for path, value in values:
        holder = root
        for at, part in enumerate(path[:-1]):
            if part not in holder:
                holder[part] = {}
                if isinstance(path[at + 1], Index):
                    lists.append((holder, part))
            holder = holder[part]
        holder[path[-1]] = value
    for holder, key in reversed(lists):
        holder[key] = [holder[key][index] for index in sorted(holder[key])]
    return root

"""States of optimizers with parameters called by name, as checkpoints have them, and by position, as optimizers do."""

from __future__ import annotations

from typing import Any

_State = dict[str, Any]


def _parameters(optimizer: Any) -> list[Any]:
    return [p for group in optimizer.param_groups for p in group["params"]]


def _names_of(optimizer: Any, names: dict[int, str]) -> list[str]:
    """The names of an optimizer's parameters, in order."""
    try:
        return [names[id(p)] for p in _parameters(optimizer)]
    except KeyError:
        raise RuntimeError("the optimizer has a parameter that the model does not have") from None


def named(state: _State, optimizer: Any, names: dict[int, str]) -> _State:
    """An optimizer's state dict with names instead of positions."""
    order = _names_of(optimizer, names)
    groups = [{**group, "params": [order[i] for i in group["params"]]} for group in state["param_groups"]]
    for group in groups:
        group.pop("param_names", None)
    return {"state": {order[i]: held for i, held in state["state"].items()}, "param_groups": groups}


def flattened(state: _State) -> _State:
    """One flat dict of a state with names."""
    flat = {f"state.{name}.{key}": value for name, held in state["state"].items() for key, value in held.items()}
    for group in state["param_groups"]:
        for name in group["params"]:
            flat.update({f"param_groups.{name}.{key}": value for key, value in group.items() if key != "params"})
    return flat


def _unflattened(flat: _State, order: list[str]) -> _State:
    state: _State = {"state": {}, "param_groups": []}
    known = set(order)
    for path, value in flat.items():
        kind, _, rest = path.partition(".")
        name, _, key = rest.rpartition(".")
        if kind == "state" and name in known:
            state["state"].setdefault(name, {})[key] = value
    for name in order:
        prefix = f"param_groups.{name}."
        own = {path[len(prefix) :]: value for path, value in flat.items() if path.startswith(prefix)}
        state["param_groups"].append({**own, "params": [name]})
    return state


def numbered(state: _State, optimizer: Any, names: dict[int, str]) -> _State:
    """A state dict with names, whole or flat, with the positions of an optimizer's parameters and in its groups. One
    that has positions already stays as it is."""
    if state and "param_groups" not in state:
        state = _unflattened(state, _names_of(optimizer, names))
    if not any(isinstance(name, str) for group in state["param_groups"] for name in group["params"]):
        return state
    order = {name: index for index, name in enumerate(_names_of(optimizer, names))}
    group_of = {name: group for group in state["param_groups"] for name in group["params"]}
    groups, first = [], 0
    for own in optimizer.param_groups:
        count = len(own["params"])
        mine = [name for name, index in order.items() if first <= index < first + count]
        if missing := [name for name in mine if name not in group_of]:
            raise RuntimeError(f"the state dict of the optimizer has no parameter {missing[0]!r}")
        kept = group_of[mine[0]] if mine else own
        groups.append({**{k: v for k, v in kept.items() if k != "params"}, "params": list(range(first, first + count))})
        first += count
    return {
        "state": {order[name]: held for name, held in state["state"].items() if name in order},
        "param_groups": groups,
    }

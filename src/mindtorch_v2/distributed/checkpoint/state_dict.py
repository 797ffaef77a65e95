"""`torch.distributed.checkpoint.state_dict`: states of modules and optimizers, spread or whole."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..._tensor import Tensor
from .. import collectives
from .._shards import Shard, rows_of, shard_of
from ._tree import state_of

__all__ = [
    "StateDictOptions",
    "get_model_state_dict",
    "get_optimizer_state_dict",
    "get_state_dict",
    "set_model_state_dict",
    "set_optimizer_state_dict",
    "set_state_dict",
]


@dataclass
class StateDictOptions:
    """full_state_dict: whole tensors instead of this process's rows; strict: all keys must be there."""

    full_state_dict: bool = False
    cpu_offload: bool = False
    strict: bool = True


def whole(value: Any) -> Any:
    """A tensor gathered from the rows of all processes; anything else as it is. Every process of its group calls it."""
    shard = shard_of(value) if isinstance(value, Tensor) else None
    if shard is None:
        return value
    size, rows = shard.group.size(), shard.length
    each = -(-rows // size)
    own = value.new_zeros((each, *shard.shape[1:]))
    own[: shard.rows].copy_(value.detach())
    joined = value.new_empty((size * each, *shard.shape[1:]))
    collectives.all_gather_into_tensor(joined, own, shard.group)
    return joined[:rows].reshape(shard.shape).clone()


def own_rows(value: Any, shard: Shard | None) -> Any:
    """This process's rows of a whole tensor."""
    if shard is None or not isinstance(value, Tensor):
        return value
    first, count = rows_of(shard.length, shard.group.size(), shard.group.rank())
    return value.reshape(shard.length, *shard.shape[1:])[first : first + count]


def get_model_state_dict(
    model: Any, *, submodules: Any = None, options: StateDictOptions | None = None
) -> dict[str, Any]:
    """The state dict of a module; with `full_state_dict` of whole tensors."""
    state = getattr(model, "module", model).state_dict()
    return {name: whole(value) for name, value in state.items()} if options and options.full_state_dict else dict(state)


def get_optimizer_state_dict(
    model: Any, optimizers: Any, *, submodules: Any = None, options: StateDictOptions | None = None
) -> dict[str, Any]:
    """The state dict of an optimizer; with `full_state_dict` of whole tensors."""
    state = state_of(optimizers)
    if options and options.full_state_dict:
        held = {i: {k: whole(v) for k, v in entry.items()} for i, entry in state["state"].items()}
        state = {**state, "state": held}
    return state


def get_state_dict(
    model: Any, optimizers: Any, *, submodules: Any = None, options: StateDictOptions | None = None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The state dicts of a module and its optimizer."""
    return get_model_state_dict(model, options=options), get_optimizer_state_dict(model, optimizers, options=options)


def set_model_state_dict(
    model: Any, model_state_dict: dict[str, Any], *, options: StateDictOptions | None = None
) -> Any:
    """Loads a state dict into a module; with `full_state_dict` this process's rows of whole tensors."""
    inner = getattr(model, "module", model)
    chosen = options or StateDictOptions()
    if chosen.full_state_dict:
        shards = {name: shard_of(p) for name, p in inner.named_parameters()}
        model_state_dict = {name: own_rows(value, shards.get(name)) for name, value in model_state_dict.items()}
    return inner.load_state_dict(model_state_dict, strict=chosen.strict)


def set_optimizer_state_dict(
    model: Any, optimizers: Any, optim_state_dict: dict[str, Any], *, options: StateDictOptions | None = None
) -> None:
    """Loads a state dict into an optimizer; with `full_state_dict` this process's rows of whole tensors."""
    if options and options.full_state_dict:
        shards = [shard_of(p) for group in optimizers.param_groups for p in group["params"]]
        held = {
            i: {
                name: own_rows(value, shards[i]) if _is_of(value, shards[i]) else value for name, value in entry.items()
            }
            for i, entry in optim_state_dict["state"].items()
        }
        optim_state_dict = {**optim_state_dict, "state": held}
    optimizers.load_state_dict(optim_state_dict)


def _is_of(value: Any, shard: Shard | None) -> bool:
    """Whether a value of an optimizer's state has the shape of the whole parameter."""
    return shard is not None and isinstance(value, Tensor) and tuple(value.shape) == tuple(shard.shape)


def set_state_dict(
    model: Any,
    optimizers: Any,
    *,
    model_state_dict: dict[str, Any],
    optim_state_dict: dict[str, Any],
    options: StateDictOptions | None = None,
) -> Any:
    """Loads the state dicts of a module and its optimizer."""
    set_optimizer_state_dict(model, optimizers, optim_state_dict, options=options)
    return set_model_state_dict(model, model_state_dict, options=options)

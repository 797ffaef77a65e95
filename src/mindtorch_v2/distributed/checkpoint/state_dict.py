"""`torch.distributed.checkpoint.state_dict`: states of modules and optimizers, spread or whole."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..._dispatch import aten
from ..._tensor import Tensor
from .. import collectives
from .._shards import mark, rows_of, shard_of
from ..objects import broadcast_object_list
from ..process_groups import get_rank, is_initialized
from ..tensor import DTensor, distribute_tensor
from ._optimizer_states import flattened, named, numbered
from ._tree import state_of
from ._wrapped import clean_name, parameter_names, unwrapped

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
    """full_state_dict: whole tensors instead of this process's rows; cpu_offload: on the CPU, and with whole tensors in
    the first process alone; ignore_frozen_params: without parameters that need no gradient; strict: all keys must be
    there; broadcast_from_rank0: the first process has what all load; flatten_optimizer_state_dict: optimizers' states
    as one flat dict.
    """

    full_state_dict: bool = False
    cpu_offload: bool = False
    ignore_frozen_params: bool = False
    keep_submodule_prefixes: bool = True
    strict: bool = True
    broadcast_from_rank0: bool = False
    flatten_optimizer_state_dict: bool = False


def whole(value: Any) -> Any:
    """A tensor gathered from the rows of all processes; anything else as it is. Every process of its group calls it."""
    if isinstance(value, DTensor):
        return value.full_tensor().detach()
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


def placed_as(value: Any, like: Any) -> Any:
    """What this process holds of a whole tensor that lies as another one."""
    if not isinstance(value, Tensor) or isinstance(value, DTensor):
        return value
    if isinstance(like, DTensor):
        value = value if like.device.type == "meta" else value.to(like.device)
        return distribute_tensor(value, like.device_mesh, like.placements, src_data_rank=None)
    shard = shard_of(like) if isinstance(like, Tensor) else None
    if shard is None:
        return value
    first, count = rows_of(shard.length, shard.group.size(), shard.group.rank())
    return value.reshape(shard.length, *shard.shape[1:])[first : first + count]


def get_model_state_dict(
    model: Any, *, submodules: Any = None, options: StateDictOptions | None = None
) -> dict[str, Any]:
    """The state dict of a module, under the names of the module inside wrappers; with `full_state_dict` of whole
    tensors."""
    _refuse_submodules(submodules)
    inner = unwrapped(model)
    state = {clean_name(name): value for name, value in inner.state_dict().items()}
    if options and options.ignore_frozen_params:
        for name, parameter in inner.named_parameters():
            if not parameter.requires_grad:
                state.pop(clean_name(name), None)
    return _as_asked(state, options)


def get_optimizer_state_dict(
    model: Any, optimizers: Any, *, submodules: Any = None, options: StateDictOptions | None = None
) -> dict[str, Any]:
    """The state dict of an optimizer, or of several in one, which get their state if they have not stepped yet.
    Parameters are called by their names in the model, not by their positions; with `full_state_dict` tensors are
    whole. `flatten_optimizer_state_dict` gives one dict of `state.NAME.KEY` and `param_groups.NAME.KEY`."""
    _refuse_submodules(submodules)
    names, joined = parameter_names(unwrapped(model)), {"state": {}, "param_groups": []}  # type: Any, dict[str, Any]
    for optimizer in _several(optimizers):
        _init_optim_state(optimizer)
        state = named(state_of(optimizer), optimizer, names)
        joined["state"].update(state["state"])
        joined["param_groups"] += state["param_groups"]
    made = _as_asked(joined, options)
    return flattened(made) if made and options and options.flatten_optimizer_state_dict else made


def _several(optimizers: Any) -> tuple[Any, ...]:
    return (optimizers,) if hasattr(optimizers, "param_groups") else tuple(optimizers)


def _refuse_submodules(submodules: Any) -> None:
    if submodules is not None:
        raise NotImplementedError("submodules: choose among the names of the state dict instead")


def _as_asked(value: Any, options: StateDictOptions | None) -> Any:
    """A state dict with whole tensors and on the CPU, as the options say."""
    if options is None or not (options.full_state_dict or options.cpu_offload):
        return value
    made = _mapped(value, lambda t: _moved(t, options))
    return {} if options.full_state_dict and options.cpu_offload and is_initialized() and get_rank() else made


def _moved(tensor: Any, options: StateDictOptions) -> Any:
    made = whole(tensor) if options.full_state_dict else tensor
    return mark(made.detach().cpu(), shard_of(made)) if options.cpu_offload else made


def _mapped(value: Any, change: Any) -> Any:
    if isinstance(value, dict):
        return {key: _mapped(inner, change) for key, inner in value.items()}
    return change(value) if isinstance(value, Tensor) else value


def get_state_dict(
    model: Any, optimizers: Any, *, submodules: Any = None, options: StateDictOptions | None = None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The state dicts of a module and its optimizer."""
    return get_model_state_dict(model, options=options), get_optimizer_state_dict(model, optimizers, options=options)


def set_model_state_dict(
    model: Any, model_state_dict: dict[str, Any], *, options: StateDictOptions | None = None
) -> Any:
    """Loads a state dict into a module; with `full_state_dict` this process's rows of whole tensors."""
    inner = unwrapped(model)
    chosen = options or StateDictOptions()
    if chosen.broadcast_from_rank0:
        model_state_dict = _from_first(model_state_dict)
    own = {clean_name(name): name for name in inner.state_dict()}
    model_state_dict = {own.get(name, name): value for name, value in model_state_dict.items()}
    if chosen.full_state_dict:
        held = dict(inner.named_parameters())
        model_state_dict = {name: placed_as(value, held.get(name)) for name, value in model_state_dict.items()}
    if all(p.device.type != "meta" for p in inner.parameters()):
        return inner.load_state_dict(model_state_dict, strict=chosen.strict)
    tied = _holders(inner)
    loaded = inner.load_state_dict(model_state_dict, strict=chosen.strict, assign=True)
    for (first, name), *others in tied:
        for module, other in others:
            module._parameters[other] = first._parameters[name]
    return loaded


def _holders(model: Any) -> list[list[tuple[Any, str]]]:
    """For each parameter the modules that hold it, with its name there."""
    found: dict[int, list[tuple[Any, str]]] = {}
    for module in model.modules():
        for name, parameter in module._parameters.items():
            if parameter is not None:
                found.setdefault(id(parameter), []).append((module, name))
    return list(found.values())


def set_optimizer_state_dict(
    model: Any, optimizers: Any, optim_state_dict: dict[str, Any], *, options: StateDictOptions | None = None
) -> None:
    """Loads what `get_optimizer_state_dict` gave, or a state dict of the optimizer itself; with `full_state_dict` this
    process's rows of whole tensors."""
    if options and options.broadcast_from_rank0:
        optim_state_dict = _from_first(optim_state_dict)
    names = parameter_names(unwrapped(model))
    for optimizer in _several(optimizers):
        state = numbered(optim_state_dict, optimizer, names)
        if options and options.full_state_dict:
            state = {**state, "state": _own_parts(state["state"], optimizer)}
        optimizer.load_state_dict(state)


def _own_parts(state: dict[Any, Any], optimizer: Any) -> dict[Any, Any]:
    """What this process holds of the whole tensors in an optimizer's state."""
    likes = [p for group in optimizer.param_groups for p in group["params"]]
    return {
        i: {name: placed_as(value, likes[i]) if _is_of(value, likes[i]) else value for name, value in entry.items()}
        for i, entry in state.items()
    }


def _is_of(value: Any, like: Tensor) -> bool:
    """Whether a value of an optimizer's state has the shape of the whole parameter."""
    shard = shard_of(like)
    shape = like.shape if shard is None else shard.shape
    return isinstance(value, Tensor) and tuple(value.shape) == tuple(shape)


def _from_first(state: dict[str, Any]) -> dict[str, Any]:
    """A state dict of the first process, in all."""
    holder = [state]
    broadcast_object_list(holder, src=0)
    return holder[0]


def _init_optim_state(optim: Any) -> None:
    """Gives an optimizer that has not stepped yet, and has no gradients, its state: by a step with gradients of zeros
    and a rate of zero."""
    parameters = [p for group in optim.param_groups for p in group["params"]]
    if optim.state or any(p.grad is not None for p in parameters):
        return
    rates = [group.get("lr") for group in optim.param_groups]
    for p in parameters:
        if p.requires_grad:
            p.grad = aten.zeros_like(p.detach())
    for group, rate in zip(optim.param_groups, rates):
        if rate is not None:
            group["lr"] = rate * 0.0 if not isinstance(rate, Tensor) else aten.zeros_like(rate)
    optim.step()
    for group, rate in zip(optim.param_groups, rates):
        if rate is not None:
            group["lr"] = rate
    optim.zero_grad(set_to_none=True)


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

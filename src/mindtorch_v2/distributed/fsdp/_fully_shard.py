"""`fully_shard`: spreads the parameters of a module over the processes of a group."""

from __future__ import annotations

from typing import Any

from ...autograd.graph import saved_tensors_hooks
from ...nn.modules.module import Module
from .._shards import mark, shard_of
from ..device_mesh import DeviceMesh
from ..process_groups import ProcessGroup, world_group
from ._groups import ParameterGroup, pack, unpack
from .api import asks_for_something

_STATE = "_fully_shard_state"


class _State:
    """What `fully_shard` knows of a module: its parameters, and the contexts of forward passes that run."""

    def __init__(self, parameters: ParameterGroup | None) -> None:
        self.parameters = parameters
        self.running: list[Any] = []

    def before(self, module: Module, args: Any) -> None:
        if self.parameters is not None:
            self.parameters.unshard()
            saving = saved_tensors_hooks(pack, unpack)
            saving.__enter__()
            self.running.append(saving)

    def after(self, module: Module, args: Any, result: Any) -> None:
        if self.parameters is not None and self.running:
            self.running.pop().__exit__(None, None, None)
            if not self.running:
                self.parameters.reshard()


class FSDPModule:
    """What a module gains by `fully_shard`."""

    def unshard(self, async_op: bool = False) -> None:
        """Gives the module its whole parameters until `reshard`."""
        found = state_of(self)
        if found.parameters is not None:
            found.parameters.unshard()

    def reshard(self) -> None:
        """Leaves the module the rows of this process."""
        found = state_of(self)
        if found.parameters is not None:
            found.parameters.reshard()

    def set_reshard_after_forward(self, reshard_after_forward: bool, recurse: bool = True) -> None:
        """Whether the whole parameters are given back between the forward and the backward pass."""
        for module in self.modules() if recurse else [self]:  # type: ignore[attr-defined]
            found = getattr(module, _STATE, None)
            if found is not None and found.parameters is not None:
                found.parameters.keeps = not reshard_after_forward

    def set_requires_gradient_sync(self, requires_gradient_sync: bool, *, recurse: bool = True) -> None:
        """Refused unless True: rows of gradients are accumulated, which needs the exchange in every backward pass."""
        if not requires_gradient_sync:
            raise NotImplementedError(
                "fully_shard averages gradients in every backward pass; accumulate without set_requires_gradient_sync: "
                "the sums are the same"
            )


def state_of(module: Any) -> _State:
    return getattr(module, _STATE)


def fully_shard(
    module: Any,
    *,
    mesh: DeviceMesh | None = None,
    reshard_after_forward: bool | int | None = None,
    shard_placement_fn: Any = None,
    mp_policy: Any = None,
    offload_policy: Any = None,
    ignored_params: set[Any] | None = None,
) -> Any:
    """Leaves each process some rows of every parameter of `module`, but for those of inner modules that it was applied
    to
    before. Returns the module, which has become an `FSDPModule` too.

    Whole parameters are gathered when the module runs, given back, gathered again for its backward pass, and gradients
    are averaged into the rows of each process. Losses and parameters are those of one process on the joined batch.
    `reshard_after_forward=False` keeps the whole parameters in between. Make the optimizer afterwards.
    """
    for name, value in (
        ("shard_placement_fn", shard_placement_fn),
        ("mp_policy", mp_policy),
        ("offload_policy", offload_policy),
    ):
        if asks_for_something(value):
            raise NotImplementedError(f"fully_shard: {name} is not supported")
    if hasattr(module, _STATE):
        raise ValueError("fully_shard has been applied to this module before")
    group = _group_of(mesh)
    left_out = {id(parameter) for parameter in ignored_params or ()}
    owners = [
        (inner, name)
        for inner in module.modules()
        for name, parameter in inner._parameters.items()
        if parameter is not None and shard_of(parameter) is None and id(parameter) not in left_out
    ]
    _check_shared(owners)
    parameters = ParameterGroup(owners, group, reshard_after_forward is False) if owners else None
    state = _State(parameters)
    object.__setattr__(module, _STATE, state)
    module.register_forward_pre_hook(state.before)
    module.register_forward_hook(state.after, always_call=True)
    module._register_state_dict_hook(_mark_state)
    kind = type(module)
    module.__class__ = type(f"FSDP{kind.__name__}", (FSDPModule, kind), {"__module__": kind.__module__})
    return module


def _group_of(mesh: DeviceMesh | None) -> ProcessGroup:
    if mesh is None:
        return world_group()
    if mesh.ndim != 1:
        raise NotImplementedError(f"fully_shard takes a mesh of one dimension, got {mesh!r}; slice it: mesh['dp']")
    return mesh.get_group()


def _check_shared(owners: list[tuple[Module, str]]) -> None:
    seen: dict[int, str] = {}
    for module, name in owners:
        if id(module._parameters[name]) in seen:
            raise NotImplementedError(
                f"fully_shard: the parameter {name} of {type(module).__name__} is shared with "
                f"{seen[id(module._parameters[name])]}; give it in ignored_params"
            )
        seen[id(module._parameters[name])] = f"{name} of {type(module).__name__}"


def _mark_state(module: Module, state: dict[str, Any], prefix: str, metadata: Any) -> None:
    """A state dict's tensors know what part they are of whole parameters."""
    for name, parameter in module.named_parameters():
        if prefix + name in state:
            mark(state[prefix + name], shard_of(parameter))

"""`fully_shard`: spreads the parameters of a module over the processes of a group."""

from __future__ import annotations

from typing import Any

from ... import accelerator
from ..._tensor import Tensor
from ...autograd.graph import saved_tensors_hooks
from ...nn.modules.module import Module
from .._shards import mark, shard_of
from ..device_mesh import DeviceMesh, init_device_mesh
from ..process_groups import get_world_size
from ._groups import ParameterGroup, pack, unpack
from .api import MixedPrecisionPolicy, asks_for_something

_STATE = "_fully_shard_state"


class _State:
    """What `fully_shard` knows of a module: its parameters, and the contexts of forward passes that run."""

    def __init__(self, parameters: ParameterGroup | None, policy: MixedPrecisionPolicy) -> None:
        self.parameters, self._policy = parameters, policy
        self.running: list[Any] = []

    def before(self, module: Module, args: Any, kwargs: Any) -> Any:
        if self.parameters is not None:
            self.parameters.unshard()
            saving = saved_tensors_hooks(pack, unpack)
            saving.__enter__()
            self.running.append(saving)
        if self._policy.param_dtype is None or not self._policy.cast_forward_inputs:
            return None
        return cast(args, self._policy.param_dtype), cast(kwargs, self._policy.param_dtype)

    def after(self, module: Module, args: Any, result: Any) -> Any:
        if self.parameters is not None and self.running:
            self.running.pop().__exit__(None, None, None)
            if not self.running:
                self.parameters.reshard()
        return None if self._policy.output_dtype is None else cast(result, self._policy.output_dtype)


def cast(value: Any, dtype: Any) -> Any:
    """Floating point tensors in nested lists, tuples and dicts as another type."""
    if isinstance(value, Tensor):
        return value.to(dtype) if value.is_floating_point() else value
    if isinstance(value, dict):
        return type(value)({key: cast(inner, dtype) for key, inner in value.items()})
    if isinstance(value, (list, tuple)):
        parts = [cast(inner, dtype) for inner in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    return value


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

    def set_modules_to_forward_prefetch(self, modules: list[Any]) -> None:
        """Accepted; parameters are gathered when a module needs them."""

    def set_modules_to_backward_prefetch(self, modules: list[Any]) -> None:
        """Accepted; parameters are gathered when a module needs them."""

    def set_reshard_after_backward(self, reshard_after_backward: bool, *, recurse: bool = True) -> None:
        """Accepted; whole parameters are given back after the backward pass."""

    def set_is_last_backward(self, is_last_backward: bool) -> None:
        """Accepted; gradients are averaged in every backward pass."""

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
    to before. Returns the module, which has become an `FSDPModule` too. Parameters are `DTensor`s placed
    `Shard(0)`; single numbers are plain tensors, of the first process.

    Whole parameters are gathered when the module runs, given back, gathered again for its backward pass, and gradients
    are averaged into the rows of each process. Losses and parameters are those of one process on the joined batch.
    `reshard_after_forward=False` keeps the whole parameters in between. A mesh of two dimensions spreads along the
    second and keeps copies along the first. `mp_policy` names the types to compute and to add gradients in. Make the
    optimizer afterwards.
    """
    for name, value in (("shard_placement_fn", shard_placement_fn), ("offload_policy", offload_policy)):
        if asks_for_something(value):
            raise NotImplementedError(f"fully_shard: {name} is not supported")
    if isinstance(module, (list, tuple)):
        raise NotImplementedError("fully_shard of a list of modules is not supported: call it for each of them")
    spread(module, mesh, reshard_after_forward is False, mp_policy, ignored_params)
    kind = type(module)
    module.__class__ = type(f"FSDP{kind.__name__}", (FSDPModule, kind), {"__module__": kind.__module__})
    return module


def spread(
    module: Module,
    mesh: DeviceMesh | None,
    keeps: bool,
    policy: MixedPrecisionPolicy | None,
    ignored: set[Any] | None,
    as_dtensors: bool = True,
) -> None:
    """Spreads the parameters of a module, which gathers them when it runs."""
    if hasattr(module, _STATE):
        raise ValueError("fully_shard has been applied to this module before")
    mesh = mesh or init_device_mesh(_device_of(module), (get_world_size(),))
    if mesh.ndim > 2:
        raise ValueError(f"fully_shard expects a 1D or 2D DeviceMesh but got {mesh!r}")
    left_out = {id(parameter) for parameter in ignored or ()}
    found: dict[int, list[Any]] = {}  # the modules that hold a parameter, by its identity
    for inner in module.modules():
        if inner is not module and hasattr(inner, _STATE):
            left_out.update(id(shard) for shard in inner.parameters())
    for inner in module.modules():
        for name, parameter in inner._parameters.items():
            if parameter is not None and id(parameter) not in left_out:
                found.setdefault(id(parameter), []).append((inner, name))
    owners = list(found.values())
    chosen = policy or MixedPrecisionPolicy()
    state = _State(ParameterGroup(owners, mesh, keeps, chosen, as_dtensors) if owners else None, chosen)
    object.__setattr__(module, _STATE, state)
    module.register_forward_pre_hook(state.before, with_kwargs=True)
    module.register_forward_hook(state.after, always_call=True)
    module._register_state_dict_hook(_mark_state)


def _device_of(module: Module) -> str:
    """The type of the device of the module's parameters."""
    kinds = {parameter.device.type for parameter in module.parameters()} - {"meta"}
    found = accelerator.current_accelerator()
    return kinds.pop() if len(kinds) == 1 else "cpu" if found is None else found.type


def _mark_state(module: Module, state: dict[str, Any], prefix: str, metadata: Any) -> None:
    """A state dict's tensors know what part they are of whole parameters."""
    for name, parameter in module.named_parameters():
        if prefix + name in state:
            mark(state[prefix + name], shard_of(parameter))

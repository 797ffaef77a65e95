"""`FullyShardedDataParallel`: a module around another one whose parameters are spread over processes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ...nn.modules.module import Module
from ...nn.utils.clip_grad import clip_grad_norm_
from ..device_mesh import DeviceMesh
from ..process_groups import ProcessGroup, get_rank
from ._fully_shard import cast, spread, state_of
from .api import (
    BackwardPrefetch,
    CPUOffload,
    FullStateDictConfig,
    MixedPrecision,
    MixedPrecisionPolicy,
    ShardingStrategy,
    StateDictType,
    asks_for_something,
)
from .wrap import ModuleWrapPolicy

__all__ = [
    "BackwardPrefetch",
    "CPUOffload",
    "FullStateDictConfig",
    "FullyShardedDataParallel",
    "MixedPrecision",
    "ShardingStrategy",
    "StateDictType",
]


class FullyShardedDataParallel(Module):
    """Runs `module` with parameters that are spread over the processes of a group, as `fully_shard` does.

    `auto_wrap_policy` is a set of classes whose instances inside are gathered by themselves, or a function (module,
    recurse, nonwrapped_numel) -> bool. `state_dict()` gathers whole tensors, in all processes.
    """

    def __init__(
        self,
        module: Module,
        process_group: ProcessGroup | None = None,
        sharding_strategy: ShardingStrategy | None = None,
        cpu_offload: Any = None,
        auto_wrap_policy: Any = None,
        backward_prefetch: Any = None,
        mixed_precision: Any = None,
        ignored_modules: Any = None,
        device_id: Any = None,
        sync_module_states: bool = False,
        use_orig_params: bool = True,
        device_mesh: DeviceMesh | None = None,
    ) -> None:
        super().__init__()
        if asks_for_something(cpu_offload):
            raise NotImplementedError("FullyShardedDataParallel: cpu_offload is not supported")
        self._fsdp_wrapped_module = module
        self._rank0_only = False
        mesh = device_mesh if device_mesh is not None else _mesh_of(process_group)
        strategy = sharding_strategy or ShardingStrategy.FULL_SHARD
        hybrid = strategy in (ShardingStrategy.HYBRID_SHARD, ShardingStrategy._HYBRID_SHARD_ZERO2)
        if hybrid != (mesh is not None and mesh.ndim == 2):
            raise ValueError(f"a hybrid strategy takes a device_mesh of two dimensions, got {strategy} and {mesh!r}")
        if sync_module_states:
            _take_over(module, mesh)
        keeps = strategy in (ShardingStrategy.SHARD_GRAD_OP, ShardingStrategy._HYBRID_SHARD_ZERO2)
        inside, outside = _policies(mixed_precision)
        if mixed_precision is not None and mixed_precision.buffer_dtype is not None:
            for buffer in module.buffers():
                buffer.data = cast(buffer.data, mixed_precision.buffer_dtype)
        ignored = {p for each in ignored_modules or () for p in each.parameters()}
        for inner in _chosen(module, auto_wrap_policy):
            spread(inner, mesh, keeps, inside, ignored, as_dtensors=False)
        spread(module, mesh, keeps, outside, ignored, as_dtensors=False)

    @property
    def module(self) -> Module:
        """The module inside."""
        return self._fsdp_wrapped_module

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The module's result."""
        return self._fsdp_wrapped_module(*args, **kwargs)

    def state_dict(self, *args: Any, **kwargs: Any) -> Any:
        """Whole tensors by the names that they have in the module. Every process calls it."""
        from ..checkpoint.state_dict import whole

        found = self._fsdp_wrapped_module.state_dict(*args, **kwargs)
        made = [(name, whole(value)) for name, value in found.items()]
        return type(found)() if self._rank0_only and get_rank() != 0 else type(found)(made)

    @staticmethod
    @contextmanager
    def state_dict_type(
        module: Module,
        state_dict_type: StateDictType,
        state_dict_config: Any = None,
        optim_state_dict_config: Any = None,
    ) -> Iterator[None]:
        """A context in which `state_dict()` of the modules inside holds whole tensors; with
        `FullStateDictConfig(rank0_only=True)` in the first process only."""
        if state_dict_type is not StateDictType.FULL_STATE_DICT:
            raise NotImplementedError(
                f"FullyShardedDataParallel: {state_dict_type} is not here; a state dict holds whole tensors "
                "(torch.distributed.checkpoint saves the rows of each process)"
            )
        inside = [m for m in module.modules() if isinstance(m, FullyShardedDataParallel)]
        before = [m._rank0_only for m in inside]
        for each in inside:
            each._rank0_only = bool(getattr(state_dict_config, "rank0_only", False))
        try:
            yield
        finally:
            for each, value in zip(inside, before):
                each._rank0_only = value

    def load_state_dict(self, state_dict: Any, strict: bool = True, assign: bool = False) -> Any:
        """Takes this process's rows of whole tensors."""
        from ..checkpoint.state_dict import placed_as

        held = dict(self._fsdp_wrapped_module.named_parameters())
        rows = {name: placed_as(value, held.get(name)) for name, value in state_dict.items()}
        return self._fsdp_wrapped_module.load_state_dict(rows, strict=strict)

    def clip_grad_norm_(self, max_norm: float, norm_type: float = 2.0) -> Any:
        """As `torch.nn.utils.clip_grad_norm_` of the module's parameters, which it scales in all processes."""
        return clip_grad_norm_(self.parameters(), max_norm, norm_type)

    @staticmethod
    def summon_full_params(module: Module, writeback: bool = True) -> Any:
        """A context in which the modules hold whole parameters, to be read."""

        @contextmanager
        def whole_parameters() -> Any:
            groups = [state_of(m).parameters for m in module.modules() if hasattr(m, "_fully_shard_state")]
            for group in groups:
                if group is not None:
                    group.unshard()
            try:
                yield
            finally:
                for group in groups:
                    if group is not None:
                        group.reshard()

        return whole_parameters()


def _mesh_of(group: ProcessGroup | None) -> DeviceMesh | None:
    return None if group is None else DeviceMesh("cpu", group.ranks, _groups=[group])


def _policies(given: MixedPrecision | None) -> tuple[MixedPrecisionPolicy, MixedPrecisionPolicy]:
    """Types for the modules inside that are gathered by themselves, and for the outermost."""
    if given is None:
        return MixedPrecisionPolicy(), MixedPrecisionPolicy()
    types = (given.param_dtype, given.reduce_dtype)
    root = given.cast_forward_inputs or given.cast_root_forward_inputs
    return (
        MixedPrecisionPolicy(*types, cast_forward_inputs=given.cast_forward_inputs),
        MixedPrecisionPolicy(*types, cast_forward_inputs=root),
    )


def _chosen(module: Module, policy: Any) -> list[Module]:
    """The inner modules that are gathered by themselves, innermost first."""
    if policy is None:
        return []
    if isinstance(policy, (set, frozenset, list, tuple)):
        policy = ModuleWrapPolicy(policy)
    found: list[Module] = []
    _choose(module, policy, found, {id(module)})
    return [each for each in found if each is not module]


def _choose(module: Module, policy: Callable[..., bool], found: list[Module], seen: set[int]) -> int:
    """Adds what the policy takes of a module's children and of itself; how many elements of parameters that covers."""
    count = sum(p.numel() for p in module.parameters())
    if not policy(module=module, recurse=True, nonwrapped_numel=count):
        return 0
    covered = 0
    for child in module.children():
        if id(child) not in seen:
            seen.add(id(child))
            covered += _choose(child, policy, found, seen)
    if not policy(module=module, recurse=False, nonwrapped_numel=count - covered):
        return covered
    found.append(module)
    return count


def _take_over(module: Module, mesh: DeviceMesh | None) -> None:
    """All processes take the parameters and buffers of the first one."""
    from .. import collectives

    group = None if mesh is None else mesh.get_group()
    for tensor in (*module.parameters(), *module.buffers()):
        collectives.broadcast(tensor.detach(), group_src=0, group=group)

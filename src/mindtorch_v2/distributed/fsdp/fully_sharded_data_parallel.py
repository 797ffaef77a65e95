"""`FullyShardedDataParallel`: a module around another one whose parameters are spread over processes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ...nn.modules.module import Module
from ...nn.utils.clip_grad import clip_grad_norm_
from .._shards import shard_of
from ..device_mesh import DeviceMesh
from ..process_groups import ProcessGroup, get_rank
from ._fully_shard import fully_shard, state_of
from .api import (
    BackwardPrefetch,
    CPUOffload,
    FullStateDictConfig,
    MixedPrecision,
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
        for name, value in (("cpu_offload", cpu_offload), ("mixed_precision", mixed_precision)):
            if asks_for_something(value):
                raise NotImplementedError(f"FullyShardedDataParallel: {name} is not supported")
        self._fsdp_wrapped_module = module
        self._rank0_only = False
        mesh = device_mesh if device_mesh is not None else _mesh_of(process_group)
        if sync_module_states:
            _take_over(module, mesh)
        keeps = sharding_strategy is ShardingStrategy.SHARD_GRAD_OP
        ignored = {p for each in ignored_modules or () for p in each.parameters()}
        for inner in _chosen(module, auto_wrap_policy):
            fully_shard(inner, mesh=mesh, reshard_after_forward=not keeps, ignored_params=ignored)
        fully_shard(module, mesh=mesh, reshard_after_forward=not keeps, ignored_params=ignored)

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
        from ..checkpoint.state_dict import own_rows

        shards = {name: shard_of(p) for name, p in self._fsdp_wrapped_module.named_parameters()}
        rows = {name: own_rows(value, shards.get(name)) for name, value in state_dict.items()}
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

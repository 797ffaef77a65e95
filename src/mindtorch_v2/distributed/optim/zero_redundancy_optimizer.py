"""An optimizer each of whose processes keeps the state of a part of the parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...optim import Optimizer
from ..algorithms.join import Join, Joinable, JoinHook
from ..collectives import broadcast
from ..objects import gather_object
from ..process_groups import get_global_rank, get_rank, get_world_size, world_group


class ZeroRedundancyOptimizer(Optimizer, Joinable):
    """`optimizer_class` on a part of the parameters; every step ends with each process handing its part to the others.

    Parameters are given to processes one after the other, each to the one with the fewest elements so far, largest
    first. The results are those of `optimizer_class` on all parameters. `state_dict()` needs
    `consolidate_state_dict(to)` before, called by all processes.
    """

    def __init__(
        self,
        params: Any,
        optimizer_class: type[Optimizer],
        process_group: Any = None,
        parameters_as_bucket_view: bool = False,
        overlap_with_ddp: bool = False,
        **defaults: Any,
    ) -> None:
        if overlap_with_ddp:
            raise NotImplementedError(
                "ZeroRedundancyOptimizer(overlap_with_ddp=True): the step does not overlap with the backward pass "
                "here; leave it out"
            )
        self.process_group = process_group or world_group()
        self._optimizer_class, self._defaults = optimizer_class, defaults
        self._all_states: list[dict[str, Any]] | None = None
        self.optim: Optimizer | None = None
        super().__init__(params, defaults)
        Joinable.__init__(self)
        self._build()

    def _owners(self) -> list[list[int]]:
        """For every group of parameters, the process that each one belongs to."""
        load = [0] * get_world_size(self.process_group)
        owners = [[0] * len(group["params"]) for group in self.param_groups]
        order = sorted(
            ((p.numel(), g, i) for g, group in enumerate(self.param_groups) for i, p in enumerate(group["params"])),
            key=lambda entry: (-entry[0], entry[1], entry[2]),
        )
        for count, g, i in order:
            owners[g][i] = load.index(min(load))
            load[owners[g][i]] += count
        return owners

    def _build(self) -> None:
        rank, owners = get_rank(self.process_group), self._owners()
        self._owner_of = owners
        local = [
            {
                **{k: v for k, v in group.items() if k != "params"},
                "params": [p for p, owner in zip(group["params"], owners[g]) if owner == rank],
            }
            for g, group in enumerate(self.param_groups)
        ]
        self.optim = self._optimizer_class(local, **self._defaults)
        for group, mine in zip(self.param_groups, self.optim.param_groups):
            for key, value in mine.items():
                if key != "params":
                    group.setdefault(key, value)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Adds parameters; which process has which is settled anew, and the state of all begins anew."""
        super().add_param_group(param_group)
        if self.optim is not None:
            self._build()

    def step(self, closure: Callable[[], Any] | None = None, **kwargs: Any) -> Any:
        """A step of this process's part, and the exchange of the results."""
        Join.notify_join_context(self)
        return self._step_own_part(closure, **kwargs)

    def _step_own_part(self, closure: Callable[[], Any] | None, **kwargs: Any) -> Any:
        assert self.optim is not None
        for group, mine in zip(self.param_groups, self.optim.param_groups):
            mine.update({key: value for key, value in group.items() if key != "params"})
        loss = self.optim.step(**kwargs) if closure is None else self.optim.step(closure=closure, **kwargs)
        works = [
            broadcast(p.data, get_global_rank(self.process_group, owner), self.process_group, async_op=True)
            for group, owners in zip(self.param_groups, self._owner_of)
            for p, owner in zip(group["params"], owners)
        ]
        for work in works:
            if work is not None:
                work.wait()
        return loss

    def consolidate_state_dict(self, to: int = 0) -> None:
        """Collects the state of all processes in process `to`."""
        assert self.optim is not None
        states: list[Any] = [None] * get_world_size(self.process_group)
        gather_object(
            self.optim.state_dict(), states if get_rank(self.process_group) == to else None, to, self.process_group
        )
        self._all_states = states if get_rank(self.process_group) == to else None

    def _index_pairs(self) -> list[tuple[int, int, int]]:
        """(index among all parameters, owner, index in the owner's part)."""
        counts, pairs, index = [0] * get_world_size(self.process_group), [], 0
        for owners in self._owner_of:
            for owner in owners:
                pairs.append((index, owner, counts[owner]))
                counts[owner] += 1
                index += 1
        return pairs

    def state_dict(self) -> dict[str, Any]:
        """The state of all parameters, as `optimizer_class` itself would save it; after `consolidate_state_dict`."""
        if self._all_states is None:
            raise RuntimeError(
                "Optimizer state has not been consolidated on this rank. Please call `consolidate_state_dict(to="
                f"{get_rank(self.process_group)})` on all ranks beforehand if you meant to save the global state."
            )
        made = super().state_dict()
        made["state"] = {
            index: self._all_states[owner]["state"][local]
            for index, owner, local in self._index_pairs()
            if local in self._all_states[owner]["state"]
        }
        return made

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes this process's part of a state of all parameters."""
        assert self.optim is not None
        mine = self.optim.state_dict()
        rank = get_rank(self.process_group)
        mine["state"] = {
            local: state_dict["state"][index]
            for index, owner, local in self._index_pairs()
            if owner == rank and index in state_dict["state"]
        }
        self.optim.load_state_dict(mine)
        for group, saved in zip(self.param_groups, state_dict["param_groups"]):
            group.update({key: value for key, value in saved.items() if key != "params"})

    def join_hook(self, **kwargs: Any) -> JoinHook:
        """A process without batches goes on to step its part, with the gradients that
        `DistributedDataParallel.join_hook` left."""
        return _Shadow(self)

    @property
    def join_device(self) -> Any:
        """The device of the parameters."""
        return self.param_groups[0]["params"][0].device

    @property
    def join_process_group(self) -> Any:
        """The group over which the state is spread."""
        return self.process_group


class _Shadow(JoinHook):
    """A process whose batches have ended, in the steps of the others."""

    def __init__(self, optimizer: ZeroRedundancyOptimizer) -> None:
        self._optimizer = optimizer

    def main_hook(self) -> None:
        """One step of the others."""
        self._optimizer._step_own_part(None)

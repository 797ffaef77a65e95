"""`torch.distributed.checkpoint.default_planner`: the choices that saving and loading know."""

from __future__ import annotations

from typing import Any, TypeVar

__all__ = ["DefaultLoadPlanner", "DefaultSavePlanner"]


class DefaultSavePlanner:
    """The names of values are the keys and indices that lead to them. What all processes hold is written once,
    whatever `dedup_save_to_lowest_rank` says; the other options concern PyTorch's caches of plans."""

    def __init__(
        self,
        flatten_state_dict: bool = True,
        flatten_sharded_tensors: bool = True,
        dedup_replicated_tensors: bool | None = None,
        dedup_save_to_lowest_rank: bool = False,
        enable_plan_caching: bool = False,
    ) -> None:
        if not flatten_state_dict:
            raise NotImplementedError("DefaultSavePlanner: state dicts are always flattened")


class DefaultLoadPlanner:
    """With `allow_partial_load`, values that the checkpoint does not have stay as they are."""

    def __init__(
        self, flatten_state_dict: bool = True, flatten_sharded_tensors: bool = True, allow_partial_load: bool = False
    ) -> None:
        if not flatten_state_dict:
            raise NotImplementedError("DefaultLoadPlanner: state dicts are always flattened")
        self.allow_partial_load = allow_partial_load


_P = TypeVar("_P", DefaultSavePlanner, DefaultLoadPlanner)


def checked_planner(planner: Any, kind: type[_P]) -> _P:
    """The planner to follow; NotImplementedError for one of another class, whose methods nobody would call."""
    if planner is None:
        return kind()
    if type(planner) is not kind:
        raise NotImplementedError(
            f"the planner is a {kind.__name__}, got {type(planner).__name__}: planners of other "
            "classes are not called here"
        )
    return planner

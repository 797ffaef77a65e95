"""Post-local SGD (Lin et al., 2018): gradients are averaged among few processes, parameters among all now and then
(`model_averaging`)."""

from __future__ import annotations

from typing import Any

from ...new_groups import new_subgroups
from .default_hooks import allreduce_hook, noop_hook

__all__ = ["PostLocalSGDState", "post_localSGD_hook"]


class PostLocalSGDState:
    """`process_group` averages gradients in the first `start_localSGD_iter` iterations, then `subgroup` (the processes
    of a machine if it is None), or with `post_local_gradient_allreduce=False` nobody."""

    def __init__(
        self, process_group: Any, subgroup: Any, start_localSGD_iter: int, post_local_gradient_allreduce: bool = True
    ) -> None:
        self.process_group, self.subgroup = process_group, subgroup
        self.start_localSGD_iter = start_localSGD_iter
        self.post_local_gradient_allreduce = post_local_gradient_allreduce
        self.iter = 0

    def maybe_increase_iter(self, bucket: Any) -> None:
        """Counts the iteration with its last bucket."""
        self.iter += int(bucket.is_last())


def post_localSGD_hook(state: PostLocalSGDState, bucket: Any) -> Any:
    """Averages a bucket among the processes that the state says."""
    is_local = state.iter >= state.start_localSGD_iter
    state.maybe_increase_iter(bucket)
    if not is_local:
        return allreduce_hook(state.process_group, bucket)
    if not state.post_local_gradient_allreduce:
        return noop_hook(None, bucket)
    if state.subgroup is None:
        state.subgroup, _ = new_subgroups()
    return allreduce_hook(state.subgroup, bucket)

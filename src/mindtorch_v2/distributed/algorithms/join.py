"""`Join`: loops whose processes have different numbers of inputs.

A process that has none left goes on with the communication of the others, by the hooks of what takes part, until all
have come to the end.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Any, NamedTuple

from ... import ones, zeros
from ..collectives import all_reduce
from ..process_groups import get_rank
from ..work import Work

__all__ = ["Join", "Joinable", "JoinHook"]


class JoinHook:
    """What a process does for a `Joinable` when its own inputs have ended."""

    def main_hook(self) -> None:
        """Takes part in the communication of one iteration of the others."""

    def post_hook(self, is_last_joiner: bool) -> None:
        """Called when no process has inputs left; `is_last_joiner` in those whose inputs ended last."""


class _JoinConfig(NamedTuple):
    """What a `Joinable` knows of the context in which it is."""

    enable: bool
    throw_on_early_termination: bool
    is_first_joinable: bool

    @staticmethod
    def construct_disabled_join_config() -> _JoinConfig:
        return _JoinConfig(False, False, False)


class Joinable(ABC):
    """What can take part in a `Join`. It calls `Join.notify_join_context(self)` before its first communication of every
    iteration, and its `join_hook` does that communication without inputs."""

    @abstractmethod
    def __init__(self) -> None:
        super().__init__()
        self._join_config = _JoinConfig.construct_disabled_join_config()

    @abstractmethod
    def join_hook(self, **kwargs: Any) -> JoinHook:
        """The hook; `kwargs` are those of the context."""

    @property
    @abstractmethod
    def join_device(self) -> Any:
        """The device of the context's own communication."""

    @property
    @abstractmethod
    def join_process_group(self) -> Any:
        """The group of the context's own communication."""


class Join:
    """A context around a loop over inputs, of which processes may have different numbers.

    Every iteration begins with a count of the processes that still have inputs. With `throw_on_early_termination` all
    processes raise RuntimeError as soon as one has none left. Keyword arguments go to the hooks.
    """

    def __init__(
        self, joinables: list[Joinable], enable: bool = True, throw_on_early_termination: bool = False, **kwargs: Any
    ) -> None:
        if len(joinables) == 0:
            raise ValueError("The join context manager requires at least one joinable")
        groups = [joinable.join_process_group for joinable in joinables]
        if any(group is not groups[0] for group in groups):
            raise ValueError("Using join context manager with multiple process groups")
        self._joinables, self._enable, self._throw = joinables, enable, throw_on_early_termination
        self._hooks = [joinable.join_hook(**kwargs) for joinable in joinables] if enable else []
        self._group, self._device = groups[0], joinables[0].join_device

    def __enter__(self) -> None:
        if self._enable:
            for index, joinable in enumerate(self._joinables):
                joinable._join_config = _JoinConfig(True, self._throw, index == 0)

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if not self._enable:
            return
        try:
            if kind is None:
                self._shadow()
        finally:
            for joinable in self._joinables:
                joinable._join_config = _JoinConfig.construct_disabled_join_config()

    def _shadow(self) -> None:
        """Does what the others expect of this process until all have come here."""
        is_last_joiner = True
        while self._with_inputs():
            is_last_joiner = False
            if self._throw:
                all_reduce(ones(1, device=self._device), group=self._group)
                raise RuntimeError(f"Rank {get_rank(self._group)} exhausted all inputs.")
            for hook in self._hooks:
                hook.main_hook()
        for hook in self._hooks:
            hook.post_hook(is_last_joiner)

    def _with_inputs(self) -> int:
        """How many processes have inputs left."""
        count = zeros(1, device=self._device)
        all_reduce(count, group=self._group)
        return int(count.item())

    @staticmethod
    def notify_join_context(joinable: Joinable) -> Work | None:
        """Tells processes without inputs that an iteration begins. The first `Joinable` of a context gets the Work that
        counts the processes which have inputs, the others None."""
        if not hasattr(joinable, "_join_config"):
            raise AssertionError(
                f"Check that the {type(joinable)} constructor calls the `Joinable` constructor in its __init__"
            )
        config = joinable._join_config
        if not config.enable or not config.is_first_joinable:
            return None
        group, device = joinable.join_process_group, joinable.join_device
        work = all_reduce(ones(1, device=device), group=group, async_op=True)
        if config.throw_on_early_termination:
            ended = zeros(1, device=device)
            all_reduce(ended, group=group)
            if ended.item():
                raise RuntimeError("Detected at least one rank that exhausted inputs. Throwing across all ranks.")
        return work

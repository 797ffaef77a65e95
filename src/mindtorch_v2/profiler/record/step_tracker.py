"""A count of steps that several parties of a process (profilers, optimizers) agree on."""

from __future__ import annotations

import warnings
from typing import ClassVar


class KinetoStepTracker:
    """Each party counts its own steps; the process's step is the largest of them."""

    _current_step: ClassVar[int] = 0
    _step_dict: ClassVar[dict[str, int]] = {}

    @classmethod
    def init_step_count(cls, requester: str) -> None:
        """A new party starts at the process's step."""
        cls._step_dict[requester] = cls._current_step

    @classmethod
    def erase_step_count(cls, requester: str) -> bool:
        """Forgets a party; False if it was not known."""
        return cls._step_dict.pop(requester, None) is not None

    @classmethod
    def increment_step(cls, requester: str) -> int:
        """Counts a step of a party and returns the process's step."""
        if requester not in cls._step_dict:
            cls.init_step_count(requester)
        cls._step_dict[requester] += 1
        new_step = max(cls._step_dict.values())
        if new_step > cls._current_step:
            delta = new_step - cls._current_step
            if delta > 1:
                warnings.warn(
                    f"Profiler step count has increased more than 1 - current_step = {cls._current_step} "
                    f"step dict =  {cls._step_dict}",
                    stacklevel=2,
                )
            cls._current_step = new_step
        return cls._current_step

    @classmethod
    def current_step(cls) -> int:
        return cls._current_step


def count_optimizer_steps() -> None:
    """Every step of any optimizer counts as a step of the process from now on."""
    from ...optim.optimizer import register_optimizer_step_post_hook

    register_optimizer_step_post_hook(
        lambda optimizer, args, kwargs: KinetoStepTracker.increment_step("Optimizer") and None
    )

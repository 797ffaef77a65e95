"""Objects that know when to average parameters."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from typing import Any

from ...process_groups import world_group
from . import utils

__all__ = ["ModelAverager", "PeriodicModelAverager"]


class ModelAverager(ABC):
    """Averages parameters over `process_group` (all processes if it is None); `step` counts its calls."""

    def __init__(self, process_group: Any = None) -> None:
        self.process_group = process_group if process_group is not None else world_group()
        self.step = 0

    @abstractmethod
    def average_parameters(self, params: Any) -> None:
        """Called after each step of the optimizer."""


class PeriodicModelAverager(ModelAverager):
    """Averages in every `period`-th step after `warmup_steps`."""

    def __init__(self, period: int, warmup_steps: int = 0, process_group: Any = None) -> None:
        super().__init__(process_group)
        if warmup_steps < 0:
            raise ValueError("Arg ``warmup_steps`` must be a non-negative number.")
        if period < 1:
            raise ValueError("Arg ``period`` must be a positive value.")
        if period == 1:
            warnings.warn(
                "When period is 1, no need to use model averaging because the communication cost of all-reducing "
                "parameters will be no less than the cost of all-reducing gradients by DistributedDataParallel in the "
                "backward pass. Therefore, only DistributedDataParallel should be used for this case.",
                stacklevel=2,
            )
        self.period, self.warmup_steps = period, warmup_steps

    def average_parameters(self, params: Any) -> None:
        """Averages the parameters that have a gradient, if it is time."""
        if self.step >= self.warmup_steps and (self.step - self.warmup_steps) % self.period == 0:
            utils.average_parameters_or_parameter_groups(params, self.process_group)
        self.step += 1

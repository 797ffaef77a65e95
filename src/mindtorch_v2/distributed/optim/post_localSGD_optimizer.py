"""An optimizer that averages parameters over processes now and then."""

from __future__ import annotations

import warnings
from typing import Any

from ...optim import Optimizer

__all__ = ["PostLocalSGDOptimizer"]


class PostLocalSGDOptimizer(Optimizer):
    """Steps as `optim` does, then has `averager` average the parameters (`PeriodicModelAverager`)."""

    def __init__(self, optim: Optimizer, averager: Any) -> None:
        self.optim, self.averager = optim, averager
        self.defaults = optim.defaults
        self.param_groups = optim.param_groups

    @property
    def state(self) -> Any:  # type: ignore[override]
        """The state of the optimizer inside."""
        return self.optim.state

    def __repr__(self) -> str:
        return repr(self.optim)

    def state_dict(self) -> dict[str, Any]:
        """That of the optimizer inside, with the averager's count as `step`."""
        return {**self.optim.state_dict(), "step": self.averager.step}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Loads the state, and the averager's count where there is one."""
        self.optim.load_state_dict({name: value for name, value in state_dict.items() if name != "step"})
        self.param_groups = self.optim.param_groups
        if "step" in state_dict:
            self.averager.step = state_dict["step"]
        else:
            warnings.warn(
                "Loaded state dict does not contain a step counter for an averager. Setting step counter to 0.",
                stacklevel=2,
            )
            self.averager.step = 0

    def step(self, closure: Any = None) -> Any:  # type: ignore[override]
        """One step, and an average if it is time."""
        result = self.optim.step(closure)
        self.averager.average_parameters(self.param_groups)
        return result

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Clears the gradients."""
        self.optim.zero_grad(set_to_none)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Adds a group of parameters."""
        self.optim.add_param_group(param_group)

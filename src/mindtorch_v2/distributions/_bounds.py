"""The base class of constraints, and those with bounds."""

from __future__ import annotations

from typing import Any

from .._tensor import Tensor


class Constraint:
    """A region. `check(value)` tells for every event of the last `event_dim` dimensions whether it lies inside."""

    is_discrete: Any = False
    event_dim: Any = 0
    _printed_names: tuple[str, ...] = ()  # attributes in the text of the constraint

    def check(self, value: Any) -> Tensor:
        raise NotImplementedError

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={getattr(self, name)}" for name in self._printed_names)
        return f"{type(self).__name__.lstrip('_')}({values})"


class _FromBelow(Constraint):
    """A constraint with a lower bound."""

    _printed_names = ("lower_bound",)

    def __init__(self, lower_bound: Any) -> None:
        self.lower_bound = lower_bound
        super().__init__()


class _FromAbove(Constraint):
    """A constraint with an upper bound."""

    _printed_names = ("upper_bound",)

    def __init__(self, upper_bound: Any) -> None:
        self.upper_bound = upper_bound
        super().__init__()


class _Between(Constraint):
    """A constraint with both bounds."""

    _printed_names = ("lower_bound", "upper_bound")

    def __init__(self, lower_bound: Any, upper_bound: Any) -> None:
        self.lower_bound, self.upper_bound = lower_bound, upper_bound
        super().__init__()

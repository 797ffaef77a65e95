"""The generalized Pareto distribution."""

from __future__ import annotations

import math
from numbers import Number
from typing import Any

import mindtorch_v2 as torch

from .._shape import Size
from . import constraints
from .distribution import Distribution
from .utils import broadcast_all

__all__ = ["GeneralizedPareto"]


class GeneralizedPareto(Distribution):
    """What exceeds a high threshold `loc`; `concentration` says how heavy the tail is (0: exponential, below 0:
    bounded).

    >>> d = torch.distributions.GeneralizedPareto(torch.tensor(0.), torch.tensor(1.), torch.tensor(0.1))
    >>> d.mean, d.sample((3,)).shape
    (tensor(1.1111), torch.Size([3]))
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive, "concentration": constraints.real}
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale, self.concentration = broadcast_all(loc, scale, concentration)
        numbers = all(isinstance(v, Number) for v in (loc, scale, concentration))
        super().__init__(Size(()) if numbers else self.loc.size(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return self._expand_parameters(GeneralizedPareto, batch_shape, _instance, "loc", "scale", "concentration")

    def _is_exponential(self) -> Any:
        return torch.isclose(self.concentration, torch.zeros_like(self.concentration))

    def _safe_concentration(self) -> Any:
        return torch.where(self._is_exponential(), torch.ones_like(self.concentration), self.concentration)

    def rsample(self, sample_shape: Any = ()) -> Any:
        shape = self._extended_shape(sample_shape)
        return self.icdf(torch.rand(shape, dtype=self.loc.dtype, device=self.loc.device))

    def log_prob(self, value: Any) -> Any:
        if self._validate_args:
            self._validate_sample(value)
        y = (value - self.loc) / self.scale
        k = self._safe_concentration()
        other = -(1 / k + 1) * torch.log1p(k * y)
        return torch.where(self._is_exponential(), -y, other) - torch.log(self.scale)

    def log_survival_function(self, value: Any) -> Any:
        if self._validate_args:
            self._validate_sample(value)
        y = (value - self.loc) / self.scale
        k = self._safe_concentration()
        return torch.where(self._is_exponential(), -y, -torch.log1p(k * y) / k)

    def log_cdf(self, value: Any) -> Any:
        return torch.log1p(-torch.exp(self.log_survival_function(value)))

    def cdf(self, value: Any) -> Any:
        return torch.exp(self.log_cdf(value))

    def icdf(self, value: Any) -> Any:
        k = self._safe_concentration()
        left = torch.log1p(-value)
        return torch.where(
            self._is_exponential(), self.loc - self.scale * left, self.loc + self.scale * torch.expm1(-k * left) / k
        )

    @property
    def mean(self) -> Any:
        k = self.concentration
        safe = torch.where(k < 1, k, torch.full_like(k, 0.5))
        return torch.where(k < 1, self.loc + self.scale / (1 - safe), torch.full_like(k, math.inf))

    @property
    def variance(self) -> Any:
        k = self.concentration
        safe = torch.where(k < 0.5, k, torch.full_like(k, 0.25))
        return torch.where(k < 0.5, self.scale**2 / ((1 - safe) ** 2 * (1 - 2 * safe)), torch.full_like(k, math.inf))

    @property
    def mode(self) -> Any:
        return self.loc

    def entropy(self) -> Any:
        return (torch.log(self.scale) + self.concentration + 1).expand(self._batch_shape)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:  # type: ignore[override]
        lower = self.loc
        upper = torch.where(
            self.concentration < 0, lower - self.scale / self.concentration, torch.full_like(lower, math.inf)
        )
        return constraints.interval(lower, upper)

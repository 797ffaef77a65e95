"""The negative binomial distribution."""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch

from . import constraints
from ._trials import Trials
from .gamma import Gamma
from .utils import lazy_property

__all__ = ["NegativeBinomial"]


class NegativeBinomial(Trials):
    """The count of successes of probability `probs` before `total_count` failures.

    >>> d = torch.distributions.NegativeBinomial(torch.tensor(3.), torch.tensor(0.5))
    >>> d.mean, d.sample((3,)).shape
    (tensor(3.), torch.Size([3]))
    """

    arg_constraints = {
        "total_count": constraints.greater_than_eq(0),
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer

    def __init__(
        self, total_count: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        super().__init__(total_count, probs, logits, validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return self._expand_trials(NegativeBinomial, batch_shape, _instance)

    @property
    def mean(self) -> Any:
        return self.total_count * torch.exp(self.logits)

    @property
    def mode(self) -> Any:
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0)

    @property
    def variance(self) -> Any:
        return self.mean / torch.sigmoid(-self.logits)

    @lazy_property
    def _gamma(self) -> Any:
        return Gamma(concentration=self.total_count, rate=torch.exp(-self.logits), validate_args=False)

    def sample(self, sample_shape: Any = ()) -> Any:
        with torch.no_grad():
            return torch.poisson(self._gamma.sample(sample_shape=sample_shape))

    def log_prob(self, value: Any) -> Any:
        if self._validate_args:
            self._validate_sample(value)
        weight = self.total_count * torch.nn.functional.logsigmoid(
            -self.logits
        ) + value * torch.nn.functional.logsigmoid(self.logits)
        ways = -torch.lgamma(self.total_count + value) + torch.lgamma(1.0 + value) + torch.lgamma(self.total_count)
        return weight - ways.masked_fill(self.total_count + value == 0.0, 0.0)

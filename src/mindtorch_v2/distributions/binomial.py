"""The binomial distribution."""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch

from . import constraints
from ._trials import Trials

__all__ = ["Binomial"]


def _clamp_by_zero(x: Any) -> Any:
    """max(x, 0), with the gradient 1/2 at zero."""
    return (x.clamp(min=0) + x - x.clamp(max=0)) / 2


class Binomial(Trials):
    """The count of successes in `total_count` trials of probability `probs`.

    >>> d = torch.distributions.Binomial(4, torch.tensor(0.5))
    >>> d.mean, d.sample((3,)).shape
    (tensor(2.), torch.Size([3]))
    """

    arg_constraints = {
        "total_count": constraints.nonnegative_integer,
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    has_enumerate_support = True

    def __init__(
        self, total_count: Any = 1, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        super().__init__(total_count, probs, logits, validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return self._expand_trials(Binomial, batch_shape, _instance)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:  # type: ignore[override]
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self) -> Any:
        return self.total_count * self.probs

    @property
    def mode(self) -> Any:
        return ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count)

    @property
    def variance(self) -> Any:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = ()) -> Any:
        shape = self._extended_shape(sample_shape)
        with torch.no_grad():
            return torch.binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def log_prob(self, value: Any) -> Any:
        if self._validate_args:
            self._validate_sample(value)
        ways = torch.lgamma(self.total_count + 1) - torch.lgamma(value + 1) - torch.lgamma(self.total_count - value + 1)
        # total_count * log(1 + exp(logits)), without overflow
        normalizer = self.total_count * _clamp_by_zero(self.logits) + self.total_count * torch.log1p(
            torch.exp(-torch.abs(self.logits))
        )
        return value * self.logits + ways - normalizer

    def entropy(self) -> Any:
        values = self.enumerate_support(False)
        log_prob = self.log_prob(values)
        return -(torch.exp(log_prob) * log_prob).sum(0)

    def enumerate_support(self, expand: bool = True) -> Any:
        count = int(self.total_count.max())
        if not self.total_count.min() == count:
            raise NotImplementedError("Inhomogeneous total count not supported by `enumerate_support`.")
        values = torch.arange(1 + count, dtype=self._param.dtype, device=self._param.device)
        values = values.view((-1,) + (1,) * len(self._batch_shape))
        return values.expand((-1, *self._batch_shape)) if expand else values

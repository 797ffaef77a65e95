"""Bernoulli's distribution."""

from __future__ import annotations

from numbers import Number
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2.nn.functional import binary_cross_entropy_with_logits

from .._shape import Size
from . import constraints
from ._binary import BinaryParameter
from .exp_family import ExponentialFamily
from .utils import broadcast_all

__all__ = ["Bernoulli"]


def one_parameter(self: Any, probs: Any, logits: Any) -> Size:
    """Sets `probs` or `logits`, whichever was given; returns the batch's shape. ValueError unless exactly one was."""
    if (probs is None) == (logits is None):
        raise ValueError("Either `probs` or `logits` must be specified, but not both.")
    given, name = (probs, "probs") if probs is not None else (logits, "logits")
    (value,) = broadcast_all(given)
    setattr(self, name, value)
    self._param = value
    return Size(()) if isinstance(given, Number) else value.size()


class Bernoulli(BinaryParameter, ExponentialFamily):
    """0 or 1, which has the probability `probs` (log-odds `logits`).

    >>> d = torch.distributions.Bernoulli(torch.tensor(0.5))
    >>> d.mean, d.sample((3,)).shape
    (tensor(0.5000), torch.Size([3]))
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.boolean
    has_enumerate_support = True
    _mean_carrier_measure = 0

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        super().__init__(one_parameter(self, probs, logits), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._expand_parameters(Bernoulli, batch_shape, _instance, "probs", "logits")
        new._param = new.__dict__["probs" if "probs" in new.__dict__ else "logits"]
        return new

    @property
    def mean(self) -> Any:
        return self.probs

    @property
    def mode(self) -> Any:
        mode = (self.probs >= 0.5).to(self.probs)
        mode[self.probs == 0.5] = float("nan")
        return mode

    @property
    def variance(self) -> Any:
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = ()) -> Any:
        with torch.no_grad():
            return torch.bernoulli(self.probs.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Any) -> Any:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        return -binary_cross_entropy_with_logits(logits, value, reduction="none")

    def entropy(self) -> Any:
        return binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")

    def enumerate_support(self, expand: bool = True) -> Any:
        values = torch.arange(2, dtype=self._param.dtype, device=self._param.device)
        values = values.view((-1,) + (1,) * len(self._batch_shape))
        return values.expand((-1, *self._batch_shape)) if expand else values

    @property
    def _natural_params(self) -> tuple[Any, ...]:
        return (torch.logit(self.probs),)

    def _log_normalizer(self, x: Any) -> Any:
        return torch.log1p(torch.exp(x))

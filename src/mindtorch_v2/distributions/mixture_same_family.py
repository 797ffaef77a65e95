"""Mixtures of distributions of one family."""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch

from .._shape import Size
from . import constraints
from .categorical import Categorical
from .distribution import Distribution

__all__ = ["MixtureSameFamily"]


class MixtureSameFamily(Distribution):
    """`component_distribution`, whose last batch dimension is that of the components, drawn from by
    `mixture_distribution`.

    >>> dist = torch.distributions
    >>> d = dist.MixtureSameFamily(dist.Categorical(torch.ones(2)), dist.Normal(torch.tensor([0., 4.]), torch.ones(2)))
    >>> d.mean
    tensor(2.)
    """

    arg_constraints: dict[str, Any] = {}
    has_rsample = False

    def __init__(
        self, mixture_distribution: Any, component_distribution: Any, validate_args: bool | None = None
    ) -> None:
        self._mixture_distribution = mixture_distribution
        self._component_distribution = component_distribution
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(" The Mixture distribution needs to be an  instance of torch.distributions.Categorical")
        if not isinstance(component_distribution, Distribution):
            raise ValueError("The Component distribution need to be an instance of torch.distributions.Distribution")
        batch = self._mixture_distribution.batch_shape
        component_batch = self._component_distribution.batch_shape[:-1]
        for mine, other in zip(reversed(batch), reversed(component_batch)):
            if mine != 1 and other != 1 and mine != other:
                raise ValueError(
                    f"`mixture_distribution.batch_shape` ({batch}) is not compatible with `component_distribution."
                    f"batch_shape`({component_batch})"
                )
        count, component_count = (
            self._mixture_distribution.logits.shape[-1],
            self._component_distribution.batch_shape[-1],
        )
        if count is not None and component_count is not None and count != component_count:
            raise ValueError(
                f"`mixture_distribution component` ({count}) does not equal `component_distribution.batch_shape[-1]` "
                f"({component_count})"
            )
        self._num_component = count
        event_shape = self._component_distribution.event_shape
        self._event_ndims = len(event_shape)
        super().__init__(batch_shape=component_batch, event_shape=event_shape, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        batch_shape = Size(batch_shape)
        new = self._get_checked_instance(MixtureSameFamily, _instance)
        new._component_distribution = self._component_distribution.expand(Size((*batch_shape, self._num_component)))
        new._mixture_distribution = self._mixture_distribution.expand(batch_shape)
        new._num_component = self._num_component
        new._event_ndims = self._event_ndims
        super(MixtureSameFamily, new).__init__(
            batch_shape=batch_shape, event_shape=new._component_distribution.event_shape, validate_args=False
        )
        new._validate_args = self._validate_args
        return new

    @constraints.dependent_property
    def support(self) -> Any:  # type: ignore[override]
        return constraints.MixtureSameFamilyConstraint(self._component_distribution.support)

    @property
    def mixture_distribution(self) -> Any:
        return self._mixture_distribution

    @property
    def component_distribution(self) -> Any:
        return self._component_distribution

    @property
    def mean(self) -> Any:
        probs = self._pad_mixture_dimensions(self.mixture_distribution.probs)
        return torch.sum(probs * self.component_distribution.mean, dim=-1 - self._event_ndims)

    @property
    def variance(self) -> Any:
        """The mean of the components' variances and the variance of their means."""
        probs = self._pad_mixture_dimensions(self.mixture_distribution.probs)
        inside = torch.sum(probs * self.component_distribution.variance, dim=-1 - self._event_ndims)
        away = self.component_distribution.mean - self._pad(self.mean)
        return inside + torch.sum(probs * away.pow(2.0), dim=-1 - self._event_ndims)

    def cdf(self, x: Any) -> Any:
        x = self._pad(x)
        return torch.sum(self.component_distribution.cdf(x) * self.mixture_distribution.probs, dim=-1)

    def log_prob(self, x: Any) -> Any:
        if self._validate_args:
            self._validate_sample(x)
        x = self._pad(x)
        weights = torch.log_softmax(self.mixture_distribution.logits, dim=-1)
        return torch.logsumexp(self.component_distribution.log_prob(x) + weights, dim=-1)

    def sample(self, sample_shape: Any = ()) -> Any:
        with torch.no_grad():
            sample_shape = Size(sample_shape)
            dim = len(sample_shape) + len(self.batch_shape)
            chosen = self.mixture_distribution.sample(sample_shape)
            drawn = self.component_distribution.sample(sample_shape)
            events = tuple(self.event_shape)
            index = chosen.reshape(tuple(chosen.shape) + (1,) * (len(events) + 1)).repeat(
                (1,) * len(chosen.shape) + (1,) + events
            )
            return torch.gather(drawn, dim, index).squeeze(dim)

    def _pad(self, x: Any) -> Any:
        return x.unsqueeze(-1 - self._event_ndims)

    def _pad_mixture_dimensions(self, x: Any) -> Any:
        more = len(self.batch_shape) - len(self.mixture_distribution.batch_shape)
        shape = tuple(x.shape)
        return x.reshape(shape[:-1] + more * (1,) + shape[-1:] + self._event_ndims * (1,))

    def __repr__(self) -> str:
        return f"MixtureSameFamily(\n  {self.mixture_distribution},\n  {self.component_distribution})"

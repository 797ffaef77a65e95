"""Exponential families: p(x) = exp(<t(x), theta> - F(theta) + k(x))."""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch

from .distribution import Distribution

__all__ = ["ExponentialFamily"]


class ExponentialFamily(Distribution):
    """Distributions with natural parameters theta and a log normaliser F, whose entropy and divergences follow from
    F's gradient.

    >>> torch.distributions.Normal(0., 1.).entropy()
    tensor(1.4189)
    """

    @property
    def _natural_params(self) -> tuple[Any, ...]:
        raise NotImplementedError

    def _log_normalizer(self, *natural_params: Any) -> Any:
        raise NotImplementedError

    @property
    def _mean_carrier_measure(self) -> Any:
        raise NotImplementedError

    def entropy(self) -> Any:
        """F(theta) - <theta, grad F(theta)> - E[k(x)]."""
        params = [p.detach().requires_grad_() for p in self._natural_params]
        normalizer = self._log_normalizer(*params)
        gradients = torch.autograd.grad(normalizer.sum(), params, create_graph=True)
        result = normalizer - self._mean_carrier_measure
        for p, g in zip(params, gradients):
            result = result - (p * g).reshape(tuple(self._batch_shape) + (-1,)).sum(-1)
        return result

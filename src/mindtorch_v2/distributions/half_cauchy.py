"""The half-Cauchy distribution."""

from __future__ import annotations

import math
from typing import Any

import mindtorch_v2 as torch

from ._half import HalfDistribution
from .cauchy import Cauchy

__all__ = ["HalfCauchy"]


class HalfCauchy(HalfDistribution):
    """|x| of a Cauchy number of width `scale`.

    >>> d = torch.distributions.HalfCauchy(torch.tensor(1.))
    >>> d.mean, d.sample((3,)).shape
    (tensor(inf), torch.Size([3]))
    """

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        super().__init__(Cauchy(0, scale, validate_args=False), validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return super().expand(batch_shape, _instance=self._get_checked_instance(HalfCauchy, _instance))

    @property
    def mean(self) -> Any:
        return torch.full(self._extended_shape(), math.inf, dtype=self.scale.dtype, device=self.scale.device)

    @property
    def variance(self) -> Any:
        return self.base_dist.variance

    def log_prob(self, value: Any) -> Any:
        return super().log_prob(torch.as_tensor(value, dtype=self.scale.dtype, device=self.scale.device))

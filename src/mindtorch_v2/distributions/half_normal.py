"""The half-normal distribution."""

from __future__ import annotations

import math
from typing import Any

from ._half import HalfDistribution
from .normal import Normal

__all__ = ["HalfNormal"]


class HalfNormal(HalfDistribution):
    """|x| of a normal number of mean 0 and standard deviation `scale`.

    >>> d = torch.distributions.HalfNormal(torch.tensor(1.))
    >>> d.mean, d.sample((3,)).shape
    (tensor(0.7979), torch.Size([3]))
    """

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        super().__init__(Normal(0, scale, validate_args=False), validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return super().expand(batch_shape, _instance=self._get_checked_instance(HalfNormal, _instance))

    @property
    def mean(self) -> Any:
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def variance(self) -> Any:
        return self.scale.pow(2) * (1 - 2 / math.pi)

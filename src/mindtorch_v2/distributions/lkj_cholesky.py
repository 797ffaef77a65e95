"""The distribution of Lewandowski, Kurowicka and Joe on Cholesky factors of correlation matrices."""

from __future__ import annotations

import math
from typing import Any

import mindtorch_v2 as torch

from .._shape import Size
from . import constraints
from .beta import Beta
from .distribution import Distribution
from .utils import broadcast_all

__all__ = ["LKJCholesky"]


class LKJCholesky(Distribution):
    """Lower Cholesky factors [dim, dim] of correlation matrices R of density proportional to det(R)^(concentration -
    1).

    Samples are made row by row ("onion" method): a beta number says how long the part of a row before its diagonal
    is, a uniform direction says where it points.

    >>> d = torch.distributions.LKJCholesky(3)
    >>> d.sample((3,)).shape
    torch.Size([3, 3, 3])
    """

    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky

    def __init__(self, dim: int, concentration: Any = 1.0, validate_args: bool | None = None) -> None:
        if dim < 2:
            raise ValueError(f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}.")
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        marginal = self.concentration + 0.5 * (self.dim - 2)
        offset = torch.arange(self.dim - 1, dtype=self.concentration.dtype, device=self.concentration.device)
        offset = torch.cat([offset.new_zeros((1,)), offset])
        self._beta = Beta(offset + 0.5, marginal.unsqueeze(-1) - 0.5 * offset)
        super().__init__(self.concentration.size(), Size((self.dim, self.dim)), validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(LKJCholesky, _instance)
        batch_shape = Size(batch_shape)
        new.dim = self.dim
        new.concentration = self.concentration.expand(batch_shape)
        new._beta = self._beta.expand((*batch_shape, self.dim))
        super(LKJCholesky, new).__init__(batch_shape, self.event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    def sample(self, sample_shape: Any = ()) -> Any:
        lengths = self._beta.sample(sample_shape).unsqueeze(-1)
        normals = torch.randn(self._extended_shape(sample_shape), dtype=lengths.dtype, device=lengths.device).tril(-1)
        directions = normals / normals.norm(dim=-1, keepdim=True)
        directions[..., 0, :].fill_(0.0)
        w = torch.sqrt(lengths) * directions
        eps = torch.finfo(w.dtype).tiny
        diagonal = torch.clamp(1 - torch.sum(w**2, dim=-1), min=eps).sqrt()
        return w + torch.diag_embed(diagonal)

    def log_prob(self, value: Any) -> Any:
        if self._validate_args:
            self._validate_sample(value)
        diagonal = value.diagonal(dim1=-1, dim2=-2)[..., 1:]
        order = torch.arange(2, self.dim + 1, device=self.concentration.device)
        order = 2 * (self.concentration - 1).unsqueeze(-1) + self.dim - order
        density = torch.sum(order * diagonal.log(), dim=-1)
        rest = self.dim - 1
        alpha = self.concentration + 0.5 * rest
        normalizer = 0.5 * rest * math.log(math.pi) + torch.mvlgamma(alpha - 0.5, rest) - torch.lgamma(alpha) * rest
        return density - normalizer

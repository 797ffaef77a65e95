"""Transforms of vectors and matrices, and of parts of a tensor."""

from __future__ import annotations

import math
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2.nn.functional import pad, softplus

from . import constraints
from ._transform import Transform
from ._transforms_of_numbers import _Same
from .utils import _sum_rightmost, lazy_property, tril_matrix_to_vec, vec_to_tril_matrix


class CorrCholeskyTransform(Transform):
    """Vectors of n (n - 1) / 2 numbers as Cholesky factors of correlation matrices [n, n].

    tanh of each number is a partial correlation; what it leaves of a row's unit length is passed on along the row.

    >>> torch.distributions.CorrCholeskyTransform()(torch.zeros(3))
    tensor([[1., 0., 0.],
            [0., 1., 0.],
            [0., 0., 1.]])
    """

    domain = constraints.real_vector
    codomain = constraints.corr_cholesky
    bijective = True

    def _call(self, x: Any) -> Any:
        eps = torch.finfo(x.dtype).eps
        r = vec_to_tril_matrix(torch.tanh(x).clamp(min=-1 + eps, max=1 - eps), diag=-1)
        left = (1 - r**2).sqrt().cumprod(-1)
        r = r + torch.eye(r.shape[-1], dtype=r.dtype, device=r.device)
        return r * pad(left[..., :-1], [1, 0], value=1)

    def _inverse(self, y: Any) -> Any:
        left = 1 - torch.cumsum(y * y, dim=-1)
        partial = (
            tril_matrix_to_vec(y, diag=-1) / tril_matrix_to_vec(pad(left[..., :-1], [1, 0], value=1), diag=-1).sqrt()
        )
        return (partial.log1p() - (-partial).log1p()) / 2

    def log_abs_det_jacobian(self, x: Any, y: Any, intermediates: Any = None) -> Any:
        left = 1 - (y * y).cumsum(dim=-1)
        triangle = 0.5 * tril_matrix_to_vec(left, diag=-2).log().sum(-1)
        return triangle - 2 * (x + softplus(-2 * x) - math.log(2.0)).sum(dim=-1)

    def forward_shape(self, shape: Any) -> Any:
        if len(shape) < 1:
            raise ValueError("Too few dimensions on input")
        n = round((0.25 + 2 * shape[-1]) ** 0.5 + 0.5)
        if n * (n - 1) // 2 != shape[-1]:
            raise ValueError("Input is not a flattened lower-diagonal number")
        return tuple(shape[:-1]) + (n, n)

    def inverse_shape(self, shape: Any) -> Any:
        if len(shape) < 2:
            raise ValueError("Too few dimensions on input")
        if shape[-2] != shape[-1]:
            raise ValueError("Input is not square")
        return tuple(shape[:-2]) + (shape[-1] * (shape[-1] - 1) // 2,)


class SoftmaxTransform(_Same):
    """exp(x), divided by its sum: many x give one y.

    >>> torch.distributions.SoftmaxTransform()(torch.zeros(2))
    tensor([0.5000, 0.5000])
    """

    domain = constraints.real_vector
    codomain = constraints.simplex

    def _call(self, x: Any) -> Any:
        raised = (x - x.max(-1, True)[0]).exp()
        return raised / raised.sum(-1, True)

    def _inverse(self, y: Any) -> Any:
        return y.log()

    def forward_shape(self, shape: Any) -> Any:
        if len(shape) < 1:
            raise ValueError("Too few dimensions on input")
        return shape

    inverse_shape = forward_shape


class StickBreakingTransform(_Same):
    """n numbers as a point of the simplex of n + 1 parts: each takes its share of what is left of the stick.

    >>> torch.distributions.StickBreakingTransform()(torch.zeros(1))
    tensor([0.5000, 0.5000])
    """

    domain = constraints.real_vector
    codomain = constraints.simplex
    bijective = True

    def _offset(self, size: int, like: Any) -> Any:
        return (like.new_ones(size).cumsum(-1).flip(-1)).log()

    def _call(self, x: Any) -> Any:
        share = torch.sigmoid(x - self._offset(x.shape[-1], x))
        return pad(share, [0, 1], value=1) * pad((1 - share).cumprod(-1), [1, 0], value=1)

    def _inverse(self, y: Any) -> Any:
        cut = y[..., :-1]
        left = torch.clamp(1 - cut.cumsum(-1), min=torch.finfo(y.dtype).tiny)
        return cut.log() - left.log() + self._offset(cut.shape[-1], y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        x = x - self._offset(x.shape[-1], x)
        return (-x + torch.nn.functional.logsigmoid(x) + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape: Any) -> Any:
        if len(shape) < 1:
            raise ValueError("Too few dimensions on input")
        return tuple(shape[:-1]) + (shape[-1] + 1,)

    def inverse_shape(self, shape: Any) -> Any:
        if len(shape) < 1:
            raise ValueError("Too few dimensions on input")
        return tuple(shape[:-1]) + (shape[-1] - 1,)


class LowerCholeskyTransform(_Same):
    """Square matrices as lower triangular ones with a positive diagonal: exp of the diagonal, nothing above it.

    >>> torch.distributions.LowerCholeskyTransform()(torch.zeros(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky

    def _call(self, x: Any) -> Any:
        return x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed()

    def _inverse(self, y: Any) -> Any:
        return y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed()


class PositiveDefiniteTransform(_Same):
    """Square matrices as positive definite ones, through their Cholesky factors.

    >>> torch.distributions.PositiveDefiniteTransform()(torch.zeros(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite

    def _call(self, x: Any) -> Any:
        factor = LowerCholeskyTransform()(x)
        return factor @ factor.mT

    def _inverse(self, y: Any) -> Any:
        return LowerCholeskyTransform().inv(torch.linalg.cholesky(y))


class _Pieces(Transform):
    """Maps of the parts of a dimension."""

    def __init__(self, tseq: Any, dim: int, cache_size: int) -> None:
        assert all(isinstance(t, Transform) for t in tseq)
        super().__init__(cache_size=cache_size)
        self.transforms = [t.with_cache(cache_size) for t in tseq] if cache_size else list(tseq)
        self.dim = dim

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        return all(t.bijective for t in self.transforms)

    def _parts(self, x: Any) -> list[Any]:
        raise NotImplementedError

    def _join(self, parts: list[Any]) -> Any:
        raise NotImplementedError

    def _call(self, x: Any) -> Any:
        return self._join([t(part) for t, part in zip(self.transforms, self._parts(x))])

    def _inverse(self, y: Any) -> Any:
        return self._join([t.inv(part) for t, part in zip(self.transforms, self._parts(y))])


class CatTransform(_Pieces):
    """Maps of parts of the given lengths along a dimension.

    >>> dist = torch.distributions
    >>> transform = dist.CatTransform([dist.ExpTransform(), dist.AbsTransform()], dim=0)
    >>> transform(torch.tensor([0., -1.]))
    tensor([1., 1.])
    """

    def __init__(self, tseq: Any, dim: int = 0, lengths: Any = None, cache_size: int = 0) -> None:
        super().__init__(tseq, dim, cache_size)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        assert len(self.lengths) == len(self.transforms)

    @lazy_property
    def event_dim(self) -> int:  # type: ignore[override]
        return max(t.event_dim for t in self.transforms)

    @lazy_property
    def length(self) -> int:
        return sum(self.lengths)

    def with_cache(self, cache_size: int = 1) -> Any:
        return (
            self
            if self._cache_size == cache_size
            else CatTransform(self.transforms, self.dim, self.lengths, cache_size)
        )

    def _parts(self, x: Any) -> list[Any]:
        assert -x.dim() <= self.dim < x.dim()
        assert x.size(self.dim) == self.length
        return list(torch.split(x, self.lengths, self.dim))

    def _join(self, parts: list[Any]) -> Any:
        return torch.cat(parts, dim=self.dim)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        found = []
        for t, xs, ys in zip(self.transforms, self._parts(x), self._parts(y)):
            part = t.log_abs_det_jacobian(xs, ys)
            found.append(_sum_rightmost(part, self.event_dim - t.event_dim) if t.event_dim < self.event_dim else part)
        dim = self.dim if self.dim < 0 else self.dim - x.dim()
        dim = dim + self.event_dim
        if dim < 0:
            return torch.cat(found, dim=dim)
        total = found[0]
        for part in found[1:]:
            total = total + part
        return total

    @constraints.dependent_property
    def domain(self) -> Any:  # type: ignore[override]
        return constraints.cat([t.domain for t in self.transforms], self.dim, self.lengths)

    @constraints.dependent_property
    def codomain(self) -> Any:  # type: ignore[override]
        return constraints.cat([t.codomain for t in self.transforms], self.dim, self.lengths)


class StackTransform(_Pieces):
    """Maps of the slices of a dimension.

    >>> dist = torch.distributions
    >>> transform = dist.StackTransform([dist.ExpTransform(), dist.AbsTransform()], dim=0)
    >>> transform(torch.tensor([0., -1.]))
    tensor([1., 1.])
    """

    def __init__(self, tseq: Any, dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(tseq, dim, cache_size)

    def with_cache(self, cache_size: int = 1) -> Any:
        return self if self._cache_size == cache_size else StackTransform(self.transforms, self.dim, cache_size)

    def _parts(self, x: Any) -> list[Any]:
        assert -x.dim() <= self.dim < x.dim()
        assert x.size(self.dim) == len(self.transforms)
        return [x.select(self.dim, i) for i in range(x.size(self.dim))]

    def _join(self, parts: list[Any]) -> Any:
        return torch.stack(parts, dim=self.dim)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        pairs = zip(self.transforms, self._parts(x), self._parts(y))
        return torch.stack([t.log_abs_det_jacobian(xs, ys) for t, xs, ys in pairs], dim=self.dim)

    @constraints.dependent_property
    def domain(self) -> Any:  # type: ignore[override]
        return constraints.stack([t.domain for t in self.transforms], self.dim)

    @constraints.dependent_property
    def codomain(self) -> Any:  # type: ignore[override]
        return constraints.stack([t.codomain for t in self.transforms], self.dim)


class CumulativeDistributionTransform(Transform):
    """y = the cumulative distribution function of x.

    >>> torch.distributions.CumulativeDistributionTransform(torch.distributions.Normal(0., 1.))(torch.tensor([0.]))
    tensor([0.5000])
    """

    bijective = True
    codomain = constraints.unit_interval
    sign = +1

    def __init__(self, distribution: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.distribution = distribution

    @property
    def domain(self) -> Any:  # type: ignore[override]
        return self.distribution.support

    def _call(self, x: Any) -> Any:
        return self.distribution.cdf(x)

    def _inverse(self, y: Any) -> Any:
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return self.distribution.log_prob(x)

    def with_cache(self, cache_size: int = 1) -> Any:
        return (
            self
            if self._cache_size == cache_size
            else CumulativeDistributionTransform(self.distribution, cache_size=cache_size)
        )

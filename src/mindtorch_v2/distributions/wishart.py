"""Wishart's distribution."""

from __future__ import annotations

import math
import warnings
from numbers import Number
from typing import Any

import mindtorch_v2 as torch

from .._shape import Size
from . import constraints
from .exp_family import ExponentialFamily
from .multivariate_normal import _precision_to_scale_tril
from .utils import lazy_property

__all__ = ["Wishart"]


def _mvdigamma(x: Any, p: int) -> Any:
    """The derivative of the multivariate log-gamma function."""
    steps = torch.arange(p, dtype=x.dtype, device=x.device).div(2)
    return torch.digamma(x.unsqueeze(-1) - steps.expand((*x.shape, -1))).sum(-1)


def _clamp_above_eps(x: Any) -> Any:
    return x.clamp(min=torch.finfo(x.dtype).eps)


class Wishart(ExponentialFamily):
    """Covariances (sums of squares) of `df` normal vectors; the scale matrix [..., n, n] is given as such, as its
    inverse or factor.

    >>> d = torch.distributions.Wishart(torch.tensor(3.), torch.eye(2))
    >>> d.mean, d.sample((3,)).shape
    (tensor([[3., 0.],
            [0., 3.]]), torch.Size([3, 2, 2]))
    """

    support = constraints.positive_definite
    has_rsample = True
    _mean_carrier_measure = 0

    @property
    def arg_constraints(self) -> dict[str, Any]:  # type: ignore[override]
        return {
            "covariance_matrix": constraints.positive_definite,
            "precision_matrix": constraints.positive_definite,
            "scale_tril": constraints.lower_cholesky,
            "df": constraints.greater_than(self.event_shape[-1] - 1),
        }

    def __init__(
        self,
        df: Any,
        covariance_matrix: Any = None,
        precision_matrix: Any = None,
        scale_tril: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        given = {"covariance_matrix": covariance_matrix, "precision_matrix": precision_matrix, "scale_tril": scale_tril}
        if sum(m is not None for m in given.values()) != 1:
            raise AssertionError("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
        name, matrix = next((k, m) for k, m in given.items() if m is not None)
        if matrix.dim() < 2:
            raise ValueError("scale_tril must be at least two-dimensional, with optional leading batch dimensions")
        batch = Size(()) if isinstance(df, Number) else Size(df.shape)
        batch = torch.broadcast_shapes(tuple(matrix.shape[:-2]), tuple(batch))
        event_shape = Size(matrix.shape[-2:])
        self.df = (
            torch.tensor(df, dtype=matrix.dtype, device=matrix.device).expand(batch)
            if isinstance(df, Number)
            else df.expand(batch)
        )
        if self.df.le(event_shape[-1] - 1).any():
            raise ValueError(f"Value of df={df} expected to be greater than ndim - 1 = {event_shape[-1] - 1}.")
        setattr(self, name, matrix.expand((*batch, -1, -1)))
        if covariance_matrix is not None:
            self._unbroadcasted_scale_tril = torch.linalg.cholesky(covariance_matrix)
        elif scale_tril is not None:
            self._unbroadcasted_scale_tril = scale_tril
        else:
            self._unbroadcasted_scale_tril = _precision_to_scale_tril(precision_matrix)
        self._batch_dims = [-(x + 1) for x in range(len(batch))]
        super().__init__(batch, event_shape, validate_args=validate_args)
        if self.df.lt(event_shape[-1]).any():
            warnings.warn(
                "Low df values detected. Singular samples are highly likely to occur for ndim - 1 < df < ndim.",
                stacklevel=2,
            )
        degrees = self.df.unsqueeze(-1) - torch.arange(
            self._event_shape[-1], dtype=self.df.dtype, device=self.df.device
        ).expand((*batch, -1))
        self._dist_chi2 = torch.distributions.chi2.Chi2(df=degrees)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(Wishart, _instance)
        batch_shape = Size(batch_shape)
        matrix = (*batch_shape, *self.event_shape)
        new._unbroadcasted_scale_tril = self._unbroadcasted_scale_tril.expand(matrix)
        new.df = self.df.expand(batch_shape)
        new._batch_dims = [-(x + 1) for x in range(len(batch_shape))]
        for name in ("covariance_matrix", "scale_tril", "precision_matrix"):
            if name in self.__dict__:
                new.__dict__[name] = self.__dict__[name].expand(matrix)
        new._dist_chi2 = self._dist_chi2.expand((*batch_shape, self.event_shape[-1]))
        super(Wishart, new).__init__(batch_shape, self.event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    def _whole(self, matrix: Any) -> Any:
        return matrix.expand((*self._batch_shape, *self._event_shape))

    @lazy_property
    def scale_tril(self) -> Any:
        return self._whole(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Any:
        return self._whole(self._unbroadcasted_scale_tril @ self._unbroadcasted_scale_tril.mT)

    @lazy_property
    def precision_matrix(self) -> Any:
        identity = torch.eye(self._event_shape[-1], dtype=self._unbroadcasted_scale_tril.dtype, device=self.df.device)
        return self._whole(torch.cholesky_solve(identity, self._unbroadcasted_scale_tril))

    @property
    def mean(self) -> Any:
        return self.df.view((*self._batch_shape, 1, 1)) * self.covariance_matrix

    @property
    def mode(self) -> Any:
        factor = self.df - self.covariance_matrix.shape[-1] - 1
        factor = torch.where(factor <= 0, torch.nan, factor)
        return factor.view((*self._batch_shape, 1, 1)) * self.covariance_matrix

    @property
    def variance(self) -> Any:
        V = self.covariance_matrix
        diagonal = V.diagonal(dim1=-2, dim2=-1)
        outer = diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2)
        return self.df.view((*self._batch_shape, 1, 1)) * (V.pow(2) + outer)

    def _bartlett_sampling(self, sample_shape: Any = ()) -> Any:
        """Bartlett's decomposition: chi numbers on the diagonal, normal ones below it."""
        p = self._event_shape[-1]
        diagonal = _clamp_above_eps(self._dist_chi2.rsample(sample_shape).sqrt()).diag_embed(dim1=-2, dim2=-1)
        i, j = torch.tril_indices(p, p, offset=-1)
        diagonal[..., i, j] = torch.randn(
            (*sample_shape, *self._batch_shape, p * (p - 1) // 2), dtype=diagonal.dtype, device=diagonal.device
        )
        chol = self._unbroadcasted_scale_tril @ diagonal
        return chol @ chol.mT

    def _of_samples(self, flags: Any) -> Any:
        """Whether any matrix of a sample's batch is flagged."""
        return flags.amax(self._batch_dims) if self._batch_shape else flags

    def rsample(self, sample_shape: Any = (), max_try_correction: int | None = None) -> Any:
        """Samples; singular ones, which rounding can cause, are drawn again up to `max_try_correction` times.

        As in PyTorch, the first correction draws the regular samples anew, so that the numbers are the same.
        """
        sample = self._bartlett_sampling(Size(sample_shape))
        again = self._of_samples(self.support.check(sample))
        for _ in range(3 if max_try_correction is None else max_try_correction):
            if not again.any():
                break
            fresh = self._bartlett_sampling(again[again].shape)
            sample[again] = fresh
            again[again.clone()] = self._of_samples(~self.support.check(fresh))
        return sample

    def log_prob(self, value: Any) -> Any:
        if self._validate_args:
            self._validate_sample(value)
        nu, p = self.df, self._event_shape[-1]
        log_det = self._unbroadcasted_scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)
        solved = torch.cholesky_solve(value, self._unbroadcasted_scale_tril).diagonal(dim1=-2, dim2=-1).sum(dim=-1)
        return (
            -nu * (p * math.log(2) / 2 + log_det)
            - torch.mvlgamma(nu / 2, p=p)
            + (nu - p - 1) / 2 * torch.linalg.slogdet(value).logabsdet
            - solved / 2
        )

    def entropy(self) -> Any:
        nu, p = self.df, self._event_shape[-1]
        log_det = self._unbroadcasted_scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)
        return (
            (p + 1) * (p * math.log(2) / 2 + log_det)
            + torch.mvlgamma(nu / 2, p=p)
            - (nu - p - 1) / 2 * _mvdigamma(nu / 2, p=p)
            + nu * p / 2
        )

    @property
    def _natural_params(self) -> tuple[Any, ...]:
        nu, p = self.df, self._event_shape[-1]
        return -self.precision_matrix / 2, (nu - p - 1) / 2

    def _log_normalizer(self, x: Any, y: Any) -> Any:
        p = self._event_shape[-1]
        half = y + (p + 1) / 2
        return half * (-torch.linalg.slogdet(-2 * x).logabsdet + math.log(2) * p) + torch.mvlgamma(half, p=p)

"""Von Mises' distribution on a circle."""

from __future__ import annotations

import math
from typing import Any

import mindtorch_v2 as torch

from .._shape import Size
from . import constraints
from .distribution import Distribution
from .utils import broadcast_all, lazy_property

__all__ = ["VonMises"]


def _log_bessel(x: Any, order: int) -> Any:
    """The logarithm of the modified Bessel function of order 0 or 1, for x >= 0."""
    return x + torch.log(torch.special.i0e(x) if order == 0 else torch.special.i1e(x))


class VonMises(Distribution):
    """Angles near `loc`; `concentration` is like the reciprocal of a variance.

    >>> d = torch.distributions.VonMises(torch.tensor(0.), torch.tensor(1.))
    >>> d.mean, d.sample((3,)).shape
    (tensor(0.), torch.Size([3]))
    """

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real
    has_rsample = False

    def __init__(self, loc: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.loc, self.concentration = broadcast_all(loc, concentration)
        super().__init__(self.loc.shape, Size(()), validate_args)

    def log_prob(self, value: Any) -> Any:
        if self._validate_args:
            self._validate_sample(value)
        return (
            self.concentration * torch.cos(value - self.loc)
            - math.log(2 * math.pi)
            - _log_bessel(self.concentration, 0)
        )

    @lazy_property
    def _loc(self) -> Any:
        return self.loc.to(torch.double)

    @lazy_property
    def _concentration(self) -> Any:
        return self.concentration.to(torch.double)

    @lazy_property
    def _proposal_r(self) -> Any:
        """The parameter of the wrapped Cauchy distribution that proposals come from (Best and Fisher, 1979)."""
        kappa = self._concentration
        tau = 1 + (1 + 4 * kappa**2).sqrt()
        rho = (tau - (2 * tau).sqrt()) / (2 * kappa)
        r = (1 + rho**2) / (2 * rho)
        return torch.where(kappa < 1e-5, 1 / kappa + kappa, r)

    def sample(self, sample_shape: Any = ()) -> Any:
        with torch.no_grad():
            shape = self._extended_shape(sample_shape)
            r, kappa = self._proposal_r.expand(shape), self._concentration.expand(shape)
            x = torch.empty(shape, dtype=self._loc.dtype, device=self.loc.device)
            done = torch.zeros(shape, dtype=torch.bool, device=self.loc.device)
            while not done.all():
                u1, u2, u3 = torch.rand((3, *shape), dtype=r.dtype, device=r.device).unbind()
                z = torch.cos(math.pi * u1)
                f = (1 + r * z) / (r + z)
                c = kappa * (r - f)
                accept = ((c * (2 - c) - u2) > 0) | ((c / u2).log() + 1 - c >= 0)
                if accept.any():
                    x = torch.where(accept, (u3 - 0.5).sign() * f.acos(), x)
                    done = done | accept
            return ((x + math.pi + self._loc) % (2 * math.pi) - math.pi).to(self.loc.dtype)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        try:
            return super().expand(batch_shape)
        except NotImplementedError:
            return type(self)(
                self.loc.expand(batch_shape), self.concentration.expand(batch_shape), validate_args=self._validate_args
            )

    @property
    def mean(self) -> Any:
        return self.loc

    @property
    def mode(self) -> Any:
        return self.loc

    @lazy_property
    def variance(self) -> Any:  # type: ignore[override]
        """The circular variance."""
        return 1 - (_log_bessel(self.concentration, 1) - _log_bessel(self.concentration, 0)).exp()

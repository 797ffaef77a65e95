"""Gradients of draws: moving a parameter and the draw along its gradient stays at the same quantile."""

from __future__ import annotations

import numpy as np

import mindtorch_v2 as torch


def _log_uniform(low: float, high: float, seed: int) -> np.ndarray:
    return np.exp(np.random.default_rng(seed).uniform(np.log(low), np.log(high), 400))


def test_gamma_draws_move_along_their_quantile():
    a = _log_uniform(0.05, 3000, 0)
    x = np.random.default_rng(1).gamma(a) + 1e-12
    slope = torch._standard_gamma_grad(torch.from_numpy(a), torch.from_numpy(x)).numpy()
    step = 1e-4 * np.minimum(a, 1)
    for upper in (False, True):  # the smaller of the two tails keeps its digits
        function = torch.igammac if upper else torch.igamma
        before, after = (
            function(torch.from_numpy(a + s * step), torch.from_numpy(x + s * step * slope)).numpy() for s in (-1, 1)
        )
        chosen = (before < 0.5) & (x + step * slope > 0) & (x - step * slope > 0) & (before > 1e-200)
        assert chosen.sum() > 100
        np.testing.assert_allclose(after[chosen], before[chosen], rtol=2e-5)


def test_beta_draws_move_along_their_quantile():
    """The probability of x ~ Beta(a, b) being below is integrated by Gauss and Legendre."""
    a, b = _log_uniform(1, 40, 2), _log_uniform(1, 40, 3)
    x = np.clip(np.random.default_rng(4).beta(a, b), 0.02, 0.98)
    slope = torch._dirichlet_grad(*map(torch.from_numpy, (x, a, a + b))).numpy() * (1 - x)
    nodes, weights = np.polynomial.legendre.leggauss(200)

    def below(a: np.ndarray, x: np.ndarray) -> np.ndarray:
        def part(upper: np.ndarray) -> np.ndarray:
            t = (nodes[:, None] + 1) / 2 * upper
            return weights @ (np.power(t, a - 1) * np.power(1 - t, b - 1)) * upper / 2

        return part(x) / part(np.ones_like(x))

    step = 1e-4
    np.testing.assert_allclose(
        below(a + step, x + step * slope), below(a - step, x - step * slope), rtol=1e-5, atol=1e-9
    )


def test_draws_leave_the_generator_where_single_draws_would():
    rate = torch.linspace(0.5, 40, 300)
    torch.manual_seed(5)
    together = torch.poisson(rate)
    after = torch.rand(3)
    torch.manual_seed(5)
    assert [torch.poisson(r).item() for r in rate] == together.tolist()
    assert torch.rand(3).tolist() == after.tolist()


def test_caches_and_expansions_of_distributions_keep_gradients():
    scale = torch.tensor([1.0, 2.0], requires_grad=True)
    d = torch.distributions.TransformedDistribution(
        torch.distributions.Normal(0.0, scale), [torch.distributions.ExpTransform(cache_size=1)]
    )
    d.expand((3, 2)).rsample().sum().backward()
    assert scale.grad.abs().sum() > 0

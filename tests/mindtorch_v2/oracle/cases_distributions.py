"""Oracle cases: distributions, their transforms and divergences. Samples are compared number by number."""

from __future__ import annotations

from . import divergence_cases
from .harness import Case, In

CASES: list[Case] = []
F64 = "float64"


def case(id: str, code: str, **kwargs: object) -> None:
    CASES.append(Case(id, code, **kwargs))  # type: ignore[arg-type]


def pos(*shape: int, low: float = 0.5, high: float = 3.0, dtype: str = F64) -> In:
    return In(shape, dtype, low, high)


def real(*shape: int, dtype: str = F64) -> In:
    return In(shape, dtype)


MATRIX = "(b @ b.mT + 2 * torch.eye(3, dtype=torch.float64))"
FACTOR = f"torch.linalg.cholesky({MATRIX})"
# name -> (how to make it from a, b, what its values are, inputs, gradients through samples, facts it knows)
#   drawn: whether PyTorch's numbers are the same on every processor (see _backends/cpu/generator.py)
ALL = {
    "Bernoulli": (
        "torch.distributions.Bernoulli(probs=a)",
        {"a": pos(2, 3, low=0.1, high=0.9)},
        "mean mode variance entropy",
    ),
    "BernoulliLogits": ("torch.distributions.Bernoulli(logits=a)", {"a": real(2, 3)}, "mean mode variance entropy"),
    "Beta": ("torch.distributions.Beta(a, b)", {"a": pos(2, 3), "b": pos(3)}, "mean mode variance entropy"),
    "Binomial": (
        "torch.distributions.Binomial(7, probs=a)",
        {"a": pos(2, 3, low=0.1, high=0.9)},
        "mean mode variance entropy",
    ),
    "BinomialMany": ("torch.distributions.Binomial(90, logits=a)", {"a": real(4)}, "mean mode variance"),
    "Categorical": ("torch.distributions.Categorical(probs=a)", {"a": pos(2, 4)}, "mode entropy"),
    "CategoricalLogits": ("torch.distributions.Categorical(logits=a)", {"a": real(2, 4)}, "mode entropy"),
    "Cauchy": (
        "torch.distributions.Cauchy(a, b)",
        {"a": real(2, 3), "b": pos(3)},
        "mean mode variance entropy cdf icdf",
    ),
    "Chi2": ("torch.distributions.Chi2(a)", {"a": pos(2, 3)}, "mean mode variance entropy cdf"),
    "ContinuousBernoulli": (
        "torch.distributions.ContinuousBernoulli(a)",
        {"a": pos(2, 3, low=0.1, high=0.9)},
        "mean variance entropy cdf icdf",
    ),
    "Dirichlet": ("torch.distributions.Dirichlet(a)", {"a": pos(2, 4)}, "mean mode variance entropy"),
    "Exponential": ("torch.distributions.Exponential(a)", {"a": pos(2, 3)}, "mean mode variance entropy cdf icdf"),
    "FisherSnedecor": (
        "torch.distributions.FisherSnedecor(a, b)",
        {"a": pos(2, 3, low=3), "b": pos(3, low=5, high=8)},
        "mean mode variance",
    ),
    "Gamma": ("torch.distributions.Gamma(a, b)", {"a": pos(2, 3), "b": pos(3)}, "mean mode variance entropy cdf"),
    # in double precision PyTorch compares types
    "GeneralizedPareto": (
        "torch.distributions.GeneralizedPareto(a, b, 0.2)",
        {"a": real(2, 3, dtype="float32"), "b": pos(3, dtype="float32")},
        "mean variance entropy cdf icdf",
    ),
    "Geometric": (
        "torch.distributions.Geometric(a)",
        {"a": pos(2, 3, low=0.1, high=0.9)},
        "mean mode variance entropy",
    ),
    "Gumbel": (
        "torch.distributions.Gumbel(a, b)",
        {"a": real(2, 3), "b": pos(3)},
        "mean mode variance entropy cdf icdf",
    ),
    "HalfCauchy": ("torch.distributions.HalfCauchy(a)", {"a": pos(2, 3)}, "mode entropy cdf icdf"),
    "HalfNormal": ("torch.distributions.HalfNormal(a)", {"a": pos(2, 3)}, "mean mode variance entropy cdf icdf"),
    "Independent": (
        "torch.distributions.Independent(torch.distributions.Normal(a, b), 1)",
        {"a": real(2, 3), "b": pos(3)},
        "mean mode variance entropy",
    ),
    "InverseGamma": (
        "torch.distributions.InverseGamma(a, b)",
        {"a": pos(2, 3), "b": pos(3)},
        "mean mode variance entropy",
    ),
    "Kumaraswamy": (
        "torch.distributions.Kumaraswamy(a, b)",
        {"a": pos(2, 3), "b": pos(3)},
        "mean variance entropy cdf icdf",
    ),
    "LKJCholesky": ("torch.distributions.LKJCholesky(3, a)", {"a": pos(2)}, ""),
    "Laplace": (
        "torch.distributions.Laplace(a, b)",
        {"a": real(2, 3), "b": pos(3)},
        "mean mode variance entropy cdf icdf",
    ),
    "LogNormal": (
        "torch.distributions.LogNormal(a, b)",
        {"a": real(2, 3), "b": pos(3, high=1)},
        "mean mode variance entropy cdf icdf",
    ),
    "LogisticNormal": ("torch.distributions.LogisticNormal(a, b)", {"a": real(2, 3), "b": pos(3)}, ""),
    "LowRankMultivariateNormal": (
        "torch.distributions.LowRankMultivariateNormal(a, b, c)",
        {"a": real(2, 3), "b": real(3, 2), "c": pos(3)},
        "mean variance entropy covariance_matrix scale_tril",
    ),
    "MixtureSameFamily": (
        "torch.distributions.MixtureSameFamily(torch.distributions.Categorical(a), torch.distributions.Normal(b, 1.))",
        {"a": pos(2, 3), "b": real(2, 3)},
        "mean variance cdf",
    ),
    "Multinomial": ("torch.distributions.Multinomial(6, probs=a)", {"a": pos(2, 4)}, "mean variance entropy"),
    "MultivariateNormal": (
        f"torch.distributions.MultivariateNormal(a, {MATRIX})",
        {"a": real(2, 3), "b": real(3, 3)},
        "mean mode variance entropy precision_matrix",
    ),
    "MultivariateNormalTril": (
        f"torch.distributions.MultivariateNormal(a, scale_tril={FACTOR})",
        {"a": real(2, 3), "b": real(3, 3)},
        "variance entropy covariance_matrix",
    ),
    "MultivariateNormalPrecision": (
        f"torch.distributions.MultivariateNormal(a, precision_matrix={MATRIX})",
        {"a": real(3), "b": real(2, 3, 3)},
        "entropy covariance_matrix",
    ),
    "NegativeBinomial": (
        "torch.distributions.NegativeBinomial(4., probs=a)",
        {"a": pos(2, 3, low=0.1, high=0.8)},
        "mean mode variance",
    ),
    "Normal": (
        "torch.distributions.Normal(a, b)",
        {"a": real(2, 3), "b": pos(3)},
        "mean mode variance stddev entropy cdf icdf",
    ),
    "NormalSingle": (
        "torch.distributions.Normal(a, b)",
        {"a": real(2, 3, dtype="float32"), "b": pos(3, dtype="float32")},
        "entropy",
    ),
    "OneHotCategorical": ("torch.distributions.OneHotCategorical(a)", {"a": pos(2, 4)}, "mean mode variance entropy"),
    "OneHotStraightThrough": ("torch.distributions.OneHotCategoricalStraightThrough(a)", {"a": pos(2, 4)}, "entropy"),
    "Pareto": (
        "torch.distributions.Pareto(a, b)",
        {"a": pos(2, 3), "b": pos(3, low=2.5, high=4)},
        "mean mode variance entropy cdf icdf",
    ),
    "Poisson": ("torch.distributions.Poisson(a)", {"a": pos(2, 3, high=20)}, "mean mode variance"),
    "RelaxedBernoulli": (
        "torch.distributions.RelaxedBernoulli(torch.tensor(0.7, dtype=torch.float64), probs=a)",
        {"a": pos(2, 3, low=0.1, high=0.9)},
        "",
    ),
    "RelaxedOneHotCategorical": (
        "torch.distributions.RelaxedOneHotCategorical(torch.tensor(0.7, dtype=torch.float64), probs=a)",
        {"a": pos(2, 3)},
        "",
    ),
    "StudentT": (
        "torch.distributions.StudentT(a, b, 2.)",
        {"a": pos(2, 3, low=2.5, high=6), "b": real(3)},
        "mean mode variance entropy",
    ),
    "TransformedDistribution": (
        "torch.distributions.TransformedDistribution(torch.distributions.Normal(a, 1.), [torch.distributions."
        "AffineTransform(1., b), torch.distributions.SigmoidTransform()])",
        {"a": real(2, 3), "b": pos(3)},
        "cdf icdf",
    ),
    "Uniform": (
        "torch.distributions.Uniform(a, a + b)",
        {"a": real(2, 3), "b": pos(3)},
        "mean variance entropy cdf icdf",
    ),
    "VonMises": ("torch.distributions.VonMises(a, b)", {"a": real(2, 3), "b": pos(3)}, "mean mode variance"),
    "Weibull": ("torch.distributions.Weibull(a, b)", {"a": pos(2, 3), "b": pos(3)}, "mean variance entropy cdf icdf"),
    "Wishart": (
        f"torch.distributions.Wishart(a, {MATRIX})",
        {"a": pos(2, low=4, high=6), "b": real(3, 3)},
        "mean mode variance entropy",
    ),
}
# Draws from exponential_, for which PyTorch takes another generator on some processors.
OTHER_NUMBERS = {"Exponential", "Pareto", "Weibull"}
NO_GRADIENT = {"Wishart"}  # PyTorch counts an in-place write of its own against the gradient of a batch
# PyTorch's gradients of gamma and beta draws come from approximations that are good to about three digits.
ROUGH = {"Beta", "Chi2", "Dirichlet", "FisherSnedecor", "Gamma", "InverseGamma", "StudentT", "Wishart"}
# How a value inside the support is made from a float64 tensor v in (0, 1) of the sample's shape.
VALUES = {
    "Bernoulli": "v.round()",
    "BernoulliLogits": "v.round()",
    "Binomial": "(v * 7).floor()",
    "BinomialMany": "(v * 90).floor()",
    "Geometric": "(v * 5).floor()",
    "NegativeBinomial": "(v * 5).floor()",
    "Poisson": "(v * 9).floor()",
    "Uniform": "a + v * b * 0.9",
    "GeneralizedPareto": "a + v.float() * b",
    "Pareto": "a * (1 + v)",
    "Dirichlet": "v / v.sum(-1, True)",
    "LogisticNormal": "v / v.sum(-1, True)",
    "RelaxedOneHotCategorical": "v / v.sum(-1, True)",
}
EVENTS = {"LogisticNormal": (4,)}
NO_VALUES = {
    "Categorical",
    "CategoricalLogits",
    "OneHotCategorical",
    "OneHotStraightThrough",
    "Multinomial",
    "LKJCholesky",
    "Wishart",
}

for _name, (_make, _inputs, _facts) in ALL.items():
    if _name not in OTHER_NUMBERS:
        case(
            f"{_name}_sample",
            f"d = {_make}; [d.sample(), d.sample((3,)), d.sample((2, 2)), torch.rand(2)]",
            grad=False,
            strides=False,
            **({} if any(i.dtype == "float32" for i in _inputs.values()) else {"rtol": 1e-6, "atol": 1e-8}),
            **_inputs,
        )
    # PyTorch's Bessel functions there are good to seven digits.
    _bessel = {"rtol": 1e-6, "atol": 1e-6} if _name == "VonMises" else {}
    _tolerance = {"rtol": 2e-3, "atol": 2e-4} if _name in ROUGH else {}
    if _name not in OTHER_NUMBERS | NO_GRADIENT:
        case(
            f"{_name}_rsample",
            f"d = {_make}; d.rsample((2,)) * 1 if d.has_rsample else 'none'",
            strides=False,
            **_tolerance,
            **_inputs,
        )
    for _fact in _facts.split():
        _call = {"cdf": "d.cdf(v)", "icdf": "d.icdf(v)", "entropy": "d.entropy()"}.get(_fact, f"d.{_fact}")
        if _fact == "cdf":
            _call = f"d.cdf({VALUES.get(_name, 'v')})"
        _more = (
            {"v": In((2, 3) if _name != "MixtureSameFamily" else (2,), F64, 0.05, 0.95)}
            if _fact in ("cdf", "icdf")
            else {}
        )
        _rough = {"rtol": 2e-3, "atol": 2e-4} if _fact == "cdf" and _name in ("Gamma", "Chi2") else {}
        case(
            f"{_name}_{_fact}",
            f"d = {_make}; {_call} * 1",
            strides=False,
            grad=_fact != "mode" and (_fact != "cdf" or _name not in ("Gamma", "Chi2")),
            **_rough,
            **_bessel,
            **_more,
            **_inputs,
        )
    case(
        f"{_name}_shapes",
        f"d = {_make}; e = d.expand((4, *d.batch_shape)); [str(d), tuple(d.batch_shape), tuple(d.event_shape), "
        "str(type(e).__name__), tuple(e.batch_shape), tuple(e.sample((2,)).shape)]",
        grad=False,
        **_inputs,
    )
    if _name in NO_VALUES:
        case(f"{_name}_log_prob", f"d = {_make}; d.log_prob(d.sample((3,)).detach()) * 1", strides=False, **_inputs)
    else:
        _shape = (
            (2, 4) if _name in ("Dirichlet", "LogisticNormal") else (2,) if _name == "MixtureSameFamily" else (2, 3)
        )
        if _name in ("BinomialMany",):
            _shape = (4,)
        _value = VALUES.get(_name, "v")
        case(
            f"{_name}_log_prob",
            f"d = {_make}; d.log_prob({_value}) * 1",
            strides=False,
            **_bessel,
            v=In(_shape, F64, 0.05, 0.95, grad=False),
            **_inputs,
        )

# --- support, enumeration, arguments
for _id, _code in {
    "bernoulli": "torch.distributions.Bernoulli(torch.tensor([0.2, 0.3])).enumerate_support()",
    "bernoulli_short": "torch.distributions.Bernoulli(torch.tensor([0.2, 0.3])).enumerate_support(expand=False)",
    "binomial": "torch.distributions.Binomial(3, torch.tensor([0.2, 0.3])).enumerate_support()",
    "categorical": "torch.distributions.Categorical(torch.ones(2, 3)).enumerate_support()",
    "one_hot": "torch.distributions.OneHotCategorical(torch.ones(2, 3)).enumerate_support()",
}.items():
    case(f"enumerate_{_id}", _code, grad=False)
for _id, _code in {
    "scale": "torch.distributions.Normal(0., -1.)",
    "scales": "torch.distributions.Normal(torch.zeros(2), torch.tensor([1., -1]))",
    "value_shape": "torch.distributions.Normal(torch.zeros(2), 1.).log_prob(torch.zeros(3))",
    "value_number": "torch.distributions.Normal(0., 1.).log_prob(1.)",
    "value_nan": "torch.distributions.Normal(0., 1.).log_prob(torch.tensor(float('nan')))",
    "both": "torch.distributions.Bernoulli(probs=0.5, logits=0.)",
    "neither": "torch.distributions.Categorical()",
    "probs": "torch.distributions.Bernoulli(2.)",
    "bounds": "torch.distributions.Uniform(2., 1.)",
    "simplex": "torch.distributions.Categorical(torch.zeros(3))",
    "dims": "torch.distributions.Categorical(torch.tensor(1.))",
    "matrices": "torch.distributions.MultivariateNormal(torch.zeros(2))",
    "definite": "torch.distributions.MultivariateNormal(torch.zeros(2), -torch.eye(2))",
    "interpreted": "torch.distributions.Independent(torch.distributions.Normal(torch.zeros(2), 1.), 2)",
    "transforms": "torch.distributions.TransformedDistribution(torch.distributions.Normal(0., 1.), 3)",
    "kl": "torch.distributions.kl_divergence(torch.distributions.Normal(0., 1.), torch.distributions.Cauchy(0., 1.))",
    "mixture": "torch.distributions.MixtureSameFamily(torch.distributions.Normal(0., 1.), "
    "torch.distributions.Normal(0., 1.))",
    "support": "torch.distributions.Poisson(1.).log_prob(torch.tensor(0.5))",
    "wishart": "torch.distributions.Wishart(torch.tensor(1.), torch.eye(2))",
    "lkj": "torch.distributions.LKJCholesky(1)",
    "geometric": "torch.distributions.Geometric(0.)",
    "bijection": "torch.distributions.biject_to(torch.distributions.constraints.boolean)",
}.items():
    case(f"error_{_id}", _code, grad=False)
case("unchecked", "torch.distributions.Normal(0., -1., validate_args=False).log_prob(torch.tensor(1.))", grad=False)

case(
    "binomial",
    "torch.binomial(n, p)",
    grad=False,
    n=In((40,), F64, values=[float(i * 7) for i in range(40)]),
    p=pos(40, low=0.01, high=0.99),
)
case("poisson", "torch.poisson(a)", grad=False, a=pos(40, low=0, high=40))
case("standard_gamma", "torch._standard_gamma(a)", rtol=2e-3, atol=2e-4, a=pos(40, low=0.05, high=30))
case("standard_gamma_single", "torch._standard_gamma(a)", grad=False, a=pos(40, low=0.05, high=30, dtype="float32"))
case("sample_dirichlet", "torch._sample_dirichlet(a)", grad=False, a=pos(5, 3, low=0.05, high=30))
case(
    "standard_gamma_grad",
    "torch._standard_gamma_grad(a, x)",
    grad=False,
    rtol=5e-3,
    a=pos(60, low=0.05, high=30),
    x=pos(60, low=0.05, high=30),
)
case(
    "dirichlet_grad",
    "torch._dirichlet_grad(x, a, a + b)",
    grad=False,
    rtol=5e-3,
    x=pos(60, low=0.05, high=0.95),
    a=pos(60),
    b=pos(60),
)

CASES += divergence_cases.CASES

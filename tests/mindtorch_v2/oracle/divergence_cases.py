"""Cases of divergences between distributions, and of transforms."""

from __future__ import annotations

from .harness import Case, In

CASES: list[Case] = []
F64 = "float64"


def case(id: str, code: str, **kwargs: object) -> None:
    CASES.append(Case(id, code, **kwargs))  # type: ignore[arg-type]


def pos(*shape: int, low: float = 0.5, high: float = 3.0, dtype: str = F64) -> In:
    return In(shape, dtype, low, high)


def real(*shape: int, dtype: str = F64) -> In:
    return In(shape, dtype)


# --- divergences
_ONE = {
    "Bernoulli": "Bernoulli({p})",
    "Beta": "Beta({a}, {b})",
    "Binomial": "Binomial(5, {p})",
    "Categorical": "Categorical({a})",
    "Cauchy": "Cauchy({r}, {a})",
    "ContinuousBernoulli": "ContinuousBernoulli({p})",
    "Dirichlet": "Dirichlet({a})",
    "Exponential": "Exponential({a})",
    "Gamma": "Gamma({a}, {b})",
    "Geometric": "Geometric({p})",
    "Gumbel": "Gumbel({r}, {a})",
    "HalfNormal": "HalfNormal({a})",
    "Laplace": "Laplace({r}, {a})",
    "Normal": "Normal({r}, {a})",
    "OneHotCategorical": "OneHotCategorical({a})",
    "Pareto": "Pareto({a}, {b} + 2)",
    "Poisson": "Poisson({a})",
    "Uniform": "Uniform({p} * 0.5, {p} * 0.5 + 0.4)",
    "LogNormal": "LogNormal({r}, {a})",
    "Independent": "Independent(torch.distributions.Normal({r}, {a}), 1)",
}
_PAIRS = (
    [(n, n) for n in _ONE]
    + [
        (p, q)
        for p in (
            "Beta",
            "ContinuousBernoulli",
            "Exponential",
            "Gamma",
            "Gumbel",
            "Laplace",
            "Normal",
            "Pareto",
            "Uniform",
        )
        for q in ("Beta", "ContinuousBernoulli", "Exponential", "Gamma", "Gumbel", "Normal", "Pareto", "Uniform")
        if p != q
        and not (q == "Gumbel" and p not in ("Exponential", "Gamma", "Normal", "Uniform"))
        and not (p == "ContinuousBernoulli" and q in ("Beta", "Gamma"))
    ]
    + [("Normal", "Laplace"), ("Bernoulli", "Poisson"), ("Poisson", "Bernoulli")]
)
for _p, _q in _PAIRS:
    _left, _right = (_ONE[n].format(p=f"{s}p", a=f"{s}a", b=f"{s}b", r=f"{s}r") for n, s in ((_p, "p"), (_q, "q")))
    _used = {
        f"{s}{k}": i
        for s in "pq"
        for k, i in (("p", pos(3, low=0.1, high=0.9)), ("a", pos(3)), ("b", pos(3)), ("r", real(3)))
        if f"{s}{k}" in f"{_left} {_right}".replace("Exponential", "").replace("Laplace", "").replace("Independent", "")
    }
    case(
        f"kl_{_p}_{_q}",
        f"torch.distributions.kl_divergence(torch.distributions.{_left}, torch.distributions.{_right}) * 1",
        strides=False,
        **_used,
    )
_MVN = "torch.distributions.MultivariateNormal({a}, {b} @ {b}.mT + torch.eye(3, dtype=torch.float64))"
_LOW = "torch.distributions.LowRankMultivariateNormal({a}, {b}, {a}.exp())"
for _i, _left in enumerate((_MVN, _LOW)):
    for _j, _right in enumerate((_MVN, _LOW)):
        case(
            f"kl_vectors_{_i}{_j}",
            f"torch.distributions.kl_divergence({_left.format(a='a', b='b')}, {_right.format(a='c', b='d')}) * 1",
            strides=False,
            a=real(2, 3),
            b=real(3, 2),
            c=real(2, 3),
            d=real(3, 2),
        )

# --- transforms
for _id, _make, _domain in (
    ("exp", "ExpTransform()", "x"),
    ("power", "PowerTransform(torch.tensor(1.5, dtype=torch.float64))", "x.exp()"),
    ("sigmoid", "SigmoidTransform()", "x"),
    ("softplus", "SoftplusTransform()", "x"),
    ("tanh", "TanhTransform()", "x"),
    ("affine", "AffineTransform(0.5, -2.)", "x"),
    ("affine_event", "AffineTransform(0.5, 2., event_dim=1)", "x"),
    ("stick", "StickBreakingTransform()", "x"),
    ("corr", "CorrCholeskyTransform()", "x"),
    (
        "compose",
        "ComposeTransform([torch.distributions.ExpTransform(), torch.distributions.AffineTransform(1., 3.)])",
        "x",
    ),
    ("independent", "IndependentTransform(torch.distributions.ExpTransform(), 1)", "x"),
    ("reshape", "ReshapeTransform((3,), (3, 1))", "x"),
    (
        "cat",
        "CatTransform([torch.distributions.ExpTransform(), torch.distributions.TanhTransform()], dim=-1, lengths=[1, "
        "2])",
        "x",
    ),
    ("stack", "StackTransform([torch.distributions.ExpTransform(), torch.distributions.TanhTransform()], dim=0)", "x"),
    ("cdf", "CumulativeDistributionTransform(torch.distributions.Normal(0.1, 1.))", "x"),
):
    case(
        f"transform_{_id}",
        f"t = torch.distributions.{_make}; x = {_domain}; y = t(x); [y * 1, t.inv(y) * 1, t.log_abs_det_jacobian(x, "
        "y) * 1]",
        strides=False,
        x=real(2, 3),
    )
    case(
        f"transform_{_id}_shown",
        f"t = torch.distributions.{_make}; [str(t), str(t.inv), str(t.domain), str(t.codomain), t.bijective, "
        "tuple(t.forward_shape((2, 3))), t.with_cache()._cache_size, t == t]",
        grad=False,
    )
case(
    "transform_softmax",
    "t = torch.distributions.SoftmaxTransform(); [t(x) * 1, t.inv(t(x)) * 1]",
    strides=False,
    x=real(2, 3),
)
case(
    "transform_abs", "t = torch.distributions.AbsTransform(); [t(x) * 1, t.inv(t(x)) * 1]", strides=False, x=real(2, 3)
)
case(
    "transform_cholesky",
    "t = torch.distributions.LowerCholeskyTransform(); [t(x) * 1, t.inv(t(x)) * 1]",
    strides=False,
    x=real(2, 3, 3),
)
case(
    "transform_definite",
    "t = torch.distributions.PositiveDefiniteTransform(); [t(x) * 1, t.inv(t(x)) * 1]",
    strides=False,
    x=real(2, 3, 3),
)
case(
    "transform_cached",
    "t = torch.distributions.ExpTransform(cache_size=1); y = t(x); t.inv(y) is x",
    grad=False,
    x=real(3),
)
for _id, _region in (
    ("real", "real"),
    ("positive", "positive"),
    ("nonnegative", "nonnegative"),
    ("less", "less_than(2.)"),
    ("interval", "interval(-1., 2.)"),
    ("unit", "unit_interval"),
    ("simplex", "simplex"),
    ("vector", "real_vector"),
    ("corr", "corr_cholesky"),
    ("stack", "stack([torch.distributions.constraints.real, torch.distributions.constraints.positive])"),
):
    case(
        f"transform_to_{_id}",
        f"torch.distributions.transform_to(torch.distributions.constraints.{_region})(x) * 1",
        strides=False,
        x=real(2, 3),
    )
    case(
        f"biject_to_{_id}",
        f"torch.distributions.biject_to(torch.distributions.constraints.{_region})(x) * 1",
        strides=False,
        x=real(2, 3),
    )
for _id, _region in (
    ("boolean", "boolean"),
    ("integers", "nonnegative_integer"),
    ("between", "integer_interval(0, 2)"),
    ("positive", "positive"),
    ("unit", "unit_interval"),
    ("simplex", "simplex"),
    ("one_hot", "one_hot"),
    ("vector", "real_vector"),
    ("counts", "multinomial(4)"),
    ("half_open", "half_open_interval(0., 1.)"),
    ("at_least", "greater_than_eq(1.)"),
):
    case(
        f"check_{_id}",
        f"c = torch.distributions.constraints.{_region}; [c.check(x), str(c), c.event_dim, c.is_discrete]",
        grad=False,
        x=In((3, 3), values=[[0, 1, 0], [0.5, 0.25, 0.25], [2, -1, 0]]),
    )
for _id in (
    "square",
    "symmetric",
    "positive_definite",
    "positive_semidefinite",
    "lower_cholesky",
    "lower_triangular",
    "corr_cholesky",
):
    case(
        f"check_{_id}",
        f"c = torch.distributions.constraints.{_id}; [c.check(x), str(c), c.event_dim]",
        grad=False,
        x=In((4, 2, 2), values=[[[1, 0], [0, 1]], [[1, 0], [2, 1]], [[1, 2], [2, 1]], [[1, 1], [0, 1]]]),
    )

"""Random ops: PyTorch's own numbers for the same seed.

On Intel processors PyTorch draws bernoulli_(p) and exponential_ (and so dropout and multinomial without replacement) from
MKL's generator; those cases compare shapes and what does not depend on the draw.
"""
from __future__ import annotations

from .harness import Case, In

X = In((3, 4))
P = In((3, 4), low=0.0, high=1.0)

_EXACT = [
    "torch.rand(5)", "torch.rand(3, 7)", "torch.rand(2, dtype=torch.float64)", "torch.rand(3, dtype=torch.float16)", "torch.rand(0)",
    "torch.rand(())", "torch.randn(5)", "torch.randn(4, 5)", "torch.randn(20, dtype=torch.float64)", "torch.randn(16)",
    "torch.randn(2, 17)", "torch.randn(3, dtype=torch.float16)", "torch.randint(10, (5,))", "torch.randint(0, 5, (2, 3))",
    "torch.randint(-3, 3, (5,), dtype=torch.int8)", "torch.randint(low=2, high=9, size=(4,))", "torch.randint(100, (3,), dtype=torch.float32)",
    "torch.randint(0, 2 ** 40, (4,))", "torch.randperm(10)", "torch.randperm(5, dtype=torch.int32)", "torch.randperm(0)",
    "torch.normal(2., 3., (5,))", "torch.normal(0., 1., (2, 9))", "torch.empty(5).uniform_(-1, 1)", "torch.empty(20).normal_(1, 2)",
    "torch.empty(5).normal_()", "torch.empty(5, dtype=torch.int64).random_()", "torch.empty(5).random_(3, 9)",
    "torch.empty(5, dtype=torch.uint8).random_()", "torch.empty(5).random_(7)", "torch.empty(6).cauchy_()",
    "torch.empty(6).log_normal_()", "torch.empty(6).geometric_(0.3)", "torch.empty(4, 3).t().uniform_()", "torch.empty(6, 4)[:, ::2].uniform_()",
    "torch.empty(4, 6).t().normal_()", "torch.rand_like(torch.empty(2, 3))", "torch.randn_like(torch.empty(5, dtype=torch.float64))",
    "torch.randint_like(torch.empty(4), 7)", "torch.randint_like(torch.empty(4), 2, 7)", "torch.bernoulli(torch.full((8,), 0.3))",
    "torch.bernoulli(torch.full((8,), 0.3, dtype=torch.float64))", "torch.empty(8).bernoulli_(torch.full((8,), 0.6))",
    "torch.multinomial(torch.tensor([0.1, 0.2, 0.7]), 8, replacement=True)", "torch.multinomial(torch.ones(2, 3), 4, True)",
    "g = torch.Generator(); g.manual_seed(7); torch.rand(3, generator=g)",
    "g = torch.Generator().manual_seed(7); torch.randn(3, generator=g)", "torch.manual_seed(3); a = torch.rand(2); b = torch.rand(2); [a, b]",
    "torch.manual_seed(3).initial_seed()", "torch.manual_seed(-1); torch.initial_seed()",
    "s = torch.get_rng_state(); a = torch.rand(3); torch.set_rng_state(s); (a == torch.rand(3)).all().item()",
    "g = torch.Generator(); g.manual_seed(5); s = g.get_state(); [s.shape, s.dtype, g.initial_seed(), str(g.device)]",
    "torch.randn(3); torch.rand(2); torch.randn(3)", "torch.default_generator.manual_seed(2); torch.rand(2)",
    "a = torch.randperm(6, generator=torch.Generator().manual_seed(1)); a", "torch.rand(2, 3, requires_grad=True).requires_grad",
]
_SHAPES = [
    "torch.empty(6).exponential_()", "torch.empty(6).bernoulli_(0.3)", "torch.bernoulli(torch.ones(3), 0.5)",
    "torch.multinomial(torch.ones(5), 3)", "torch.multinomial(torch.ones(2, 5), 1)", "torch.poisson(torch.ones(2, 3) * 4)",
    "torch.normal(torch.zeros(3), 2.)", "torch.normal(0., torch.ones(3, 2))", "torch.normal(torch.zeros(3), torch.ones(2, 1))",
]
_WITH_INPUT = [
    Case("normal_mean", "torch.normal(a, 2.)", a=X),
    Case("normal_std", "torch.normal(1., a)", a=P),
    Case("normal_both", "torch.normal(a, b)", a=X, b=P),
    Case("bernoulli_grad", "torch.bernoulli(a)", a=P),
    Case("uniform_grad", "b = a.clone(); b.uniform_(); b", a=X),
    Case("normal_grad", "b = a.clone(); b.normal_(); b", a=In((4, 5))),
    Case("random_grad", "b = a.clone(); b.random_(0, 5); b", a=X),
    Case("exponential_grad", "b = a.clone(); b.exponential_(); b", a=X, values=False),
    Case("bernoulli_float_grad", "b = a.clone(); b.bernoulli_(0.5); b", a=X, values=False),
    Case("bernoulli_tensor_grad", "b = a.clone(); b.bernoulli_(torch.full((3, 4), 0.5)); b", a=X),
    Case("poisson_grad", "torch.poisson(a)", a=P, values=False),
    Case("dropout", "torch.dropout(a, 0.5, True)", a=X, values=False),
    Case("dropout_eval", "torch.dropout(a, 0.5, False)", a=X),
    Case("dropout_zero", "torch.dropout(a, 0.0, True)", a=X),
    Case("dropout_all", "torch.dropout(a, 1.0, True)", a=X),
    Case("dropout_empty", "torch.dropout(a, 0.5, True)", a=In((0, 3)), strides=False),
    Case("dropout_transposed", "torch.dropout(a, 0.5, True)", a=In((3, 4), layout="transposed"), values=False),
    Case("dropout_scaled", "o = torch.dropout(a, 0.25, True); ((o == 0) | ((o - a / 0.75).abs() < 1e-5)).all().item()", a=X),
    Case("dropout_in_place", "b = a * 1; torch.dropout_(b, 0.5, True); b", a=X, values=False),
    Case("native_dropout", "torch.native_dropout(a, 0.5, True)", a=X, values=False),
    Case("native_dropout_eval", "torch.native_dropout(a, 0.5, False)", a=X),
    Case("native_dropout_all", "torch.native_dropout(a, 1.0, True)", a=X),
    Case("feature_dropout", "torch.feature_dropout(a, 0.5, True)", a=In((2, 3, 2, 2)), values=False),
    Case("alpha_dropout", "torch.alpha_dropout(a, 0.5, True)", a=X, values=False),
    Case("alpha_dropout_in_place", "b = a * 1; torch.alpha_dropout_(b, 0.5, True); b", a=X, values=False),
    Case("feature_dropout_in_place", "b = a * 1; torch.feature_dropout_(b, 0.5, True); b", a=In((2, 3, 2)), values=False),
    Case("feature_alpha_dropout_in_place", "b = a * 1; torch.feature_alpha_dropout_(b, 0.5, True); b", a=In((2, 3, 2)), values=False),
    Case("feature_alpha_dropout", "torch.feature_alpha_dropout(a, 0.5, True)", a=In((2, 3, 2)), values=False),
    Case("rand_like_transposed", "torch.rand_like(a)", a=In((3, 4), layout="transposed"), grad=False),
    Case("rand_like_int_type", "torch.rand_like(a, dtype=torch.float64)", a=In((3,), "int64")),
]
_ERRORS = [
    "torch.rand(2, dtype=torch.int64)", "torch.randint(0, (2,))", "torch.randint(3, 3, (2,))", "torch.randint(300, (2,), dtype=torch.uint8)",
    "torch.randperm(-1)", "torch.normal(0., -1., (2,))", "torch.normal(torch.zeros(2), -1.)", "torch.normal(0., -torch.ones(2))",
    "torch.normal(torch.zeros(2, dtype=torch.int64), 1.)", "torch.bernoulli(torch.ones(2, dtype=torch.int64))",
    "torch.ones(2).bernoulli_(2.)", "torch.ones(2).uniform_(2, 1)", "torch.ones(2, dtype=torch.int64).uniform_()",
    "torch.ones(2).normal_(0, -1)", "torch.ones(2).random_(5, 5)", "torch.ones(2).random_(0)", "torch.ones(2).exponential_(-1)",
    "torch.ones(2).geometric_(2)", "torch.ones(2).cauchy_(0, -1)", "torch.ones(2).log_normal_(0, -1)",
    "torch.multinomial(-torch.ones(3), 2)", "torch.multinomial(torch.ones(3), 5)", "torch.multinomial(torch.ones(3), 0)",
    "torch.multinomial(torch.ones(3, dtype=torch.int64), 1)", "torch.multinomial(torch.ones(2, 2, 2), 1)",
    "torch.multinomial(torch.zeros(3), 1)", "torch.poisson(-torch.ones(2))", "torch.poisson(torch.ones(2, dtype=torch.int64))",
    "torch.dropout(torch.ones(2), -0.5, True)", "torch.feature_dropout(torch.ones(2), 0.5, True)", "torch.set_rng_state(torch.zeros(3))",
    "torch.set_rng_state(torch.zeros(3, dtype=torch.uint8))",
]

CASES = [Case(code, code) for code in _EXACT]
CASES += [Case(code, code, values=False) for code in _SHAPES]
CASES += _WITH_INPUT
CASES += [Case(f"error-{code}", code) for code in _ERRORS]

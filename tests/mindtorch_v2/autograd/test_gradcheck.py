"""First and second derivatives against finite differences, in float64, over the whole op table.

Every oracle case that PyTorch differentiates is run again with float64 inputs and compared by random projections of its
Jacobians; `test_every_derivative_is_reached` shows that these cases, with the few samples below, use every
derivative row.
"""

from __future__ import annotations

import json
import re
import warnings
from typing import Any

import numpy as np
import pytest

import mindtorch_v2 as torch
from mindtorch_v2._autograd.inplace import CopySlices
from mindtorch_v2._dispatch import aten, families
from mindtorch_v2._ops import special, table
from mindtorch_v2.autograd import GradcheckError, gradcheck, gradgradcheck

from ..oracle import replay
from ..oracle.harness import Case, In

D = "float64"
# Derivatives that no oracle case of a differentiable function reaches.
SAMPLES = [
    Case("alias", "aten.alias(a) * a", a=In((3,), D)),
    Case("lift_fresh", "aten.lift_fresh(a * a) * 2", a=In((3,), D)),
    Case("native_channel_shuffle", "torch.native_channel_shuffle(a, 2) ** 2", a=In((1, 4, 2), D)),
    Case("nextafter", "torch.nextafter(a, b) * 2", a=In((3,), D), b=In((3,), D)),
    Case("norm_scalar", "aten.overload('norm.Scalar')(a, 3)", a=In((4,), D)),
    Case("ndtr", "torch.special.ndtr(a)", a=In((4,), D)),
    Case("xlogy_number", "torch.xlogy(2.0, a)", a=In((3,), D, 0.5, 2)),
    Case("zeta_number", "torch.special.zeta(3.0, a)", a=In((3,), D, 0.5, 2)),
    Case("soft_margin", "F.soft_margin_loss(a, y)", a=In((2, 3), D), y=In((2, 3), D, 0.5, 1, grad=False)),
    Case("squeeze_dims_inplace", "b = a * a; b.squeeze_((0, 2)); b * a[0, :, 0]", a=In((1, 3, 1), D)),
    Case(
        "_convolution",
        "aten._convolution(a, w, None, (1,), (1,), (1,), False, (0,), 1, False, False, False, False)",
        a=In((1, 2, 4), D),
        w=In((2, 2, 3), D),
    ),
    Case(
        "slow_conv_transpose2d",
        "aten.slow_conv_transpose2d(a, w, (2, 2), b, (1, 1), (0, 0), (0, 0), (1, 1))",
        a=In((1, 1, 2, 3), D),
        w=In((1, 2, 2, 2), D),
        b=In((2,), D),
    ),
    Case(
        "slow_conv_transpose3d",
        "aten.slow_conv_transpose3d(a, w, (2, 1, 2), None, (1, 1, 1), (0, 0, 0), (0, 0, 0), (1, 1, 1))",
        a=In((1, 1, 2, 1, 2), D),
        w=In((1, 2, 2, 1, 2), D),
    ),
    Case(
        "mkldnn_rnn_layer",
        "aten.mkldnn_rnn_layer(a, w, v, b, c, h, k, False, [], 2, 2, 1, True, False, False, True)[:3]",
        a=In((2, 1, 3), D),
        w=In((8, 3), D),
        v=In((8, 2), D),
        b=In((8,), D),
        c=In((8,), D),
        h=In((1, 2), D),
        k=In((1, 2), D),
    ),
    Case("lstm", "torch.manual_seed(0); m = torch.nn.LSTM(2, 3, 2, bidirectional=True); m(a)[0]", a=In((3, 2, 2), D)),
    Case("inplace_chain", "b = a * 2; b.mul_(a); b.sub_(a); b.exp_()", a=In((3,), D)),
    Case("inplace_through_view", "b = a * 2; b[1:].mul_(a[:2]).sin_(); b * a", a=In((3,), D)),
    Case("inplace_view_of_transposed", "b = a.t() * 2; b[0].mul_(b[1].clone()); b.pow(2)", a=In((2, 3), D)),
    Case("inplace_through_view_of_view", "b = a * 1; b.t()[1:, 0].mul_(3).add_(a[0, 0]); b.sin()", a=In((2, 3), D)),
    Case("view_after_write_to_base", "b = a * 1; v = b[0]; b.mul_(a); v * v", a=In((2, 3), D)),
    Case(
        "overlapping_view_after_write",
        "b = a * 1; v = b.expand(2, 3); u = b.unfold(0, 2, 1); b.mul_(a); (v * v, u.sin())",
        a=In((3,), D),
    ),
    Case(
        "inplace_on_complex_parts",
        "b = a * 1; b.real.mul_(a.imag); b.imag[1:].pow_(2); b * a",
        a=In((3,), "complex128"),
    ),
    Case("inplace_as_complex", "b = a * 1; torch.view_as_complex(b).mul_(2j); b * a", a=In((3, 2), D)),
    Case("inplace_on_gaps", "b = a * 1; b[:, ::2].t()[1:].mul_(a[0, 0]); b.pow(3)", a=In((3, 5), D)),
    Case("copy_into_view", "b = a * 1; b[:, 1] = a[:, 0] ** 2; b * a", a=In((2, 3), D)),
    Case("masked_write", "b = a * 1; b[m] = a[0, 0]; b * a", a=In((2, 3), D), m=In((2, 3), "bool")),
    Case(
        "index_write_repeated",
        "b = a * 1; b.index_put_((i,), a[:3] ** 2, accumulate=True); b.sin()",
        a=In((4,), D),
        i=In((3,), "int64", values=[1, 1, 2]),
    ),
]

# PyTorch differentiates these once: the second pass says that it cannot go on.
NOT_TWICE = re.compile(
    r"\bcdist|\bpdist|scaled_dot_product_attention|multi_margin|multilabel_margin|ctc_loss|embedding_bag"
)
# The gradient is not the derivative of what is computed, in PyTorch neither.
NO_DERIVATIVE = {
    "indexing-embedding_pad": "rows of the padding index get no gradient",
    "indexing-embedding_F_pad": "rows of the padding index get no gradient",
    "indexing-embedding_F_neg_pad": "rows of the padding index get no gradient",
    "indexing-embedding_freq": "gradients are divided by the frequency of the index",
    "linalg-eigh_lower": "the gradient is that of the symmetric matrix, whose other half the function does not read",
    "linalg-eigh_upper": "the gradient is that of the symmetric matrix, whose other half the function does not read",
    "nn-f_gumbel": "the hard form passes the soft form's gradient",
    "random-normal_mean": "what is drawn counts as constant",
    "random-normal_std": "what is drawn counts as constant",
    "random-normal_both": "what is drawn counts as constant",
    "elementwise-power_negative_base": "the result is not a number",
    "distributions-OneHotStraightThrough_rsample": "the hard form passes the soft form's gradient",
    **{
        f"distributions-{name}_rsample": "which draws are rejected jumps with the parameters, and the gradient "
        "leaves that out; test_draws.py proves it"
        for name in ("Beta", "Chi2", "Dirichlet", "FisherSnedecor", "Gamma", "InverseGamma", "StudentT")
    },
    "distributions-standard_gamma": "which draws are rejected jumps with the parameters, and the gradient leaves "
    "that out; test_draws.py proves it",
    "distributions-LKJCholesky_log_prob": "the value is drawn with the same parameters, and what is drawn counts as "
    "constant",
    "distributions-Wishart_log_prob": "the value is drawn with the same parameters, and what is drawn counts as "
    "constant",
}
# Rows that say that PyTorch has no derivative, or whose gradient is zero because the result is drawn, not computed.
REFUSED = {
    "floor_divide",
    "heaviside",
    "remainder.Scalar_Tensor",
    "scatter.reduce",
    "scatter.value_reduce",
    "_unique2",
    "unique_dim",
    "unique_consecutive",
    "bincount",
    "bernoulli.p",
    "geqrf",
    "linalg_ldl_factor_ex",
    "linalg_ldl_solve",
    "special_zeta.other_scalar",
    *(f"special_{name}" for name in (*special.NOT_DIFFERENTIATED, *special.NOT_DIFFERENTIATED_X, *special.POLYNOMIALS)),
}
DRAWN = {
    "cauchy_",
    "geometric_",
    "log_normal_",
    "random_",
    "random_.to",
    "random_.from",
    "exponential_",
    "uniform_",
    "normal_",
    "binomial",
    "_sample_dirichlet",
}
# What a case must not contain: types that float64 inputs do not have, and its own backward passes.
_NOT_A_NUMBER = re.compile("NaN|Infinity")
_UNFIT = re.compile(r"float32|float16|\bhalf\b|\.float\(\)|backward|\.grad\b|no_grad|requires_grad|complex64|cfloat")


def _fits(case: Case, answer: dict[str, Any]) -> bool:
    floating = [s for s in case.inputs.values() if s.dtype.startswith(("float", "complex"))]
    return (
        case.grad
        and any(answer.get("grads", {}).values())
        and not _UNFIT.search(case.code)
        and all(s.values is None for s in floating)  # chosen values sit at kinks
        and sum(int(np.prod(s.shape)) for s in floating) <= 2000
        and not _NOT_A_NUMBER.search(json.dumps(answer))
    )


CASES = [(f"sample-{c.id}", c) for c in SAMPLES]
CASES += [(f"{family}-{case.id}", case) for family, case, answer in replay.all_cases() if _fits(case, answer)]


def _function_of(case: Case) -> tuple[Any, list[Any]]:
    """The case as a function of its differentiable inputs, and these."""
    names = replay.inputs_of(torch, case, double=True)
    wanted = [n for n, t in names.items() if t.requires_grad]

    def function(*values: Any) -> list[Any]:
        fresh = {n: t if t.requires_grad else t.clone() for n, t in names.items()}
        fresh.update(zip(wanted, values), aten=aten)
        return [t for t in replay.tensors_in(torch, replay.run(torch, case, fresh)) if t.requires_grad]

    return function, [names[n] for n in wanted]


@pytest.fixture(autouse=True)
def _double():
    with replay.default_dtype(torch, torch.float64), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.mark.parametrize("name, case", [pytest.param(n, c, id=n) for n, c in CASES if n not in NO_DERIVATIVE])
def test_derivatives(name: str, case: Case) -> None:
    function, inputs = _function_of(case)
    assert gradcheck(function, inputs, fast_mode=True)
    try:
        assert gradgradcheck(function, inputs, fast_mode=True, atol=1e-4)
    except RuntimeError as refusal:
        if not (NOT_TWICE.search(case.code) and "is not implemented" in str(refusal)):
            raise


def _rows_behind(tensors: list[Any]) -> set[str]:
    """The ops whose derivative rows stand in the graph behind these tensors."""
    found: set[str] = set()
    seen: set[Any] = set()
    stack = [t.grad_fn for t in tensors]
    while stack:
        node = stack.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        inner = node.inner if isinstance(node, CopySlices) else node
        if hasattr(type(inner), "derivative"):
            found.add(inner.derivative.op.name)
        stack += [n for n, _ in node.next_functions]
    return found


def test_every_derivative_is_reached() -> None:
    ops = [op for op in table.all_ops() if op.inplace_of is None]
    for op in ops:
        families.load_family(op.family)
    missing = {op.name for op in ops if op.derivative is not None} - REFUSED - DRAWN
    for _, case in CASES:
        function, inputs = _function_of(case)
        outputs = function(*inputs)
        starts = [torch.ones_like(o, requires_grad=True) for o in outputs]
        grads = torch.autograd.grad(outputs, inputs, starts, create_graph=True, allow_unused=True)
        missing -= _rows_behind(outputs) | _rows_behind([g for g in grads if g is not None])
    assert not missing


@pytest.mark.parametrize("name, case", [pytest.param(n, c, id=c.id) for n, c in CASES if n.startswith("sample-")])
def test_all_elements_of_the_jacobians(name: str, case: Case) -> None:
    function, inputs = _function_of(case)
    assert gradcheck(function, inputs)
    assert gradgradcheck(function, inputs, atol=1e-4, gen_non_contig_grad_outputs=True)


REFUSALS = {
    "floor_divide": "torch.floor_divide(a, 2.0)",
    "heaviside": "torch.heaviside(a, a)",
    "remainder": "torch.remainder(2.0, a)",
    "scatter": "a.scatter(0, torch.tensor([0]), a, reduce='add')",
    "bincount": "torch.bincount(torch.tensor([0, 1, 1]), a)",
    "bernoulli": "torch.bernoulli(a, 0.5)",
    "_unique2": "torch.unique(a)",
    "unique_dim": "torch.unique(a, dim=0)",
    "unique_consecutive": "torch.unique_consecutive(a)",
    "geqrf": "torch.geqrf(a[None])[0]",
    "special_bessel_j0": "torch.special.bessel_j0(a)",
    "special_legendre_polynomial_p": "torch.special.legendre_polynomial_p(a, 2)",
}


@pytest.mark.parametrize("name", REFUSALS)
def test_what_cannot_be_differentiated_says_so(name: str) -> None:
    a = torch.rand(3, requires_grad=True)
    out = eval(REFUSALS[name], {"torch": torch, "a": a})
    assert out.requires_grad
    with pytest.raises(RuntimeError, match=f"{name}' is not implemented|aten::{name} is not implemented"):
        out.sum().backward()


# --- gradcheck itself
class _Wrong(torch.autograd.Function):
    """x * x with a gradient that is off by the given factor."""

    @staticmethod
    def forward(ctx: Any, x: Any, factor: float) -> Any:
        ctx.save_for_backward(x)
        ctx.factor = factor
        return x * x

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return ctx.saved_tensors[0] * g * 2 * ctx.factor, None


@pytest.mark.parametrize("fast", [False, True])
def test_a_wrong_gradient_is_found(fast: bool) -> None:
    x = torch.randn(3, dtype=torch.float64, requires_grad=True)
    assert gradcheck(lambda x: _Wrong.apply(x, 1.0), x, fast_mode=fast)
    with pytest.raises(GradcheckError, match="Jacobian mismatch for output 0 with respect to input 0"):
        gradcheck(lambda x: _Wrong.apply(x, 1.1), x, fast_mode=fast)
    assert not gradcheck(lambda x: _Wrong.apply(x, 1.1), x, fast_mode=fast, raise_exception=False)


def test_the_imaginary_part_counts() -> None:
    x = torch.randn(2, dtype=torch.complex128, requires_grad=True)
    assert gradcheck(lambda x: x * x.conj() + x, x)
    with pytest.raises(GradcheckError):
        gradcheck(lambda x: torch.complex(x.real, x.detach().imag), x)


def test_an_undifferentiated_dependence_is_found() -> None:
    x = torch.randn(2, dtype=torch.float64, requires_grad=True)
    with pytest.raises(GradcheckError, match="expected to be zero"):
        gradcheck(lambda x: (x * 2, x.detach() * 2), x)


def test_a_gradient_that_changes_is_found() -> None:
    count = [0]

    class Drifting(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 1

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            count[0] += 1
            return g * (1 + 1e-7 * count[0])

    x = torch.randn(2, dtype=torch.float64, requires_grad=True)
    with pytest.raises(GradcheckError, match="not reentrant"):
        gradcheck(Drifting.apply, x)
    assert gradcheck(Drifting.apply, x, nondet_tol=1e-3)


def test_what_gradcheck_refuses() -> None:
    x = torch.randn(2, dtype=torch.float64)
    with pytest.raises(ValueError, match="none of the them have requires_grad=True"):
        gradcheck(lambda x: x, x)
    with pytest.raises(RuntimeError, match="dimension with stride 0"):
        gradcheck(lambda x: x * 1, torch.zeros(1, dtype=torch.float64).expand(3).detach().requires_grad_())
    with pytest.warns(UserWarning, match="not a double precision"):
        gradcheck(lambda x: x * 1, torch.zeros(1, dtype=torch.float32, requires_grad=True), eps=1e-2, atol=1e-2)
    with pytest.raises(NotImplementedError):
        gradcheck(lambda x: x, x.requires_grad_(), check_forward_ad=True)


def test_the_inputs_are_left_as_they_were() -> None:
    x = torch.randn(2, 3, dtype=torch.float64).t().requires_grad_()
    before = x.detach().clone()
    gradcheck(lambda x: x.sin(), x)
    gradgradcheck(lambda x: x.sin(), x)
    assert torch.equal(x, before) and x.grad is None and x._version == 0

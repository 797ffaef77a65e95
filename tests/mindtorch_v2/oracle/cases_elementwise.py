"""Cases of the elementwise family. Tables say which inputs an op gets; whatever is peculiar has a case of its own."""

from __future__ import annotations

from . import elementwise_choice_cases, elementwise_number_cases
from .elementwise_inputs import BINARY, NO_GRADIENT, SPECIAL
from .harness import Case, In

CASES: list[Case] = []


def case(id: str, code: str, **keywords: object) -> None:
    CASES.append(Case(id, code, **keywords))  # type: ignore[arg-type]


# --- one operand: name -> range of good inputs, whether complex numbers are supported -----------------------------------
FLOAT_UNARY = {
    "exp": (-2, 2, True),
    "exp2": (-2, 2, True),
    "expm1": (-2, 2, True),
    "log": (0.1, 3, True),
    "log2": (0.1, 3, True),
    "log10": (0.1, 3, True),
    "log1p": (-0.5, 3, True),
    "sqrt": (0.1, 3, True),
    "rsqrt": (0.1, 3, True),
    "reciprocal": (0.3, 3, True),
    "sin": (-3, 3, True),
    "cos": (-3, 3, True),
    "tan": (-1, 1, True),
    "asin": (-0.9, 0.9, True),
    "acos": (-0.9, 0.9, True),
    "atan": (-3, 3, True),
    "sinh": (-2, 2, True),
    "cosh": (-2, 2, True),
    "tanh": (-2, 2, True),
    "asinh": (-2, 2, True),
    "acosh": (1.1, 3, True),
    "atanh": (-0.9, 0.9, True),
    "erf": (-3, 3, False),
    "erfc": (-3, 3, False),
    "erfinv": (-0.95, 0.95, False),
    "sigmoid": (-3, 3, True),
    "sinc": (-2, 2, True),
    "lgamma": (0.2, 6, False),
    "digamma": (0.2, 6, False),
    "deg2rad": (-90, 90, False),
    "rad2deg": (-3, 3, False),
    "square": (-2, 2, True),
}
SAME_UNARY = {
    "neg": (-2, 2, True),
    "sgn": (-2, 2, True),
    "sign": (-2, 2, False),
    "floor": (-3, 3, False),
    "ceil": (-3, 3, False),
    "trunc": (-3, 3, False),
    "round": (-3, 3, False),
    "frac": (-3, 3, False),
    "abs": (-2, 2, True),
    "nan_to_num": (-2, 2, True),
}
NO_INPLACE_GRADIENT = {"asinh", "acosh", "atanh", "arcsinh", "arctanh"}  # PyTorch refuses these
for name, (low, high, with_complex) in {**FLOAT_UNARY, **SAME_UNARY}.items():
    grad = name != "sgn"  # of which PyTorch's gradient has no memory
    case(f"{name}_plain", f"torch.{name}(a)", a=In((3, 4), low=low, high=high), grad=grad)
    case(
        f"{name}_method_double_transposed",
        f"a.{name}()",
        a=In((2, 3), "float64", low, high, layout="transposed"),
        rtol=1e-7,
        atol=1e-8,
    )
    case(f"{name}_half", f"torch.{name}(a)", a=In((5,), "float16", low, high), grad=False)
    case(f"{name}_scalar", f"torch.{name}(a)", a=In((), low=low, high=high), grad=grad)
    case(f"{name}_empty", f"torch.{name}(a)", a=In((0, 3)), strides=False)
    case(f"{name}_strided", f"torch.{name}(a)", a=In((2, 3), low=low, high=high, layout="strided"), grad=grad)
    case(f"{name}_int", f"torch.{name}(a)", a=In((4,), "int64", 1, 3))
    case(f"{name}_bool", f"torch.{name}(a)", a=In((4,), "bool"))
    case(
        f"{name}_inplace",
        f"b = a.clone(); b.{name}_()",
        a=In((3,), low=low, high=high),
        grad=grad and name not in NO_INPLACE_GRADIENT,
    )
    case(f"{name}_inplace_int", f"a.{name}_()", a=In((3,), "int32", 1, 3))
    case(f"{name}_out", f"torch.{name}(a, out=torch.empty(3))", a=In((3,), low=low, high=high, grad=False))
    case(f"{name}_special", f"torch.{name}(a)", a=In(values=SPECIAL, grad=False))
    case(
        f"{name}_complex",
        f"torch.{name}(a)",
        a=In((3,), "complex64", 0.2, 0.8),
        rtol=1e-4,
        atol=1e-5,
        grad=name != "nan_to_num",
    )
    if with_complex and name not in ("nan_to_num", "sgn"):
        case(f"{name}_complex_double", f"torch.{name}(a)", a=In((2, 2), "complex128", -0.8, 0.8), rtol=1e-6, atol=1e-6)

for name in ("lgamma", "digamma"):
    case(f"{name}_negative", f"torch.{name}(a)", a=In((6,), "float64", -5, -0.1))
    case(
        f"{name}_poles",
        f"torch.{name}(a)",
        a=In(values=[0.0, -0.0, -1.0, -2.0, 1.0, 2.0, 3.0, 30.0, 1e10], dtype="float64", grad=False),
    )
case(
    "erf_tails",
    "torch.erf(a), torch.erfc(a)",
    a=In(values=[-6.0, -4.0, -1.0, 0.01, 0.5, 1.0, 2.0, 5.0, 10.0], dtype="float64"),
    rtol=1e-7,
)
case(
    "erfc_far",
    "torch.erfc(a)",
    a=In(values=[6.0, 10.0, 15.0, 26.0, 40.0], dtype="float64", grad=False),
    rtol=1e-8,
    atol=0.0,
)
case("erfinv_edges", "torch.erfinv(a)", a=In(values=[-0.9999999, -0.5, 0.0, 0.3, 0.999999], dtype="float64"), rtol=1e-6)
case("sigmoid_large", "b = torch.sigmoid(a); b[0, :4], b[-1, -4:]", a=In((2, 20000), low=-30, high=30, grad=False))
case("round_half_even", "torch.round(a)", a=In(values=[0.5, 1.5, 2.5, -0.5, -1.5, 3.5]))
case("round_decimals", "torch.round(a, decimals=2), a.round(decimals=-1)", a=In((5,), low=-30, high=30))
case("round_decimals_int", "torch.round(a, decimals=1)", a=In((3,), "int64"))
case("logit_plain", "torch.logit(a)", a=In((3, 4), low=0.1, high=0.9))
case("logit_eps", "torch.logit(a, 0.2), a.logit(eps=0.1)", a=In((5,), low=-0.2, high=1.2))
case("logit_outside", "torch.logit(a)", a=In(values=[0.0, 1.0, -1.0, 2.0], grad=False))
case("polygamma", "torch.polygamma(1, a), torch.polygamma(2, a), torch.polygamma(0, a)", a=In((5,), "float64", 0.3, 5))
case("nan_to_num_given", "torch.nan_to_num(a, nan=1.0, posinf=2.0, neginf=-3.0)", a=In(values=SPECIAL))
case("positive", "torch.positive(a) is a, +a", a=In((3,)))
case("positive_bool", "torch.positive(a)", a=In((3,), "bool"))
case(
    "signbit",
    "torch.signbit(a), torch.signbit(b), torch.signbit(c)",
    a=In(values=SPECIAL),
    b=In((3,), "int64"),
    c=In((3,), "bool"),
)
for name in ("isnan", "isinf", "isfinite", "isposinf", "isneginf", "isreal"):
    case(f"{name}", f"torch.{name}(a), a.{name}()", a=In(values=SPECIAL))
    case(f"{name}_int", f"torch.{name}(a)", a=In((3,), "int64"))
    case(
        f"{name}_complex",
        f"torch.{name}(a)",
        a=In(values=[1 + 1j, complex("nan"), complex("inf"), 2.0], dtype="complex64"),
    )
for name in ("absolute", "negative", "arcsin", "arccos", "arctan", "arcsinh", "arctanh", "fix"):
    case(f"alias_{name}", f"torch.{name}(a), a.{name}()", a=In((3,), low=-0.9, high=0.9))
    case(
        f"alias_{name}_inplace",
        f"b = a.clone(); b.{name}_()",
        a=In((3,), low=-0.9, high=0.9),
        grad=name not in NO_INPLACE_GRADIENT,
    )
case("alias_arccosh", "torch.arccosh(a), a.clone().arccosh_()", a=In((3,), low=1.1, high=3, grad=False))
case(
    "second_derivatives",
    """
y = (torch.exp(a) + torch.sigmoid(a) * torch.tanh(a) + torch.erf(a) + torch.sin(a) * a ** 3 + torch.log(a + 3) + a.sqrt() + 1 / a)
g, = torch.autograd.grad(y.sum(), a, create_graph=True)
torch.autograd.grad((g * g).sum(), a)[0]""",
    a=In((4,), "float64", 0.2, 1.5),
    rtol=1e-7,
)

# --- two operands -------------------------------------------------------------------------------------------------------
for name, (low, high) in BINARY.items():
    grad = name not in NO_GRADIENT
    case(
        f"{name}_plain",
        f"torch.{name}(a, b)",
        a=In((3, 4), low=low, high=high),
        b=In((3, 4), low=low, high=high),
        grad=grad,
    )
    case(
        f"{name}_broadcast",
        f"a.{name}(b)",
        a=In((3, 1), "float64", low, high),
        b=In((2, 1, 4), "float64", low, high),
        grad=grad,
    )
    case(
        f"{name}_transposed",
        f"torch.{name}(a, b)",
        a=In((2, 3), low=low, high=high, layout="transposed"),
        b=In((2, 3), low=low, high=high, layout="transposed"),
        grad=grad,
    )
    case(
        f"{name}_half",
        f"torch.{name}(a, b)",
        a=In((4,), "float16", low, high),
        b=In((4,), "float16", low, high),
        grad=False,
    )
    case(
        f"{name}_mixed",
        f"torch.{name}(a, b)",
        a=In((3,), low=low, high=high),
        b=In((3,), "float64", low, high),
        grad=grad,
    )
    case(
        f"{name}_int_float", f"torch.{name}(a, b)", a=In((3,), "int64", 1, 4), b=In((3,), low=low, high=high), grad=grad
    )
    case(
        f"{name}_scalar_tensor",
        f"torch.{name}(a, b)",
        a=In((3,), low=low, high=high),
        b=In((), "float64", low, high),
        grad=grad,
    )
    case(f"{name}_ints", f"torch.{name}(a, b)", a=In((5,), "int64", -6, 6), b=In((5,), "int64", 1, 4))
    case(f"{name}_small_ints", f"torch.{name}(a, b)", a=In((5,), "int8", 1, 6), b=In((5,), "int32", 1, 4))
    case(f"{name}_bools", f"torch.{name}(a, b)", a=In((4,), "bool"), b=In((4,), "bool"))
    case(
        f"{name}_complex",
        f"torch.{name}(a, b)",
        a=In((3,), "complex64", 0.5, 1.5),
        b=In((3,), "complex64", 0.5, 1.5),
        rtol=1e-4,
        atol=1e-5,
    )
    case(
        f"{name}_real_complex",
        f"torch.{name}(a, b)",
        a=In((3,), low=0.5, high=1.5),
        b=In((3,), "complex64", 0.5, 1.5),
        rtol=1e-4,
        atol=1e-5,
        grad=name not in ("logaddexp", "ldexp"),
    )
    case(f"{name}_empty", f"torch.{name}(a, b)", a=In((0, 3)), b=In((1, 3)), grad=grad)
    case(f"{name}_mismatch", f"torch.{name}(a, b)", a=In((3,)), b=In((4,)))
    case(
        f"{name}_out",
        f"torch.{name}(a, b, out=torch.empty(3, dtype=torch.float64))",
        a=In((3,), low=low, high=high, grad=False),
        b=In((3,), low=low, high=high, grad=False),
    )
    case(
        f"{name}_special",
        f"torch.{name}(a.reshape(-1, 1), a)",
        a=In(values=[float("inf"), float("-inf"), float("nan"), 0.0, 1.0, -2.0], grad=False),
    )
    if name not in ("maximum", "minimum", "fmax", "fmin", "logaddexp", "logaddexp2", "float_power", "ldexp"):
        case(
            f"{name}_inplace",
            f"c = a.clone(); c.{name}_(b)",
            a=In((3, 2), low=low, high=high),
            b=In((2,), low=low, high=high),
            grad=grad,
        )
        case(
            f"{name}_inplace_int",
            f"a.{name}_(b)",
            a=In((3,), "int64", 1, 3),
            b=In((3,), low=low, high=high, grad=False),
        )
        case(f"{name}_inplace_shape", f"a.{name}_(b)", a=In((3,), grad=False), b=In((2, 3), grad=False))

CASES += elementwise_number_cases.CASES
CASES += elementwise_choice_cases.CASES

"""Cases of the elementwise family. Tables say which inputs an op gets; whatever is peculiar has a case of its own."""

from __future__ import annotations

from .harness import Case, In

CASES: list[Case] = []


def case(id: str, code: str, **keywords: object) -> None:
    CASES.append(Case(id, code, **keywords))  # type: ignore[arg-type]


SPECIAL = [float("inf"), float("-inf"), float("nan"), 0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -2.5, 1e30]

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
NO_GRADIENT = {"floor_divide"}
BINARY = {
    "add": (-2, 2),
    "sub": (-2, 2),
    "mul": (-2, 2),
    "div": (0.5, 3),
    "floor_divide": (0.5, 5),
    "remainder": (-5, 5),
    "fmod": (-5, 5),
    "pow": (0.3, 2.5),
    "maximum": (-2, 2),
    "minimum": (-2, 2),
    "fmax": (-2, 2),
    "fmin": (-2, 2),
    "atan2": (-2, 2),
    "hypot": (-2, 2),
    "logaddexp": (-3, 3),
    "logaddexp2": (-3, 3),
    "xlogy": (0.2, 3),
    "copysign": (-2, 2),
    "true_divide": (0.5, 3),
    "float_power": (0.3, 2.5),
    "subtract": (-2, 2),
    "multiply": (-2, 2),
    "divide": (0.5, 2),
    "arctan2": (-2, 2),
    "nextafter": (-2, 2),
    "ldexp": (-2, 2),
}
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

NUMBERS = {
    "add": 2.5,
    "sub": 2.5,
    "mul": 2.5,
    "div": 2.5,
    "floor_divide": 2,
    "remainder": 2,
    "fmod": 2,
    "pow": 2.5,
    "xlogy": 2.5,
    "copysign": -1.0,
    "float_power": 1.5,
    "true_divide": 4,
    "subtract": 1,
    "multiply": 3,
    "divide": 3,
}
for name, number in NUMBERS.items():
    grad = name not in NO_GRADIENT
    low, high = BINARY[name]
    case(f"{name}_number", f"torch.{name}(a, {number})", a=In((4,), low=low, high=high), grad=grad)
    case(f"{name}_number_int", f"torch.{name}(a, {number})", a=In((4,), "int64", 1, 5))
    case(f"{name}_number_int_whole", f"torch.{name}(a, 3)", a=In((4,), "int32", 1, 5))
    case(f"{name}_number_bool", f"torch.{name}(a, 3)", a=In((4,), "bool"))
    case(f"{name}_number_half", f"torch.{name}(a, {number})", a=In((4,), "float16", low, high), grad=False)
    case(f"{name}_number_double", f"a.{name}({number})", a=In((), "float64", low, high), grad=grad)
    case(
        f"{name}_number_complex",
        f"torch.{name}(a, {number})",
        a=In((3,), "complex64", low, high),
        grad=grad,
        rtol=1e-4,
        atol=1e-5,
    )
    case(f"{name}_number_inplace", f"b = a.clone(); b.{name}_({number})", a=In((4,), "float64", low, high), grad=grad)
for name in ("add", "sub", "mul", "div"):
    case(f"{name}_complex_number", f"torch.{name}(a, 1 + 2j)", a=In((3,)), grad=False)
    case(f"{name}_number_first", f"torch.{name}(2, a), torch.{name}(2.5, a)", a=In((3,), low=1, high=2))
    case(f"{name}_numbers_only", f"torch.{name}(2, 3)")
OPERATORS = {"add": "+", "sub": "-", "mul": "*", "div": "/", "floor_divide": "//", "remainder": "%", "pow": "**"}
for name, sign in OPERATORS.items():
    grad = name != "floor_divide"
    case(
        f"operator_{name}",
        f"a {sign} b, a {sign} 2",
        a=In((3,), low=0.5, high=3),
        b=In((3,), low=0.5, high=3),
        grad=grad,
    )
    case(f"operator_{name}_reflected", f"2 {sign} a", a=In((3,), low=0.5, high=3), grad=grad and name != "remainder")
    case(
        f"operator_{name}_inplace",
        f"c = a.clone(); c {sign}= b; c {sign}= 2; c",
        a=In((3,), low=0.5, high=3),
        b=In((3,), low=0.5, high=3),
        grad=grad and name != "pow",
    )
    case(f"operator_{name}_int", f"a {sign} 2, 5 {sign} a, a {sign} 2.5", a=In((3,), "int64", 1, 4))

case(
    "add_alpha",
    "torch.add(a, b, alpha=2.5), torch.sub(a, b, alpha=-0.5), torch.add(a, 3, alpha=2), torch.rsub(a, b, alpha=2)",
    a=In((3,)),
    b=In((3,)),
)
case("add_alpha_inplace", "c = a.clone(); c.add_(b, alpha=-0.1); c.sub_(b, alpha=0.3)", a=In((3, 4)), b=In((3, 4)))
case(
    "add_alpha_large",
    "c = a.clone(); c.add_(b, alpha=-0.1); c[0, :5], c[-1, -5:]",
    a=In((2, 40000), grad=False),
    b=In((2, 40000), grad=False),
)
case("add_alpha_broadcast", "c = a.clone(); c.add_(b, alpha=2)", a=In((3, 4)), b=In((4,)))
case("add_alpha_float_for_int", "torch.add(a, a, alpha=0.5)", a=In((3,), "int64"))
case("add_alpha_bool_for_float", "torch.add(a, a, alpha=True)", a=In((3,), grad=False))
case("add_wraps_small_ints", "a + 300, a * -1, a - 1, 300 - a, a > -1, a == 300", a=In((4,), "uint8", 0, 9))
case("rsub_number", "torch.rsub(a, 2), 1 - a, torch.rsub(a, 2, alpha=3)", a=In((3,)))
case("sub_bool_number", "1 - a", a=In((3,), "bool"))
case("operator_sub_bool", "a - 1", a=In((3,), "bool"))
case("sub_float_bool", "a - b", a=In((3,), grad=False), b=In((3,), "bool"))
case(
    "div_rounding",
    "torch.div(a, b, rounding_mode='floor'), torch.div(a, b, rounding_mode='trunc'), torch.div(a, b, rounding_mode=None), a.div(2, rounding_mode='floor')",
    a=In((6,), low=-5, high=5),
    b=In((6,), low=0.5, high=3),
)
case(
    "div_rounding_int",
    "torch.div(a, b, rounding_mode='floor'), torch.div(a, b, rounding_mode='trunc'), torch.div(a, b, rounding_mode=None), torch.divide(a, b, rounding_mode='trunc')",
    a=In((8,), "int64", -9, 9),
    b=In(values=[2, -2, 3, -3, 4, -5, 1, -1], dtype="int64"),
)
case("div_rounding_unknown", "torch.div(a, a, rounding_mode='up')", a=In((3,)))
case("div_rounding_inplace", "b = a.clone(); b.div_(0.7, rounding_mode='floor')", a=In((3,)), grad=False)
case("int_division_by_zero", "a // 0", a=In((3,), "int64"))
case("int_remainder_by_zero", "a % 0", a=In((3,), "int64"))
case("int_fmod_by_zero_tensor", "torch.fmod(a, b)", a=In((3,), "int32"), b=In(values=[1, 0, 2], dtype="int32"))
case(
    "signs_of_division",
    "a // b, a % b, torch.fmod(a, b)",
    a=In(values=[-5, 5, -7, 7, -6], dtype="int64"),
    b=In(values=[2, -2, -2, 2, 3], dtype="int64"),
)
case(
    "signs_of_float_division",
    "a // b, a % b, torch.fmod(a, b)",
    a=In(values=[-5.5, 5.5, -7.0, 7.0, -6.0, 0.0, -0.0]),
    b=In(values=[2.0, -2.0, -2.0, 2.0, 3.0, -1.0, 1.0]),
    grad=False,
)
case(
    "power_whole",
    "a ** 0, a ** 1, a ** 2, a ** 3, a ** 4, a ** -1, a ** -2, a ** 0.5, a ** -0.5",
    a=In((4,), low=0.3, high=2),
)
case("power_negative_base", "a ** 2, a ** 3, a ** -1, a ** 0.5", a=In((4,), low=-2, high=-0.3))
case("power_int", "a ** 0, a ** 1, a ** 2, a ** 3, a ** 5, a ** 2.0, a ** 0.5", a=In((4,), "int64", 0, 5))
case("power_int_negative", "a ** -1", a=In((3,), "int64", 1, 3))
case(
    "power_int_negative_tensor",
    "a ** b, torch.pow(2, b), torch.pow(-1, b)",
    a=In(values=[1, -1, 2, -1, 3], dtype="int64"),
    b=In(values=[-1, -1, -2, -2, 2], dtype="int64"),
)
case("power_of_constant", "torch.pow(2, a), torch.pow(2.5, a), torch.pow(1, a)", a=In((3,)))
case("power_of_zero", "torch.pow(a, b)", a=In(values=[0.0, 0.0, 0.0, 2.0]), b=In(values=[0.0, 1.0, 2.0, 0.0]))
case("power_zero_base", "torch.pow(0, a)", a=In(values=[0.5, 1.0, 2.0]))
case("float_power_inplace_int", "a.float_power_(2)", a=In((3,), "int64"))
case(
    "maximum_ties",
    "torch.maximum(a, b), torch.minimum(a, b), torch.fmax(a, b), torch.fmin(a, b)",
    a=In(values=[1.0, 2.0, float("nan"), 3.0]),
    b=In(values=[1.0, 1.0, 2.0, float("nan")]),
)
case(
    "xlogy_zero",
    "torch.xlogy(a, b), torch.xlogy(0, b), torch.xlogy(a, 0.0)",
    a=In(values=[0.0, 0.0, 1.0, 2.0], grad=False),
    b=In(values=[0.0, float("nan"), 0.0, 3.0], grad=False),
)
case("heaviside", "torch.heaviside(a, b)", a=In(values=SPECIAL, grad=False), b=In((1,), grad=False))
case("heaviside_types", "torch.heaviside(a, b)", a=In((3,), grad=False), b=In((3,), "int64"))
case(
    "gcd_lcm", "torch.gcd(a, b), torch.lcm(a, b), a.gcd(b)", a=In((6,), "int64", -12, 12), b=In((6,), "int32", -12, 12)
)
case("gcd_float", "torch.gcd(a, a)", a=In((3,), grad=False))
case(
    "refused_gradient",
    "torch.floor_divide(a, b)",
    a=In((3,), low=1, high=2, grad=True),
    b=In((3,), low=1, high=2),
    grad=False,
)

# --- comparisons, logic, bits -------------------------------------------------------------------------------------------
for name, sign in {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}.items():
    case(
        f"{name}_plain",
        f"torch.{name}(a, b), a.{name}(b), a {sign} b, a {sign} 0, 0 {sign} a",
        a=In((6,), "float32"),
        b=In((6,), "float32"),
        grad=False,
    )
    case(
        f"{name}_ints", f"a {sign} b, a {sign} 1, a {sign} 0.5, a {sign} True", a=In((6,), "int64"), b=In((6,), "int64")
    )
    case(f"{name}_mixed", f"a {sign} b", a=In((3, 1), "int32"), b=In((2,), "float64"), grad=False)
    case(f"{name}_bool", f"a {sign} b", a=In((6,), "bool"), b=In((6,), "bool"))
    case(f"{name}_nan", f"a {sign} a, a {sign} 1", a=In(values=SPECIAL), grad=False)
    case(f"{name}_complex", f"a {sign} a", a=In((3,), "complex64"), grad=False)
    case(f"{name}_mismatch", f"a {sign} b", a=In((3,)), b=In((4,)), grad=False)
    case(f"{name}_inplace", f"a.{name}_(b), a", a=In((4,)), b=In((4,)), grad=False)
    case(
        f"{name}_out",
        f"torch.{name}(a, b, out=torch.empty(4, dtype=torch.bool)), torch.{name}(a, 0, out=torch.empty(4))",
        a=In((4,)),
        b=In((4,)),
        grad=False,
    )
for name in ("greater", "greater_equal", "less", "less_equal", "not_equal"):
    case(f"alias_{name}", f"torch.{name}(a, b), a.{name}(0)", a=In((4,)), b=In((4,)), grad=False)
for name in ("logical_and", "logical_or", "logical_xor"):
    case(
        f"{name}",
        f"torch.{name}(a, b), a.{name}(b)",
        a=In((2, 3), "int64", 0, 1),
        b=In((3,), low=0, high=1),
        grad=False,
    )
    case(f"{name}_inplace", f"a.{name}_(b)", a=In((3,), low=0, high=1), b=In((3,), "bool"), grad=False)
case(
    "logical_not",
    "torch.logical_not(a), b.logical_not(), b.logical_not_()",
    a=In((3,), "int64", 0, 1),
    b=In((3,), "bool"),
)
for name, sign in {"bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^"}.items():
    case(
        f"{name}_ints",
        f"torch.{name}(a, b), a {sign} b, a {sign} 5, 5 {sign} a, torch.{name}(6, a), a.{name}(3)",
        a=In((5,), "int64", -9, 9),
        b=In((5,), "int32", -9, 9),
    )
    case(f"{name}_bools", f"a {sign} b, a {sign} True, False {sign} a", a=In((5,), "bool"), b=In((5,), "bool"))
    case(
        f"{name}_inplace",
        f"a {sign}= b; a.{name}_(3); a {sign}= 6; a",
        a=In((5,), "int64", -9, 9),
        b=In((5,), "int64", -9, 9),
    )
    case(f"{name}_float", f"a {sign} a", a=In((3,)), grad=False)
    case(f"{name}_number_float", f"a {sign} 1.5", a=In((3,), "int64"))
case("bitwise_not", "~a, ~b, torch.bitwise_not(a)", a=In((4,), "int64", -9, 9), b=In((4,), "bool"))
case("bitwise_not_float", "~a", a=In((3,)), grad=False)
for name, sign in {"bitwise_left_shift": "<<", "bitwise_right_shift": ">>"}.items():
    case(
        f"{name}",
        f"a {sign} b, a {sign} 2, torch.{name}(a, b), torch.{name}(a, 1), torch.{name}(40, b), 40 {sign} b",
        a=In((5,), "int64", -40, 40),
        b=In((5,), "int64", 0, 4),
    )
    case(f"{name}_inplace", f"a {sign}= b; a {sign}= 1; a", a=In((5,), "int64", -40, 40), b=In((5,), "int64", 0, 4))
    case(
        f"{name}_far",
        f"a {sign} b, a {sign} 70, a {sign} -1",
        a=In((4,), "int64", -40, 40),
        b=In(values=[64, 63, -1, 100], dtype="int64"),
    )
case(
    "isclose",
    "torch.isclose(a, b), torch.isclose(a, b, rtol=0.5), torch.isclose(a, b, atol=10.0), torch.isclose(a, b, equal_nan=True), a.isclose(b, 0, 0)",
    a=In(values=SPECIAL, grad=False),
    b=In(values=[float("inf"), float("-inf"), float("nan"), 1e-9, 0.0, 1.1, -1.0, 0.5, 2.6, 0.0, 1e30], grad=False),
)
case("isclose_int", "torch.isclose(a, b), torch.allclose(a, b, rtol=10.0)", a=In((4,), "int64"), b=In((4,), "int64"))
case("isclose_types", "torch.isclose(a, b)", a=In((3,), grad=False), b=In((3,), "int64"))
case("isclose_negative", "torch.isclose(a, a, rtol=-1)", a=In((3,), grad=False))
case(
    "allclose",
    "torch.allclose(a, a), torch.allclose(a, a + 1e-9), torch.allclose(a, a + 1), a.allclose(a)",
    a=In((3,), grad=False),
)
case(
    "equal",
    "torch.equal(a, a), torch.equal(a, b), a.equal(a + 1), torch.equal(a, a.long())",
    a=In((3,), grad=False),
    b=In((2,), grad=False),
)

# --- limits, choices, mixtures ------------------------------------------------------------------------------------------
for name in ("clamp", "clip"):
    case(f"{name}_both", f"torch.{name}(a, -0.5, 0.5), a.{name}(min=-1), a.{name}(max=1)", a=In((3, 4)))
    case(
        f"{name}_tensors",
        f"torch.{name}(a, b, c), a.{name}(b), a.{name}(max=c)",
        a=In((3, 4)),
        b=In((4,), low=-1, high=0),
        c=In((3, 1), low=0, high=1),
    )
    case(f"{name}_int", f"torch.{name}(a, 0, 1), a.{name}(0.5), a.{name}(max=1.5)", a=In((5,), "int64", -3, 3))
    case(f"{name}_inplace", f"b = a.clone(); b.{name}_(-0.5, 0.5)", a=In((4,), "float64"))
    case(f"{name}_none", f"torch.{name}(a)", a=In((3,), grad=False))
    case(
        f"{name}_special",
        f"torch.{name}(a, -1, 1), torch.{name}(a, min=float('nan')), torch.{name}(a, 2, 1)",
        a=In(values=SPECIAL, grad=False),
    )
    case(f"{name}_out", f"torch.{name}(a, 0, 1, out=torch.empty(3))", a=In((3,), grad=False))
case(
    "clamp_large", "c = torch.clamp(a, -0.5, 0.5); d = a.clamp(min=0); c[:3], c[-3:], d[:3]", a=In((70000,), grad=False)
)
case("clamp_large_int", "c = torch.clamp(a, -1, 1); d = a.clamp_min(0); c[:5], d[-5:]", a=In((5000,), "int32", -3, 3))
case("clamp_complex", "torch.clamp(a, 0, 1)", a=In((3,), "complex64"), grad=False)
case("clamp_crossed", "torch.clamp(a, b, c)", a=In((4,)), b=In((4,), low=0, high=1), c=In((4,), low=-1, high=0.5))
case(
    "clamp_min_max",
    "a.clamp_min(0.1), a.clamp_max(0.1), torch.clamp_min(a, b), torch.clamp_max(a, b)",
    a=In((3, 4)),
    b=In((4,)),
)
case("clamp_min_max_inplace", "b = a.clone(); b.clamp_min_(-0.5); b.clamp_max_(0.5)", a=In((5,)))
case(
    "clamp_min_int",
    "a.clamp_min(1), a.clamp_min(0.5), a.clamp_max(b)",
    a=In((4,), "int64"),
    b=In((), "float32", grad=False),
)
case("where_tensors", "torch.where(a > 0, a, b), b.where(a > 0, a)", a=In((3, 4)), b=In((4,)))
case("where_mixed", "torch.where(m, a, b)", m=In((3,), "bool"), a=In((3,), "int64"), b=In((), "float64"))
case(
    "where_numbers",
    "torch.where(m, a, 0.5), torch.where(m, 1, a), torch.where(m, 1.0, 2), torch.where(m, 1, 2)",
    m=In((3,), "bool"),
    a=In((3,)),
)
case("where_number_promotes", "torch.where(m, a, 0.5), torch.where(m, 2, a)", m=In((3,), "bool"), a=In((3,), "int32"))
case("where_half", "torch.where(m, a, 0.5)", m=In((3,), "bool"), a=In((3,), "float16"), grad=False)
case("where_positions", "torch.where(m)", m=In((3, 4), "bool"))
case(
    "where_large",
    "c = torch.where(m, a, b); d = torch.where(m, a, b.double()); c[0, :5], d[-1, -5:], c.sum(dtype=torch.float64)",
    m=In((3, 1000), "bool"),
    a=In((3, 1000), grad=False),
    b=In((3, 1000), grad=False),
)
case("where_condition_type", "torch.where(a, a, a)", a=In((3,), "int64"))
case("where_empty", "torch.where(m, a, a)", m=In((0, 2), "bool"), a=In((2,)))
case("lerp_number", "torch.lerp(a, b, 0.3), a.lerp(b, 0.8), torch.lerp(a, b, -2)", a=In((3, 4)), b=In((4,)))
case("lerp_tensor", "torch.lerp(a, b, w)", a=In((3, 4)), b=In((4,)), w=In((3, 1), low=-1, high=1))
case(
    "lerp_inplace",
    "c = a.clone(); c.lerp_(b, 0.1); c.lerp_(b, 0.9); c.lerp_(b, w)",
    a=In((3,)),
    b=In((3,)),
    w=In((3,), low=0, high=1),
)
case(
    "lerp_large",
    "c = a.clone(); c.lerp_(b, 0.1); c[:4], c[-4:]",
    a=In((70000,), grad=False),
    b=In((70000,), grad=False),
)
case("lerp_types", "torch.lerp(a, b, 0.5)", a=In((3,), grad=False), b=In((3,), "float64", grad=False))
case("lerp_int", "torch.lerp(a, a, 2)", a=In((3,), "int64"))
case("lerp_complex", "torch.lerp(a, b, 0.25)", a=In((3,), "complex64"), b=In((3,), "complex64"))
for name in ("addcmul", "addcdiv"):
    case(
        f"{name}_plain",
        f"torch.{name}(a, b, c), a.{name}(b, c, value=0.5)",
        a=In((3, 4)),
        b=In((3, 1)),
        c=In((4,), low=0.5, high=2),
    )
    case(
        f"{name}_inplace",
        f"d = a.clone(); d.{name}_(b, c, value=-0.3); d.{name}_(b, c)",
        a=In((3,)),
        b=In((3,)),
        c=In((3,), low=0.5, high=2),
    )
    case(
        f"{name}_inplace_broadcast",
        f"d = a.clone(); d.{name}_(b, c, value=2)",
        a=In((3, 2)),
        b=In((2,)),
        c=In((3, 1), low=0.5, high=2),
    )
    case(
        f"{name}_large",
        f"d = a.clone(); d.{name}_(b, b, value=0.5); d[:3], d[-3:]",
        a=In((70000,), grad=False),
        b=In((70000,), low=1, high=2, grad=False),
    )
    case(f"{name}_int", f"torch.{name}(a, a, a)", a=In((3,), "int64", 1, 3))
    case(f"{name}_mixed", f"torch.{name}(a, b, b)", a=In((3,)), b=In((3,), "int64", 1, 3), grad=False)
    case(
        f"{name}_complex", f"torch.{name}(a, b, b, value=2)", a=In((3,), "complex64"), b=In((3,), "complex64", 0.5, 1.5)
    )
    case(f"{name}_out", f"torch.{name}(a, a, a, out=torch.empty(3))", a=In((3,), low=1, high=2, grad=False))
case("masked_fill", "a.masked_fill(m, 2.5), torch.masked_fill(a, m, -1)", a=In((3, 4)), m=In((4,), "bool"))
case("masked_fill_tensor", "a.masked_fill(m, v)", a=In((3, 4)), m=In((3, 4), "bool"), v=In(()))
case("masked_fill_inplace", "b = a.clone(); b.masked_fill_(m, 1.5)", a=In((3, 4)), m=In((3, 1), "bool"))
case("masked_fill_wider_mask", "a.masked_fill(m, 0)", a=In((4,)), m=In((3, 4), "bool"))
case(
    "masked_fill_large",
    "b = a.masked_fill(m, float('-inf')); b[0, :6], b[-1, -6:]",
    a=In((4, 300), grad=False),
    m=In((4, 300), "bool"),
)
case(
    "masked_fill_int",
    "a.masked_fill(m, 0.5), a.masked_fill(m, 7), m.masked_fill(m, 2)",
    a=In((3,), "int64"),
    m=In((3,), "bool"),
)
case("masked_fill_mask_type", "a.masked_fill(m, 1)", a=In((3,), grad=False), m=In((3,), "int64"))
case("masked_fill_mismatch", "a.masked_fill(m, 1)", a=In((3,), grad=False), m=In((2,), "bool"))
case("masked_fill_inplace_shape", "a.masked_fill_(m, 1)", a=In((3,), grad=False), m=In((2, 3), "bool"))
case(
    "masked_fill_value_dims", "a.masked_fill(m, v)", a=In((3,), grad=False), m=In((3,), "bool"), v=In((1,), grad=False)
)
case("masked_fill_complex_value", "a.masked_fill(m, 1j)", a=In((3,), grad=False), m=In((3,), "bool"))
case("masked_fill_transposed", "a.masked_fill(m, 0)", a=In((2, 3), layout="transposed"), m=In((2, 3), "bool"))

# --- writes -------------------------------------------------------------------------------------------------------------
case("copy_plain", "c = a.clone(); c.copy_(b)", a=In((3, 4)), b=In((4,)))
case(
    "copy_types",
    "torch.zeros(3, dtype=torch.int64).copy_(a), torch.zeros(3, dtype=torch.float64).copy_(a), torch.zeros(3, dtype=torch.bool).copy_(a)",
    a=In((3,), low=-3, high=3, grad=False),
)
case("copy_casts_gradient", "c = torch.zeros(3, dtype=torch.float64); c.copy_(a)", a=In((3,)))
case("copy_complex_to_real", "torch.zeros(3).copy_(a)", a=In((3,), "complex64"), grad=False)
case("copy_mismatch", "a.copy_(b)", a=In((3,), grad=False), b=In((4,), grad=False))
case("copy_too_large", "a.copy_(b)", a=In((3,), grad=False), b=In((2, 3), grad=False))
case("copy_into_view", "c = a.clone(); c[1].copy_(b); c", a=In((3, 4)), b=In((4,)))
case("fill_number", "b = a.clone(); b.fill_(2.5)", a=In((3,)))
case("fill_tensor", "b = a.clone(); b.fill_(v)", a=In((3,)), v=In(()))
case("fill_int", "a.fill_(2.7)", a=In((3,), "int64"))
case("fill_overflow", "torch.zeros(3, dtype=torch.int8).fill_(300)")
case("fill_dims", "a.fill_(v)", a=In((3,), grad=False), v=In((1,), grad=False))
case("fill_functional", "torch.fill(a, 2), torch.fill(a, v)", a=In((3,)), v=In(()))
case("zero_", "b = a.clone(); b.zero_()", a=In((3,)))
case("zero_part", "b = a.clone(); b[:, 1].zero_(); b", a=In((2, 3)))

# --- complex numbers ----------------------------------------------------------------------------------------------------
case("complex_parts", "torch.real(a), torch.imag(a), a.real, a.imag", a=In((2, 3), "complex64"))
case("complex_parts_strided", "a.real, a.imag", a=In((2, 3), "complex64", layout="transposed"), grad=False)
case("complex_views", "torch.view_as_real(a), torch.view_as_complex(b)", a=In((3,), "complex64"), b=In((3, 2)))
case("complex_view_writes", "b = a.clone(); b.real.fill_(2); b.imag[0] = 7; b", a=In((3,), "complex64", grad=False))
case("complex_view_of_real", "torch.view_as_real(a)", a=In((3,), grad=False))
case("complex_view_last_size", "torch.view_as_complex(a)", a=In((3, 3), grad=False))
case("complex_view_stride", "torch.view_as_complex(a)", a=In((3, 2), layout="transposed", grad=False))
case("complex_imag_of_real", "torch.imag(a)", a=In((3,), grad=False))
case("complex_real_of_real", "torch.real(a) is a, a.conj() is a, a.resolve_conj() is a", a=In((3,), grad=False))
case("complex_conj", "torch.conj(a) * 1, a.conj_physical(), a.resolve_conj(), a.resolve_neg()", a=In((3,), "complex64"))
case("complex_conj_real", "torch.conj_physical(a), torch.conj(a)", a=In((3,), "int64"))
case("complex_conj_inplace", "b = a.clone(); b.conj_physical_()", a=In((3,), "complex64"), grad=False)
case("complex_angle", "torch.angle(a)", a=In((4,), "complex64"), rtol=1e-4)
case("complex_angle_real", "torch.angle(a), torch.angle(b)", a=In(values=SPECIAL), b=In((3,), "int64"))
case("complex_make", "torch.complex(a, b), torch.polar(a, b)", a=In((3,), low=0.5, high=2), b=In((3,)))
case("complex_make_double", "torch.complex(a, b)", a=In((2, 1), "float64"), b=In((3,), "float64"))
case("complex_make_types", "torch.complex(a, b)", a=In((3,), grad=False), b=In((3,), "float64", grad=False))
case("complex_make_ints", "torch.polar(a, a)", a=In((3,), "int64"))
case(
    "complex_arithmetic",
    "(a * b + a / b - a) * (2 + 1j)",
    a=In((3,), "complex64", 0.5, 1.5),
    b=In((3,), "complex64", 0.5, 1.5),
    rtol=1e-4,
)
case(
    "complex_real_loss",
    "(a * b).abs().sum() + (b * 2).real.sum()",
    a=In((3,)),
    b=In((3,), "complex64", 0.5, 1.5),
    rtol=1e-4,
)

# --- torch.special ------------------------------------------------------------------------------------------------------
for name, (low, high) in {
    "erf": (-2, 2),
    "erfc": (-2, 2),
    "erfinv": (-0.9, 0.9),
    "expit": (-3, 3),
    "expm1": (-1, 1),
    "exp2": (-1, 1),
    "gammaln": (0.3, 5),
    "digamma": (0.3, 5),
    "psi": (0.3, 5),
    "log1p": (-0.5, 3),
    "sinc": (-2, 2),
    "entr": (0.1, 2),
    "erfcx": (-1, 5),
    "ndtri": (0.05, 0.95),
    "logit": (0.1, 0.9),
    "round": (-3, 3),
}.items():
    case(f"special_{name}", f"torch.special.{name}(a)", a=In((4,), "float64", low, high), rtol=1e-7)
case("special_ndtr", "torch.special.ndtr(a)", a=In((4,), "float64", -3, 3, grad=False))
case("special_xlogy", "torch.special.xlogy(a, b)", a=In((3,), low=0.2, high=2), b=In((3,), low=0.2, high=2))
case("special_entr_edges", "torch.special.entr(a)", a=In(values=SPECIAL, grad=False))

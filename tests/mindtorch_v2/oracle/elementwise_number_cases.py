"""Cases of the elementwise family: two operands of which one is a number, operators, and what is peculiar."""

from __future__ import annotations

from .elementwise_inputs import BINARY, NO_GRADIENT, SPECIAL
from .harness import Case, In

CASES: list[Case] = []


def case(id: str, code: str, **keywords: object) -> None:
    CASES.append(Case(id, code, **keywords))  # type: ignore[arg-type]


# --- two operands -------------------------------------------------------------------------------------------------------

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

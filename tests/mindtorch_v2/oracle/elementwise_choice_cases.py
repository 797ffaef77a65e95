"""Cases of the elementwise family: comparisons, logic, bits, limits, choices, mixtures, writes, complex numbers."""

from __future__ import annotations

from .elementwise_inputs import SPECIAL
from .harness import Case, In

CASES: list[Case] = []


def case(id: str, code: str, **keywords: object) -> None:
    CASES.append(Case(id, code, **keywords))  # type: ignore[arg-type]


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

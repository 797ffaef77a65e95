"""Declarations of the ops that treat every element alike: arithmetic, functions, comparisons, masks, complex parts.

Ops of one shape are declared by a table: a row of names and what they share.
"""

from __future__ import annotations

from typing import Any

from .._shape import broadcast_shapes
from .rules import COMPARE, FLOAT, PREDICATE, PROMOTE, SAME, Rule, Spec, alike, as_float, result_type
from .table import op

TRUTH = "the result is a truth value"
BITS = "the result is a pattern of bits"
INTEGERS = "integers only"


# --- output rules that no common rule covers
def _real_like(self: Any) -> Spec:
    """abs: complex numbers give their size, everything else keeps its type."""
    return alike(self, self.dtype.to_real())


def _angle_like(self: Any) -> Spec:
    return alike(self, as_float(self.dtype).to_real())


def _complex_of(first: Any, second: Any) -> Spec:
    return Spec(broadcast_shapes(tuple(first.shape), tuple(second.shape)), first.dtype.to_complex())


def _division_spec(self: Any, other: Any, rounding_mode: str | None) -> Spec:
    """div with a rounding mode: without one the quotient is floating, with one integers stay."""
    shapes = [tuple(x.shape) for x in (self, other) if hasattr(x, "shape")]
    common = result_type(self, other)
    return Spec(broadcast_shapes(*shapes), as_float(common) if rounding_mode is None else common)


def _parts(self: Any) -> Spec:
    return Spec((*self.shape, 2), self.dtype.to_real())


# --- one tensor in, one out
for _name in (
    "exp",
    "exp2",
    "expm1",
    "log",
    "log2",
    "log10",
    "log1p",
    "sqrt",
    "rsqrt",
    "reciprocal",
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "sinh",
    "cosh",
    "tanh",
    "asinh",
    "acosh",
    "atanh",
    "erf",
    "erfc",
    "erfinv",
    "sigmoid",
    "sinc",
    "lgamma",
    "digamma",
):
    op(f"{_name}(Tensor self) -> Tensor", FLOAT, inplace=True, out=True)
for _name in ("deg2rad", "rad2deg"):
    op(f"{_name}(Tensor self) -> Tensor", FLOAT, inplace=True, out=True)
op("logit(Tensor self, float? eps=None) -> Tensor", FLOAT, inplace=True, out=True)

for _name in ("neg", "sgn", "frac"):
    op(f"{_name}(Tensor self) -> Tensor", SAME, inplace=True, out=True)
for _name in ("sign", "floor", "ceil", "trunc", "round"):
    op(f"{_name}(Tensor self) -> Tensor", SAME, inplace=True, out=True)
op("round.decimals(Tensor self, *, int decimals) -> Tensor", SAME, inplace=True, out=True)
op("bitwise_not(Tensor self) -> Tensor", SAME, inplace=True, out=True, no_grad=BITS)
op(
    "nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? neginf=None) -> Tensor",
    SAME,
    inplace=True,
    out=True,
)
op("abs(Tensor self) -> Tensor", meta=_real_like, inplace=True, out="same")
op("angle(Tensor self) -> Tensor", meta=_angle_like, out="cast")
op("positive(Tensor(a) self) -> Tensor(a)")
op("polygamma(int n, Tensor self) -> Tensor", FLOAT, out=True, method=False)

op("logical_not(Tensor self) -> Tensor", PREDICATE, inplace=True, out=True, no_grad=TRUTH)
for _name in ("signbit", "isposinf", "isneginf"):
    op(f"{_name}(Tensor self) -> Tensor", PREDICATE, out=True, no_grad=TRUTH)
for _name in ("isnan", "isinf", "isfinite", "isreal"):
    op(f"{_name}(Tensor self) -> Tensor")

UNARY_ALIASES = {
    "absolute": "abs",
    "negative": "neg",
    "arcsin": "asin",
    "arccos": "acos",
    "arctan": "atan",
    "arcsinh": "asinh",
    "arccosh": "acosh",
    "arctanh": "atanh",
    "fix": "trunc",
}
for _name in UNARY_ALIASES:
    op(f"{_name}(Tensor self) -> Tensor", inplace=True, out="cast" if _name.startswith("arc") else "same")
op("square(Tensor self) -> Tensor", inplace=True, out="cast")

# --- two operands
# ------------------------------------------------------------------------------------------------------- Python numbers
# stand for tensors in these; elsewhere PyTorch has overloads of their own for them.
_BOTH = ("self", "other")
op("add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", PROMOTE, numbers=_BOTH, inplace=True, out=True)
op("sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", PROMOTE, numbers=_BOTH, inplace=True, out=True)
op("mul.Tensor(Tensor self, Tensor other) -> Tensor", PROMOTE, numbers=_BOTH, inplace=True, out=True)
op("div.Tensor(Tensor self, Tensor other) -> Tensor", FLOAT, numbers=_BOTH, inplace=True, out=True)
op(
    "div.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor",
    Rule("promote"),
    meta=_division_spec,
    numbers=_BOTH,
    inplace=True,
    out="cast",
)
op("floor_divide(Tensor self, Tensor other) -> Tensor", PROMOTE, numbers=_BOTH, inplace=True, out=True)
op("rsub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", PROMOTE, method=False)
op("rsub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor", PROMOTE.of(*_BOTH), method=False)
op("subtract.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", numbers=_BOTH, inplace=True, out="cast")
for _name in ("multiply", "divide", "true_divide"):
    op(f"{_name}.Tensor(Tensor self, Tensor other) -> Tensor", numbers=_BOTH, inplace=True, out="cast")
op(
    "divide.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor",
    numbers=_BOTH,
    inplace=True,
    out="cast",
)

for _name in ("remainder", "fmod"):
    op(f"{_name}.Tensor(Tensor self, Tensor other) -> Tensor", PROMOTE, inplace=True, out=True)
    op(f"{_name}.Scalar(Tensor self, Scalar other) -> Tensor", PROMOTE.of(*_BOTH), inplace=True, out=True)
op("remainder.Scalar_Tensor(Scalar self, Tensor other) -> Tensor", PROMOTE.of(*_BOTH), method=False)

op("pow.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor", PROMOTE, inplace=True, out=True)
op("pow.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor", PROMOTE.of("self", "exponent"), inplace=True, out=True)
op("pow.Scalar(Scalar self, Tensor exponent) -> Tensor", PROMOTE.of("self", "exponent"), out=True, method=False)
op("float_power.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor", inplace=True, out=True)
op("float_power.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor", inplace=True, out=True)
op("float_power.Scalar(Scalar self, Tensor exponent) -> Tensor", out=True, method=False)

for _name in ("atan2", "hypot"):
    op(f"{_name}(Tensor self, Tensor other) -> Tensor", FLOAT if _name == "atan2" else PROMOTE, inplace=True, out=True)
op("arctan2(Tensor self, Tensor other) -> Tensor", inplace=True, out="cast")
for _name in ("maximum", "minimum", "fmax", "fmin", "logaddexp", "logaddexp2"):
    op(f"{_name}(Tensor self, Tensor other) -> Tensor", PROMOTE, out=True)
op("nextafter(Tensor self, Tensor other) -> Tensor", PROMOTE, inplace=True, out=True)
op("xlogy.Tensor(Tensor self, Tensor other) -> Tensor", FLOAT, inplace=True, out=True)
op("xlogy.Scalar_Other(Tensor self, Scalar other) -> Tensor", FLOAT.of(*_BOTH), inplace=True, out=True)
op("xlogy.Scalar_Self(Scalar self, Tensor other) -> Tensor", FLOAT.of(*_BOTH), out=True, method=False)
op("copysign.Tensor(Tensor self, Tensor other) -> Tensor", FLOAT, inplace=True, out=True)
op("copysign.Scalar(Tensor self, Scalar other) -> Tensor", FLOAT.of(*_BOTH), inplace=True, out=True)
op("heaviside(Tensor self, Tensor values) -> Tensor", SAME, inplace=True, out=True)
op("ldexp.Tensor(Tensor self, Tensor other) -> Tensor", inplace=True, out=True)
for _name in ("gcd", "lcm"):
    op(f"{_name}(Tensor self, Tensor other) -> Tensor", PROMOTE, inplace=True, out=True, no_grad=INTEGERS)

# --- comparisons, logic, bits
COMPARE_ALIASES = {"greater": "gt", "greater_equal": "ge", "less": "lt", "less_equal": "le", "not_equal": "ne"}
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    op(f"{_name}.Tensor(Tensor self, Tensor other) -> Tensor", COMPARE, inplace=True, out=True, no_grad=TRUTH)
    op(f"{_name}.Scalar(Tensor self, Scalar other) -> Tensor", PREDICATE, inplace=True, out=True, no_grad=TRUTH)
for _name in COMPARE_ALIASES:
    op(f"{_name}.Tensor(Tensor self, Tensor other) -> Tensor", inplace=True, out="cast")
    op(f"{_name}.Scalar(Tensor self, Scalar other) -> Tensor", inplace=True, out="cast")
for _name in ("logical_and", "logical_or", "logical_xor"):
    op(f"{_name}(Tensor self, Tensor other) -> Tensor", PREDICATE, inplace=True, out=True, no_grad=TRUTH)
for _name in ("bitwise_and", "bitwise_or", "bitwise_xor"):
    op(f"{_name}.Tensor(Tensor self, Tensor other) -> Tensor", PROMOTE, inplace=True, out=True, no_grad=BITS)
    op(f"{_name}.Scalar(Tensor self, Scalar other) -> Tensor", PROMOTE.of(*_BOTH), inplace=True, out=True, no_grad=BITS)
    op(f"{_name}.Scalar_Tensor(Scalar self, Tensor other) -> Tensor", PROMOTE.of(*_BOTH), method=False, no_grad=BITS)
for _name in ("bitwise_left_shift", "bitwise_right_shift"):
    op(f"{_name}.Tensor(Tensor self, Tensor other) -> Tensor", PROMOTE, inplace=True, out=True, no_grad=BITS)
    op(
        f"{_name}.Tensor_Scalar(Tensor self, Scalar other) -> Tensor",
        PROMOTE.of(*_BOTH),
        inplace=True,
        out=True,
        no_grad=BITS,
    )
    op(f"{_name}.Scalar_Tensor(Scalar self, Tensor other) -> Tensor", PROMOTE.of(*_BOTH), method=False, no_grad=BITS)
OPERATOR_BITS = {"and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor"}
OPERATOR_SHIFTS = {"lshift": "bitwise_left_shift", "rshift": "bitwise_right_shift"}
for _name in (*OPERATOR_BITS, *OPERATOR_SHIFTS):
    _leaf = _name in OPERATOR_SHIFTS
    for _overload, _word, _rule in (("Tensor", "Tensor", PROMOTE), ("Scalar", "Scalar", PROMOTE.of(*_BOTH))):
        op(
            f"__{_name}__.{_overload}(Tensor self, {_word} other) -> Tensor",
            _rule if _leaf else None,
            function=False,
            no_grad=BITS if _leaf else None,
        )
        op(
            f"__i{_name}__.{_overload}(Tensor(a!) self, {_word} other) -> Tensor(a!)",
            _rule if _leaf else None,
            function=False,
            no_grad=BITS if _leaf else None,
        )

op("isclose(Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False) -> Tensor")
op("allclose(Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False) -> bool")
op("equal(Tensor self, Tensor other) -> bool", no_grad=TRUTH)

# --- limits, choices, mixtures
# ------------------------------------------------------------------------------------------ Where both a tensor and a
# number may stand, the tensor's overload comes first: a tensor without dimensions fits both.
for _name, _tensors, _numbers in (("clamp", PROMOTE, PROMOTE.of("self", "min", "max")), ("clip", None, None)):
    op(f"{_name}.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor", _tensors, inplace=True, out=True)
    op(f"{_name}(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor", _numbers, inplace=True, out=True)
for _name, _bound in (("clamp_min", "min"), ("clamp_max", "max")):
    op(f"{_name}.Tensor(Tensor self, Tensor {_bound}) -> Tensor", PROMOTE, inplace=True, out=True)
    op(f"{_name}(Tensor self, Scalar {_bound}) -> Tensor", PROMOTE.of("self", _bound), inplace=True, out=True)
op("where.self(Tensor condition, Tensor self, Tensor other) -> Tensor", PROMOTE.of(*_BOTH), out=True, method=False)
op("where.ScalarOther(Tensor condition, Tensor self, Scalar other) -> Tensor", PROMOTE.of(*_BOTH), method=False)
op("where.ScalarSelf(Tensor condition, Scalar self, Tensor other) -> Tensor", PROMOTE.of(*_BOTH), method=False)
op("where.Scalar(Tensor condition, Scalar self, Scalar other) -> Tensor", method=False)
op("where(Tensor condition) -> Tensor[]", method=False)
op("lerp.Tensor(Tensor self, Tensor end, Tensor weight) -> Tensor", PROMOTE, inplace=True, out=True)
op("lerp.Scalar(Tensor self, Tensor end, Scalar weight) -> Tensor", SAME, inplace=True, out="cast")
op("addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor", PROMOTE, inplace=True, out=True)
op("addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor", PROMOTE, inplace=True, out=True)
op("masked_fill.Tensor(Tensor self, Tensor mask, Tensor value) -> Tensor", SAME, inplace=True)
op("masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor", SAME, inplace=True)

# --- writes
op("copy_(Tensor(a!) self, Tensor src, bool non_blocking=False) -> Tensor(a!)", function=False)
op("fill_.Tensor(Tensor(a!) self, Tensor value) -> Tensor(a!)")
op("fill_.Scalar(Tensor(a!) self, Scalar value) -> Tensor(a!)")
op("fill.Tensor(Tensor self, Tensor value) -> Tensor", method=False)
op("fill.Scalar(Tensor self, Scalar value) -> Tensor", method=False)
op("zero_(Tensor(a!) self) -> Tensor(a!)")

# --- complex numbers
op("real(Tensor(a) self) -> Tensor(a)", method=False)
op("imag(Tensor(a) self) -> Tensor(a)", method=False)
op("view_as_real(Tensor(a) self) -> Tensor(a)", meta=_parts, method=False)
op("view_as_complex(Tensor(a) self) -> Tensor(a)", method=False)
op("_conj(Tensor self) -> Tensor", SAME, method=False, function=False)
op("conj(Tensor(a) self) -> Tensor(a)")
op("_conj_physical(Tensor self) -> Tensor", SAME, method=False, function=False)
op("conj_physical(Tensor self) -> Tensor", inplace=True, out="same")
op("resolve_conj(Tensor(a) self) -> Tensor(a)")
op("resolve_neg(Tensor(a) self) -> Tensor(a)")
op("polar(Tensor abs, Tensor angle) -> Tensor", meta=_complex_of, out=True, method=False)
op("complex(Tensor real, Tensor imag) -> Tensor", meta=_complex_of, out=True, method=False)

# --- gradients that PyTorch has as ops
for _name in ("sigmoid_backward", "tanh_backward"):
    op(f"{_name}(Tensor grad_output, Tensor output) -> Tensor", PROMOTE, function=False, method=False)
op("logit_backward(Tensor grad_output, Tensor self, float? eps=None) -> Tensor", PROMOTE, function=False, method=False)

# --- torch.special --------------------------------------------------------------------------------------------------
SPECIAL_ALIASES = {
    "erf": "erf",
    "erfc": "erfc",
    "erfinv": "erfinv",
    "expit": "sigmoid",
    "expm1": "expm1",
    "exp2": "exp2",
    "gammaln": "lgamma",
    "digamma": "digamma",
    "psi": "digamma",
    "log1p": "log1p",
    "sinc": "sinc",
}
for _name in SPECIAL_ALIASES:
    op(f"special_{_name}(Tensor self) -> Tensor", out=True, method=False, namespace="special")
op("special_round(Tensor self, *, int decimals=0) -> Tensor", out=True, method=False, namespace="special")
op("special_logit(Tensor self, float? eps=None) -> Tensor", out=True, method=False, namespace="special")
for _arguments in (
    "(Tensor self, Tensor other)",
    ".other_scalar(Tensor self, Scalar other)",
    ".self_scalar(Scalar self, Tensor other)",
):
    op(f"special_xlogy{_arguments} -> Tensor", out=True, method=False, namespace="special")
op("special_polygamma(int n, Tensor self) -> Tensor", out=True, method=False, namespace="special")
op("special_entr(Tensor self) -> Tensor", FLOAT, out=True, method=False, namespace="special")
op("special_erfcx(Tensor self) -> Tensor", FLOAT, out=True, method=False, namespace="special")
op("special_ndtr(Tensor self) -> Tensor", FLOAT, out=True, method=False, namespace="special")
op("special_ndtri(Tensor self) -> Tensor", FLOAT, out=True, method=False, namespace="special")

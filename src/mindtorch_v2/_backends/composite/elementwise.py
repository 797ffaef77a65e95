"""Elementwise ops that PyTorch writes with other ops: aliases, operators, predicates, choices by numbers, masks."""

from __future__ import annotations

import math
from typing import Any

from ... import _dtype as dt
from ..._dispatch import aten
from ..._dispatch.checks import type_word
from ..._dispatch.registry import composite, stepwise
from ..._ops.elementwise import COMPARE_ALIASES, OPERATOR_BITS, SPECIAL_ALIASES, UNARY_ALIASES
from ..._ops.rules import result_type
from ..._shape import broadcast_shapes
from ..._tensor import contiguous_format


# --- other names
def _alias(name: str, target: str) -> None:
    """`name` calls the overload `target`, looked up when first called."""

    @composite(name)
    def call(*args: Any) -> Any:
        return aten.overload(target)(*args)


def _alias_with_twin(name: str, target: str) -> None:
    _alias(name, target)
    base, dot, overload = name.partition(".")
    target_base, target_dot, target_overload = target.partition(".")
    _alias(f"{base}_{dot}{overload}", f"{target_base}_{target_dot}{target_overload}")


for _name, _target in UNARY_ALIASES.items():
    _alias_with_twin(_name, _target)
for _name, _target in COMPARE_ALIASES.items():
    for _overload in ("Tensor", "Scalar"):
        _alias_with_twin(f"{_name}.{_overload}", f"{_target}.{_overload}")
_alias_with_twin("arctan2", "atan2")
_alias_with_twin("multiply.Tensor", "mul.Tensor")
_alias_with_twin("divide.Tensor", "div.Tensor")
_alias_with_twin("true_divide.Tensor", "div.Tensor")
_alias_with_twin("clip", "clamp")
_alias_with_twin("clip.Tensor", "clamp.Tensor")
for _name, _target in OPERATOR_BITS.items():
    for _overload in ("Tensor", "Scalar"):
        _alias(f"__{_name}__.{_overload}", f"{_target}.{_overload}")
        _alias(f"__i{_name}__.{_overload}", f"{_target}_.{_overload}")
for _name, _target in SPECIAL_ALIASES.items():
    _alias(f"special_{_name}", _target)
_alias("special_logit", "logit")
_alias("special_xlogy", "xlogy.Tensor")
_alias("special_xlogy.other_scalar", "xlogy.Scalar_Other")
_alias("special_xlogy.self_scalar", "xlogy.Scalar_Self")
_alias("special_polygamma", "polygamma")


@composite("subtract.Tensor")
def subtract(self: Any, other: Any, alpha: Any) -> Any:
    return aten.sub(self, other, alpha=alpha)


@composite("subtract_.Tensor")
def subtract_(self: Any, other: Any, alpha: Any) -> Any:
    return aten.sub_(self, other, alpha=alpha)


@composite("divide.Tensor_mode")
def divide_mode(self: Any, other: Any, rounding_mode: str | None) -> Any:
    return aten.overload("div.Tensor_mode")(self, other, rounding_mode=rounding_mode)


@composite("divide_.Tensor_mode")
def divide_mode_(self: Any, other: Any, rounding_mode: str | None) -> Any:
    return aten.overload("div_.Tensor_mode")(self, other, rounding_mode=rounding_mode)


@composite("special_round")
def special_round(self: Any, decimals: int) -> Any:
    return aten.overload("round.decimals")(self, decimals=decimals)


# --- arithmetic
@stepwise("rsub.Tensor", "rsub.Scalar")
def rsub(kernel: Any, self: Any, other: Any, alpha: Any) -> Any:
    return aten.sub(other, self, alpha=alpha)


@composite("square")
def square(self: Any) -> Any:
    return aten.overload("pow.Tensor_Scalar")(self, 2)


@composite("square_")
def square_(self: Any) -> Any:
    return aten.overload("pow_.Tensor_Scalar")(self, 2)


def _wide(*operands: Any) -> dt.dtype:
    return (
        dt.complex128
        if any(isinstance(x, complex) or getattr(x, "dtype", dt.float64).is_complex for x in operands)
        else dt.float64
    )


def _cast_to(x: Any, d: dt.dtype) -> Any:
    if isinstance(x, (bool, int, float)):
        return float(x)
    if isinstance(x, complex):
        return x
    return aten.to(x, d)


@composite("float_power.Tensor_Tensor", "float_power.Tensor_Scalar", "float_power.Scalar")
def float_power(self: Any, exponent: Any) -> Any:
    d = _wide(self, exponent)
    return aten.pow(_cast_to(self, d), _cast_to(exponent, d))


@composite("float_power_.Tensor_Tensor", "float_power_.Tensor_Scalar")
def float_power_(self: Any, exponent: Any) -> Any:
    d = _wide(self, exponent)
    if self.dtype is not d:
        raise RuntimeError(
            f"the base given to float_power_ has dtype {type_word(self.dtype)} but the operation's result requires "
            f"dtype {type_word(d)}"
        )
    return aten.pow_(self, _cast_to(exponent, d))


@composite("ldexp.Tensor")
def ldexp(self: Any, other: Any) -> Any:
    return aten.mul(self, aten.overload("pow.Scalar")(2.0, other))


@composite("positive")
def positive(self: Any) -> Any:
    if self.dtype is dt.bool_:
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return self


# --- predicates
@composite("isnan")
def isnan(self: Any) -> Any:
    return aten.ne(self, self)


@composite("isinf")
def isinf(self: Any) -> Any:
    if not self.dtype.inexact:
        return aten.zeros_like(self, dtype=dt.bool_)
    if self.dtype.is_complex:
        return aten.__or__(aten.isinf(aten.real(self)), aten.isinf(aten.imag(self)))
    return aten.eq(aten.abs(self), math.inf)


@composite("isfinite")
def isfinite(self: Any) -> Any:
    if not self.dtype.inexact:
        return aten.ones_like(self, dtype=dt.bool_)
    if self.dtype.is_complex:
        return aten.__and__(aten.isfinite(aten.real(self)), aten.isfinite(aten.imag(self)))
    bounded = aten.ne(aten.abs(self), math.inf)
    return aten.mul(aten.eq(self, self), bounded)


@composite("isreal")
def isreal(self: Any) -> Any:
    if not self.dtype.is_complex:
        return aten.ones_like(self, dtype=dt.bool_)
    return aten.eq(aten.imag(self), 0)


def _check_closeness(self: Any, other: Any, rtol: float, atol: float) -> None:
    if self.dtype is not other.dtype:
        raise RuntimeError(f"{type_word(self.dtype)} did not match {type_word(other.dtype)}")
    for name, value in (("rtol", rtol), ("atol", atol)):
        if not value >= 0:
            raise RuntimeError(f"{name} must be greater than or equal to zero, but got {value:g}")


@composite("isclose")
def isclose(self: Any, other: Any, rtol: float, atol: float, equal_nan: bool) -> Any:
    _check_closeness(self, other, rtol, atol)
    close = aten.eq(self, other)
    if equal_nan and self.dtype.inexact:
        both = aten.__iand__(aten.ne(self, self), aten.ne(other, other))
        aten.__ior__(close, both)
    if rtol == 0 and atol == 0:
        return close
    wide_self, wide_other = self, other
    if not self.dtype.inexact:  # differences of integers could overflow
        default = dt.get_default_dtype()
        wide_self, wide_other = aten.to(self, default), aten.to(other, default)
    allowed = aten.add(aten.abs(aten.mul(wide_other, rtol)), atol)
    actual = aten.abs(aten.sub(wide_self, wide_other))
    near = aten.__iand__(aten.isfinite(actual), aten.le(actual, allowed))
    return aten.__ior__(close, near)


@composite("allclose")
def allclose(self: Any, other: Any, rtol: float, atol: float, equal_nan: bool) -> bool:
    return bool(aten.item(aten.all(aten.isclose(self, other, rtol, atol, equal_nan))))


# --- choices
def _number_like(number: Any, tensor: Any, common: dt.dtype) -> Any:
    return aten.to(aten.scalar_tensor(number, dtype=common, device=tensor.device), common)


@stepwise("where.ScalarOther")
def where_other(kernel: Any, condition: Any, self: Any, other: Any) -> Any:
    return aten.overload("where.self")(condition, self, _number_like(other, condition, result_type(self, other)))


@stepwise("where.ScalarSelf")
def where_self(kernel: Any, condition: Any, self: Any, other: Any) -> Any:
    return aten.overload("where.self")(condition, _number_like(self, condition, result_type(self, other)), other)


@composite("where.Scalar")
def where_numbers(condition: Any, self: Any, other: Any) -> Any:
    common = result_type(self, other)
    pair = [aten.scalar_tensor(x, dtype=common, device=condition.device) for x in (self, other)]
    return aten.overload("where.self")(condition, *pair)


@composite("where")
def where_positions(condition: Any) -> Any:
    return aten.nonzero_numpy(condition)


def _masked_fill(name: str) -> None:
    @stepwise(f"masked_fill.{name}")
    def steps(kernel: Any, self: Any, mask: Any, value: Any) -> Any:
        shape = broadcast_shapes(tuple(mask.shape), tuple(self.shape))
        source = self if tuple(self.shape) == shape else aten.expand(self, shape)
        return aten.overload(f"masked_fill_.{name}")(aten.clone(source, memory_format=contiguous_format), mask, value)


_masked_fill("Scalar")
_masked_fill("Tensor")


# --- writes
@composite("fill_.Tensor")
def fill_tensor(self: Any, value: Any) -> Any:
    if value.dim():
        raise RuntimeError(
            f"fill_ only supports 0-dimension value tensor but got tensor with {value.dim()} dimensions."
        )
    return aten.copy_(self, value)


@composite("fill.Scalar")
def fill_functional(self: Any, value: Any) -> Any:
    return aten.overload("fill_.Scalar")(aten.empty_like(self), value)


@composite("fill.Tensor")
def fill_functional_tensor(self: Any, value: Any) -> Any:
    return aten.overload("fill_.Tensor")(aten.empty_like(self), value)


# --- complex numbers
@composite("real")
def real(self: Any) -> Any:
    return aten.select(aten.view_as_real(self), -1, 0) if self.dtype.is_complex else self


@composite("imag")
def imag(self: Any) -> Any:
    if not self.dtype.is_complex:
        raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
    return aten.select(aten.view_as_real(self), -1, 1)


@composite("conj")
def conj(self: Any) -> Any:
    return aten._conj(self) if self.dtype.is_complex else self


@composite("conj_physical")
def conj_physical(self: Any) -> Any:
    return aten._conj_physical(self) if self.dtype.is_complex else self


@composite("conj_physical_")
def conj_physical_(self: Any) -> Any:
    return aten.copy_(self, aten._conj_physical(self)) if self.dtype.is_complex else self


@composite("resolve_conj", "resolve_neg")
def resolved(self: Any) -> Any:
    """Conjugates and negatives are computed at once here, so nothing is left to do."""
    return self

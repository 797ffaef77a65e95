"""Kernels of the elementwise family.

Unary functions stand in elementwise_unary.py, comparisons and bits in elementwise_logic.py, special functions in
special_functions.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..._dispatch.registry import check, inplace_kernel, kernel
from ..._dtype import get_default_dtype
from ..._native import accelerated
from ..._ops.rules import check_factor
from . import (
    elementwise_mixtures,  # noqa: F401  - registers clamp, where, lerp, addcmul, addcdiv
    elementwise_unary,  # noqa: F401  - registers the kernels of one operand
    elementwise_writes,  # noqa: F401  - registers fills, copies, masks and complex views
)
from .blocks import BLOCK, in_blocks
from .elementwise_logic import _fits
from .unsupported import not_implemented
from .whole_numbers import as_element

Operand = Any  # an array, or a Python number where the declaration allows one


# --- sums and products
def _factor(self: Any, alpha: Any, name: str) -> Any:
    """The factor as a number; RuntimeError for one that the type of the result does not allow."""
    if not isinstance(alpha, (int, float, complex)):
        if getattr(alpha, "ndim", 0):
            given = "Tensor" if isinstance(alpha, np.ndarray) else type(alpha).__name__
            raise TypeError(f"{name}(): argument 'alpha' must be Number, not {given}")
        alpha = alpha.item()
    kind = getattr(self, "dtype", np.dtype(type(self))).kind
    check_factor(alpha, kind)
    return bool(alpha) if kind == "b" else alpha


def _times_alpha(other: Operand, factor: Any) -> Any:
    """other * factor; a factor of integers is one of their type."""
    return other * (as_element(other, factor) if isinstance(other, np.ndarray) and other.dtype.kind in "iu" else factor)


def _wrap_second_operand(ufunc: Any) -> Callable[[Operand, Operand], Any]:
    """`ufunc` of two operands, the second of which may be a whole number that the type cannot hold."""

    def call(self: Operand, other: Operand) -> Any:
        try:
            return ufunc(self, other)
        except OverflowError:
            return ufunc(self, _fits(other, self)) if isinstance(self, np.ndarray) else ufunc(_fits(self, other), other)

    return call


_add, _multiply, _subtract = (
    _wrap_second_operand(np.add),
    _wrap_second_operand(np.multiply),
    accelerated("sub")(_wrap_second_operand(np.subtract)),
)
_remainder, _fmod, _floor_divide, _power = (
    _wrap_second_operand(np.remainder),
    _wrap_second_operand(np.fmod),
    _wrap_second_operand(np.floor_divide),
    _wrap_second_operand(np.power),
)


@kernel("add.Tensor", direct=np.add)
def add(self: Operand, other: Operand, alpha: Any) -> Any:
    if alpha.__class__ is int and alpha == 1:
        return _add(self, other)
    return _add(self, _times_alpha(other, _factor(self, alpha, "add")))


def _scaled_into(self: np.ndarray, other: Operand, alpha: Any, ufunc: Any) -> None:
    """self += other * alpha, or with subtraction; large arrays without a large temporary."""
    if alpha.__class__ is int and alpha == 1:
        ufunc(self, other, out=self)
        return
    alpha = _factor(self, alpha, "add_" if ufunc is np.add else "sub_")
    if self.size <= BLOCK or not isinstance(other, np.ndarray) or other.shape != self.shape:
        ufunc(self, _times_alpha(other, alpha), out=self)
        return
    if self.dtype.kind in "iu":
        alpha = as_element(self, alpha)

    def body(out: np.ndarray, a: np.ndarray, b: np.ndarray, t: np.ndarray) -> None:
        np.multiply(b, alpha, out=t)
        ufunc(a, t, out=out)

    in_blocks(body, self, (self, other), 1)


@inplace_kernel("add.Tensor")
def add_into(self: np.ndarray, other: Operand, alpha: Any) -> None:
    try:
        _scaled_into(self, other, alpha, np.add)
    except OverflowError:
        _scaled_into(self, _fits(other, self), alpha, np.add)


def _no_bool_subtraction() -> RuntimeError:
    return RuntimeError(
        "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or "
        "`logical_xor()` operator instead."
    )


@check("sub.Tensor", "rsub.Scalar", "rsub.Tensor")
def no_bool_operand(self: Any, other: Any, alpha: Any) -> None:
    kinds = [
        isinstance(x, bool) if isinstance(x, (int, float, complex)) else x.dtype.name == "bool" for x in (self, other)
    ]
    if all(kinds):
        raise _no_bool_subtraction()
    if any(kinds):
        raise RuntimeError(
            "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a mask, "
            "use the `~` or `logical_not()` operator instead."
        )


@kernel("sub.Tensor")
def sub(self: Operand, other: Operand, alpha: Any) -> Any:
    if alpha.__class__ is not int or alpha != 1:
        other = _times_alpha(other, _factor(self, alpha, "sub"))
    try:
        return _subtract(self, other)
    except TypeError:
        raise _no_bool_subtraction() from None


@kernel("rsub.Tensor", "rsub.Scalar")
def rsub(self: np.ndarray, other: Operand, alpha: Any) -> Any:
    return sub(other, self, alpha)


@inplace_kernel("sub.Tensor")
def sub_into(self: np.ndarray, other: Operand, alpha: Any) -> None:
    if self.dtype.kind == "b":
        raise _no_bool_subtraction()
    try:
        _scaled_into(self, other, alpha, np.subtract)
    except OverflowError:
        _scaled_into(self, _fits(other, self), alpha, np.subtract)


@kernel("mul.Tensor", direct=np.multiply)
def mul(self: Operand, other: Operand) -> Any:
    return _multiply(self, other)


@inplace_kernel("mul.Tensor")
def mul_into(self: np.ndarray, other: Operand) -> None:
    try:
        np.multiply(self, other, out=self)
    except OverflowError:
        np.multiply(self, _fits(other, self), out=self)


# --- quotients
@kernel("div.Tensor", ufunc=np.true_divide, direct=np.true_divide)
def div(self: Operand, other: Operand) -> Any:
    return np.true_divide(self, other)


def _integers(name: str, self: Operand, other: Operand) -> bool:
    """Whether the operands are integers; RuntimeError when such a divisor has a zero, or NotImplementedError."""
    array = self if isinstance(self, np.ndarray) else other
    kind = array.dtype.kind
    if kind == "f":
        return False
    if kind in "bc":
        raise not_implemented(name, array)
    if not (other.all() if isinstance(other, np.ndarray) else other) and np.broadcast(self, other).size:
        raise RuntimeError("ZeroDivisionError")
    return True


def _with_array(self: Operand, other: Operand) -> tuple[Operand, Operand]:
    """The operands; of two numbers the first as the tensor that it stands for."""
    if isinstance(self, np.ndarray) or isinstance(other, np.ndarray):
        return self, other
    return np.asarray(self, get_default_dtype().np if isinstance(self + other, float) else None), other


def divide_down(self: Operand, other: Operand) -> Any:
    """The quotient rounded towards minus infinity."""
    self, other = _with_array(self, other)
    _integers("div_floor_cpu", self, other)
    return _floor_divide(self, other)


def divide_to_zero(self: Operand, other: Operand) -> Any:
    """The quotient without its fraction."""
    self, other = _with_array(self, other)
    if not _integers("div_trunc_cpu", self, other):
        return np.trunc(np.true_divide(self, other))
    down = _floor_divide(self, other)
    return down + ((down < 0) & (down * other != self))


_ROUNDING: dict[str, Callable[[Operand, Operand], Any]] = {"floor": divide_down, "trunc": divide_to_zero}


@kernel("div.Tensor_mode")
def div_mode(self: Operand, other: Operand, rounding_mode: str | None) -> Any:
    if rounding_mode is None:
        self, other = _with_array(self, other)
        if (self if isinstance(self, np.ndarray) else other).dtype.kind in "biu":
            return np.true_divide(self, other, dtype=get_default_dtype().np)
        return np.true_divide(self, other)
    if rounding_mode not in _ROUNDING:
        raise RuntimeError(
            f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{rounding_mode}'"
        )
    return _ROUNDING[rounding_mode](self, other)


kernel("floor_divide")(divide_down)


@kernel("remainder.Tensor", "remainder.Scalar", "remainder.Scalar_Tensor")
def remainder(self: Operand, other: Operand) -> Any:
    """What is left of a division rounded down: it has the sign of the divisor."""
    whole = _integers("remainder_cpu", self, other)
    result = _remainder(self, other)
    if whole:
        return result
    zero = np.equal(result, 0)  # to which numpy gives the sign of the divisor, PyTorch that of the dividend
    return np.where(zero, np.copysign(result, self), result) if zero.any() else result


@kernel("fmod.Tensor", "fmod.Scalar")
def fmod(self: Operand, other: Operand) -> Any:
    """What is left of a division rounded to zero: it has the sign of the dividend."""
    _integers("fmod_cpu", self, other)
    return _fmod(self, other)


# --- powers
_POWERS: dict[Any, Callable[[np.ndarray], Any]] = {
    2: lambda x: x * x,
    3: lambda x: x * x * x,
    0.5: np.sqrt,
    -0.5: lambda x: 1 / np.sqrt(x),
    -1: lambda x: 1 / x,
    -2: lambda x: 1 / (x * x),
    1: lambda x: +x,
    0: np.ones_like,
}


@kernel("pow.Tensor_Scalar")
def pow_scalar(self: np.ndarray, exponent: Any) -> Any:
    kind = self.dtype.kind
    if kind in "iu":
        if exponent < 0:
            raise RuntimeError("Integers to negative integer powers are not allowed.")
        if exponent < 4 and exponent in _POWERS:
            return _POWERS[exponent](self)
        return np.power(self, np.asarray(exponent).astype(self.dtype))
    if kind == "b":
        return self.copy() if exponent else np.ones_like(self)
    short = _POWERS.get(exponent)
    return short(self) if short is not None else np.power(self, exponent)


@kernel("pow.Tensor_Tensor", "pow.Scalar")
def pow_tensor(self: Operand, exponent: np.ndarray) -> Any:
    kind = exponent.dtype.kind
    if kind == "b":
        raise not_implemented("pow", exponent)
    if kind != "i" or not np.any(exponent < 0):
        return _power(self, exponent)
    # The inverse of a whole number is whole only for 1 and -1; PyTorch gives 0 for all others.
    whole = _power(self, np.maximum(exponent, 0))
    unit = np.where(self == np.array(1), 1, np.where(self == np.array(-1), 1 - 2 * (exponent & 1), 0)).astype(
        exponent.dtype
    )
    return np.where(exponent < 0, unit, whole)


# --- other functions of two operands
def _two(name: str, ufunc: Any, kinds: str, refused: str = "") -> None:
    """Registers a numpy ufunc for the kinds of types that PyTorch supports; others are refused by its wording."""

    def call(self: Operand, other: Operand) -> Any:
        array = self if isinstance(self, np.ndarray) else other
        if array.dtype.kind not in kinds:
            raise RuntimeError(refused) if refused else not_implemented(f"{name}_cpu", array)
        return ufunc(self, other)

    kernel(name, ufunc=ufunc)(call)


for _name in ("maximum", "minimum", "fmax", "fmin"):
    _two(_name, getattr(np, _name), "biuf", f"{_name} not implemented for complex tensors.")
_two("atan2", np.arctan2, "f")
_two("hypot", np.hypot, "f")
_two("logaddexp2", np.logaddexp2, "f")
_two("nextafter", np.nextafter, "f")
_two("gcd", np.gcd, "iu")
_two("lcm", np.lcm, "iu")


@kernel("logaddexp")
def logaddexp(self: np.ndarray, other: np.ndarray) -> Any:
    kind = self.dtype.kind
    if kind == "f":
        return np.logaddexp(self, other)
    if kind == "c":
        larger = np.where(self.real >= other.real, self, other)
        return np.where(np.isinf(larger.real), larger, larger + np.log(np.exp(self - larger) + np.exp(other - larger)))
    raise not_implemented("logaddexp_cpu", self)


@kernel("xlogy.Tensor", "xlogy.Scalar_Other", "xlogy.Scalar_Self")
def xlogy(self: Operand, other: Operand) -> Any:
    """x * log(y), which is 0 where x is 0 (unless y is not a number)."""
    array = self if isinstance(self, np.ndarray) else other
    if array.dtype.kind == "c":
        raise not_implemented("xlogy_cpu", array)
    product = np.multiply(self, np.log(other, dtype=array.dtype))
    silent = np.equal(self, 0) & ~np.isnan(other)
    return np.where(silent, product.dtype.type(0), product) if np.any(silent) else product


@kernel("copysign.Tensor", "copysign.Scalar")
def copysign(self: np.ndarray, other: Operand) -> Any:
    if self.dtype.kind == "c":
        raise not_implemented("copysign_cpu", self)
    return np.copysign(self, other)


@kernel("heaviside")
def heaviside(self: np.ndarray, values: np.ndarray) -> Any:
    if self.dtype.kind == "c" or values.dtype.kind == "c":
        raise RuntimeError("heaviside is not yet implemented for complex tensors.")
    if self.dtype != values.dtype:
        raise RuntimeError("heaviside is not yet implemented for tensors with different dtypes.")
    return np.where(self == 0, values, (self > 0).astype(self.dtype))

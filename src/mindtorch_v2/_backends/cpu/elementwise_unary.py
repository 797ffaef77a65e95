"""Kernels of one operand. The rule of these ops has already made integers floating where PyTorch does."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ... import _dtype as dt
from ..._dispatch.registry import inplace_kernel, kernel
from ..._dtype import get_default_dtype
from ..._native import accelerated
from . import special_functions as special
from .blocks import FEW, ONE, fused, in_blocks
from .unsupported import not_implemented

# --- numpy's own
for _name, _ufunc in {
    "exp": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "log": np.log,
    "log2": np.log2,
    "log10": np.log10,
    "log1p": np.log1p,
    "sqrt": np.sqrt,
    "reciprocal": np.reciprocal,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "logical_not": np.logical_not,
}.items():
    kernel(_name, ufunc=_ufunc)(_ufunc)


@kernel("rsqrt")
def rsqrt(self: np.ndarray) -> Any:
    return np.reciprocal(np.sqrt(self))


@kernel("deg2rad")
def deg2rad(self: np.ndarray) -> Any:
    return np.multiply(_real("deg2rad", self), math.pi / 180.0)


@kernel("rad2deg")
def rad2deg(self: np.ndarray) -> Any:
    return np.multiply(_real("rad2deg", self), 180.0 / math.pi)


def _real(name: str, array: np.ndarray) -> np.ndarray:
    if array.dtype.kind == "c":
        raise RuntimeError(f"{name} is not supported for complex tensors.")
    return array


@kernel("sinc")
def sinc(self: np.ndarray) -> Any:
    angle = np.multiply(self, math.pi)
    zero = self == 0
    return np.where(zero, self.dtype.type(1), np.sin(angle) / np.where(zero, self.dtype.type(1), angle))


# --- the logistic function
def _sigmoid_body(out: np.ndarray, x: np.ndarray) -> None:
    np.negative(x, out=out)
    np.exp(out, out=out)
    out += ONE[out.dtype.char]
    np.reciprocal(out, out=out)


@kernel("sigmoid")
def sigmoid(self: np.ndarray) -> Any:
    if self.size <= FEW:
        return np.reciprocal(np.add(np.exp(np.negative(self)), ONE[self.dtype.char]))
    return fused(_sigmoid_body, self)


@inplace_kernel("sigmoid")
def sigmoid_into(self: np.ndarray) -> None:
    in_blocks(_sigmoid_body, self, (self,))


@kernel("logit")
def logit(self: np.ndarray, eps: float | None) -> Any:
    if self.dtype.kind == "c":
        raise not_implemented("logit_cpu", self)
    x = self if eps is None else np.clip(self, eps, 1 - eps)
    return np.log(x / (1 - x))


def _sigmoid_backward_body(out: np.ndarray, y: np.ndarray, g: np.ndarray) -> None:
    np.subtract(1, y, out=out)
    out *= y
    if out.dtype.kind == "c":
        np.conjugate(out, out=out)
    out *= g


def _tanh_backward_body(out: np.ndarray, y: np.ndarray, g: np.ndarray) -> None:
    np.multiply(y, y, out=out)
    np.subtract(1, out, out=out)
    if out.dtype.kind == "c":
        np.conjugate(out, out=out)
    out *= g


@kernel("sigmoid_backward")
def sigmoid_backward(grad_output: np.ndarray, output: np.ndarray) -> Any:
    if output.size <= FEW and output.dtype.kind == "f":
        return np.multiply(np.multiply(np.subtract(ONE[output.dtype.char], output), output), grad_output)
    return fused(_sigmoid_backward_body, output, grad_output)


@kernel("tanh_backward")
def tanh_backward(grad_output: np.ndarray, output: np.ndarray) -> Any:
    if output.size <= FEW and output.dtype.kind == "f":
        return np.multiply(np.subtract(ONE[output.dtype.char], np.multiply(output, output)), grad_output)
    return fused(_tanh_backward_body, output, grad_output)


@kernel("logit_backward")
def logit_backward(grad_output: np.ndarray, self: np.ndarray, eps: float | None) -> Any:
    low, high, outside = (0, 1, np.nan) if eps is None else (eps, 1 - eps, 0)
    inside = (self >= low) & (self <= high)
    return np.where(inside, grad_output / (self * (1 - self)), self.dtype.type(outside))


# --- special functions
def _special(name: str, function: Callable[[np.ndarray], Any], error_name: str) -> None:
    def call(self: np.ndarray) -> Any:
        if self.dtype.kind == "c":
            raise not_implemented(error_name, self)
        return function(self)

    kernel(name)(call)


def entr(x: np.ndarray) -> Any:
    """-x * log(x), 0 at 0, minus infinity below."""
    positive = x > 0
    some = np.where(positive, x, x.dtype.type(1))
    return np.where(
        positive, -some * np.log(some), np.where(x == 0, x.dtype.type(0), np.where(np.isnan(x), x, -np.inf))
    )


for _name in ("erf", "erfc", "erfinv", "lgamma"):
    _special(_name, getattr(special, _name), f"{_name}_vml_cpu")
_special("digamma", special.digamma, "digamma")
_special("special_entr", entr, "entr_cpu")
_special("special_erfcx", special.erfcx, "erfcx_cpu")
_special("special_ndtr", special.ndtr, "ndtr_cpu")
_special("special_ndtri", special.ndtri, "ndtri_cpu")
kernel("polygamma")(special.polygamma)


# --- sign and size
_NO_NEGATION = (
    "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use the `~` or "
    "`logical_not()` operator instead."
)


@kernel("neg", ufunc=np.negative)
def neg(self: np.ndarray) -> Any:
    try:
        return np.negative(self)
    except TypeError:
        raise RuntimeError(_NO_NEGATION) from None


@inplace_kernel("neg")
def neg_into(self: np.ndarray) -> None:
    try:
        np.negative(self, out=self)
    except TypeError:
        raise RuntimeError(_NO_NEGATION) from None


@kernel("abs")
def absolute(self: np.ndarray) -> Any:
    if self.dtype.kind == "b":
        raise not_implemented("abs_cpu", self)
    return np.absolute(self)


@inplace_kernel("abs")
def absolute_into(self: np.ndarray) -> None:
    if self.dtype.kind == "c":
        raise RuntimeError("In-place abs is not supported for complex tensors.")
    np.absolute(self, out=self)


@kernel("sign")
def sign(self: np.ndarray) -> Any:
    kind = self.dtype.kind
    if kind == "c":
        raise NotImplementedError(
            "Unlike NumPy, torch.sign is not intended to support complex numbers. Please use torch.sgn instead."
        )
    if kind == "b":
        return self.copy("K")
    if kind == "f":
        return np.subtract(self > 0, self < 0, dtype=self.dtype)  # 0 for NaN, where numpy's sign is NaN
    return np.sign(self)


@kernel("sgn")
def sgn(self: np.ndarray) -> Any:
    if self.dtype.kind != "c":
        return sign(self)
    return np.where(np.isinf(self), np.array(complex(np.nan, np.nan), self.dtype), np.sign(self))  # as z / |z| is


@kernel("signbit")
def signbit(self: np.ndarray) -> Any:
    kind = self.dtype.kind
    if kind == "c":
        raise NotImplementedError("signbit is not implemented for complex tensors.")
    return np.signbit(self) if kind == "f" else np.less(self, 0)


@kernel("angle")
def angle(self: np.ndarray) -> Any:
    kind = self.dtype.kind
    if kind == "c":
        return np.arctan2(self.imag, self.real)
    x = self if kind == "f" else self.astype(get_default_dtype().np)
    pi = x.dtype.type(math.pi)
    return np.where(np.isnan(x), x, np.where(x < 0, pi, x.dtype.type(0)))


def _infinite(name: str, ufunc: Callable[[np.ndarray], Any]) -> None:
    def call(self: np.ndarray) -> Any:
        kind = self.dtype.kind
        if kind == "c":
            raise RuntimeError(f"{name} does not support complex inputs.")
        return ufunc(self) if kind == "f" else np.zeros_like(self, bool)

    kernel(name)(call)


_infinite("isposinf", lambda x: np.equal(x, np.inf))
_infinite("isneginf", lambda x: np.equal(x, -np.inf))


@kernel("bitwise_not", ufunc=np.invert)
def bitwise_not(self: np.ndarray) -> Any:
    try:
        return np.invert(self)
    except TypeError:
        raise not_implemented("bitwise_not_cpu", self) from None


# --- rounding
def _rounding(name: str, ufunc: Any) -> None:
    def call(self: np.ndarray) -> Any:
        kind = self.dtype.kind
        if kind == "f":
            return ufunc(self)
        if kind in "iu":
            return self.copy("K")
        if kind == "c" and name != "round":
            raise NotImplementedError(f"{name} is not supported for complex inputs")
        raise not_implemented(f"{name}_vml_cpu", self)

    kernel(name)(call)


for _name, _ufunc in (("floor", np.floor), ("ceil", np.ceil), ("trunc", np.trunc), ("round", np.rint)):
    _rounding(_name, _ufunc)


@kernel("round.decimals")
def round_decimals(self: np.ndarray, decimals: int) -> Any:
    if self.dtype.kind != "f":
        if decimals == 0 and self.dtype.kind in "iu":
            return self.copy("K")
        raise not_implemented("round_cpu", self)
    if decimals == 0:
        return np.rint(self)
    scale = self.dtype.type(10.0 ** abs(decimals))
    return np.rint(self * scale) / scale if decimals > 0 else np.rint(self / scale) * scale


@kernel("frac")
def frac(self: np.ndarray) -> Any:
    if self.dtype.kind != "f":
        raise not_implemented("frac_cpu", self)
    return self - np.trunc(self)


@accelerated("nan_to_num")
def _replaced(x: np.ndarray, nan: float, top: float, bottom: float) -> np.ndarray:
    """The values, with these numbers for NaN and both infinities."""
    make = x.dtype.type
    return np.where(np.isnan(x), make(nan), np.where(x == np.inf, make(top), np.where(x == -np.inf, make(bottom), x)))


def _finite(x: np.ndarray, nan: float | None, posinf: float | None, neginf: float | None) -> np.ndarray:
    limits = np.finfo(x.dtype)
    return _replaced(
        x,
        0.0 if nan is None else nan,
        float(limits.max) if posinf is None else posinf,
        float(limits.min) if neginf is None else neginf,
    )


@kernel("nan_to_num")
def nan_to_num(self: np.ndarray, nan: float | None, posinf: float | None, neginf: float | None) -> np.ndarray:
    stored = dt.BY_NUM[self.dtype.num]
    if stored.wide is not None:  # what replaces an infinity is the largest number of the type itself
        top = dt.finfo(stored).max
        made = nan_to_num(
            self.astype(stored.wide.np), nan, top if posinf is None else posinf, -top if neginf is None else neginf
        )
        return made.astype(self.dtype)
    kind = self.dtype.kind
    if kind == "f":
        return _finite(self, nan, posinf, neginf)
    out = self.copy("K")
    if kind == "c":
        out.real, out.imag = _finite(self.real, nan, posinf, neginf), _finite(self.imag, nan, posinf, neginf)
    return out

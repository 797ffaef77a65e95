"""Kernels that limit, choose and mix: clamp, where, lerp, addcmul, addcdiv."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ... import _dtype as dt
from ..._dispatch.registry import check, inplace_kernel, kernel
from .blocks import BLOCK, in_blocks
from .select import select
from .unsupported import not_implemented, type_word
from .whole_numbers import as_element

SMALL = 2048  # elements up to which two plain calls beat numpy's clip, which has more to prepare


# --- limits
def _extremes(dtype: np.dtype[Any]) -> tuple[Any, Any]:
    """The limits that limit nothing."""
    if dtype.kind == "f":
        return -np.inf, np.inf
    info = np.iinfo(dtype)
    return info.min, info.max


def clip(self: np.ndarray, low: Any, high: Any, out: np.ndarray | None = None) -> np.ndarray:
    """Values limited to [low, high], either of which may be None or NaN. `high` wins where they cross.

    numpy's clip runs with vector instructions where its maximum with a single number does not.
    """
    try:
        return _clip(self, low, high, out)
    except OverflowError:
        return _clip(self, _limit(self, low), _limit(self, high), out)


def _limit(self: np.ndarray, limit: Any) -> Any:
    return limit if limit is None or isinstance(limit, np.ndarray) else as_element(self, limit)


def _clip(self: np.ndarray, low: Any, high: Any, out: np.ndarray | None) -> np.ndarray:
    if self.size > SMALL and self.dtype.kind in "fiu":
        least, most = _extremes(self.dtype)
        return np.clip(self, least if low is None else low, most if high is None else high, out=out)
    result = self if low is None else np.maximum(self, low, out=out)
    return result if high is None else np.minimum(result, high, out=out)


_zeros: dict[str, np.ndarray] = {c: np.zeros(BLOCK, c) for c in "fd"}


def not_negative(self: np.ndarray) -> Any:
    """The larger of each element and 0.

    With an array of zeros numpy's maximum runs three times as fast as with a number.
    """
    n = self.size
    if n <= 256 or self.dtype.char not in _zeros or not self.flags.c_contiguous:
        return np.maximum(self, 0) if n <= SMALL else clip(self, 0, None)
    if n <= BLOCK:
        return np.maximum(self.reshape(-1), _zeros[self.dtype.char][:n]).reshape(self.shape)
    return clip(self, 0, None)


def _check_clamp(self: np.ndarray, low: Any, high: Any) -> None:
    if low is None and high is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    kind = self.dtype.kind
    if kind == "c":
        raise NotImplementedError("clamp is not supported for complex types")
    if kind == "b" and not isinstance(low, np.ndarray) and not isinstance(high, np.ndarray):
        raise not_implemented(f"clamp{'_min' if high is None else '_max' if low is None else ''}_scalar_cpu", self)


@kernel("clamp", "clamp.Tensor")
def clamp(self: np.ndarray, min: Any, max: Any) -> Any:
    _check_clamp(self, min, max)
    return clip(self, min, max)


@inplace_kernel("clamp", "clamp.Tensor")
def clamp_into(self: np.ndarray, min: Any, max: Any) -> None:
    _check_clamp(self, min, max)
    clip(self, min, max, self)


@kernel("clamp_min", "clamp_min.Tensor")
def clamp_min(self: np.ndarray, min: Any) -> Any:
    if self.dtype.kind in "bc":
        _check_clamp(self, min, None)
    if min.__class__ is not np.ndarray and min == 0:
        return not_negative(self)
    try:
        return clip(self, min, None) if self.size > SMALL else np.maximum(self, min)
    except OverflowError:
        return clip(self, min, None)


@inplace_kernel("clamp_min", "clamp_min.Tensor")
def clamp_min_into(self: np.ndarray, min: Any) -> None:
    clamp_into(self, min, None)


@kernel("clamp_max", "clamp_max.Tensor")
def clamp_max(self: np.ndarray, max: Any) -> Any:
    _check_clamp(self, None, max)
    return clip(self, None, max)


@inplace_kernel("clamp_max", "clamp_max.Tensor")
def clamp_max_into(self: np.ndarray, max: Any) -> None:
    clamp_into(self, None, max)


# --- choices
@kernel("where.self", "where.ScalarOther", "where.ScalarSelf")
def where(condition: np.ndarray, self: Any, other: Any) -> Any:
    if condition.dtype.kind != "b" and condition.dtype.char != "B":
        raise RuntimeError(
            f"where expected condition to be a boolean tensor, but got a tensor with dtype {type_word(condition)}"
        )
    if self.__class__ is not np.ndarray:
        self = np.array(self, other.dtype)
    elif other.__class__ is not np.ndarray:
        other = np.array(other, self.dtype)
    return select(condition, self, other) if condition.dtype.kind == "b" else np.where(condition, self, other)


# --- mixtures
@check("lerp.Tensor")
def one_type(self: Any, end: Any, weight: Any) -> None:
    """A weight without dimensions takes part in the choice of the common type; all else must be of one type."""
    for name, given in (("end", end), ("weight", weight)):
        if given.dtype is not self.dtype and not (name == "weight" and given.dim() == 0):
            raise RuntimeError(
                f"expected dtype {self.dtype.cpp_name} for `{name}` but got dtype {given.dtype.cpp_name}"
            )


def _check_lerp(self: np.ndarray, end: np.ndarray, weight: Any) -> None:
    if end.dtype != self.dtype:
        wanted, got = dt.BY_NUM[self.dtype.num].cpp_name, dt.BY_NUM[end.dtype.num].cpp_name
        raise RuntimeError(f"expected dtype {wanted} for `end` but got dtype {got}")
    if self.dtype.kind in "biu":
        raise not_implemented("lerp_kernel_scalar", self)
    if isinstance(weight, complex) and self.dtype.kind == "f":
        raise RuntimeError(f"value cannot be converted to type {dt.BY_NUM[self.dtype.num].cpp_name} without overflow")


@kernel("lerp.Scalar")
def lerp_scalar(self: np.ndarray, end: np.ndarray, weight: Any) -> Any:
    """start + weight * (end - start), counted from the nearer side so that both ends are exact."""
    if self.dtype != end.dtype or self.dtype.kind in "biu" or isinstance(weight, complex):
        _check_lerp(self, end, weight)
    if self.size > BLOCK and self.shape == end.shape and self.dtype.kind == "f":
        return in_blocks(_lerp_body(weight), np.empty_like(self), (self, end), 1)
    span = np.subtract(end, self)
    if abs(weight) < 0.5:
        return np.add(self, span * weight)
    return np.subtract(end, span * (1 - weight))


def _lerp_body(weight: Any) -> Callable[..., None]:
    """The same in blocks (`in_blocks`), with one array to work in."""

    def body(out: np.ndarray, a: np.ndarray, b: np.ndarray, t: np.ndarray) -> None:
        np.subtract(b, a, out=t)
        if abs(weight) < 0.5:
            t *= weight
            np.add(a, t, out=out)
        else:
            t *= 1 - weight
            np.subtract(b, t, out=out)

    return body


@inplace_kernel("lerp.Scalar")
def lerp_scalar_into(self: np.ndarray, end: np.ndarray, weight: Any) -> None:
    if self.dtype != end.dtype or self.dtype.kind in "biu" or isinstance(weight, complex):
        _check_lerp(self, end, weight)
    if self.size <= BLOCK and abs(weight) < 0.5:
        np.add(self, np.multiply(np.subtract(end, self), weight), out=self)
        return
    in_blocks(_lerp_body(weight), self, (self, end), 1)


@kernel("lerp.Tensor")
def lerp_tensor(self: np.ndarray, end: np.ndarray, weight: np.ndarray) -> Any:
    if self.dtype.kind in "biu":
        raise not_implemented("lerp_kernel_tensor", self)
    span = np.subtract(end, self)
    return np.where(np.abs(weight) < 0.5, self + weight * span, end - span * (1 - weight))


def _whole_value(self: np.ndarray, value: Any) -> Any:
    """PyTorch cuts a factor for integers to an integer, one of their type."""
    return as_element(self, int(value)) if self.dtype.kind in "biu" and isinstance(value, (int, float)) else value


@kernel("addcmul")
def addcmul(self: np.ndarray, tensor1: np.ndarray, tensor2: np.ndarray, value: Any) -> Any:
    if self.dtype.kind == "b":
        raise not_implemented("addcmul_cpu_out", self)
    product = np.multiply(tensor1, tensor2)
    return np.add(self, product if value == 1 else product * _whole_value(self, value))


@check("addcdiv")
def no_integer_quotient(self: Any, tensor1: Any, tensor2: Any, value: Any) -> None:
    _refuse_integers(not tensor1.dtype.inexact and not tensor2.dtype.inexact)


def _check_addcdiv(self: np.ndarray) -> None:
    _refuse_integers(self.dtype.kind in "biu")


def _refuse_integers(whole: bool) -> None:
    if whole:
        raise RuntimeError(
            "Integer division with addcdiv is no longer supported, and in a future  release addcdiv will perform a "
            "true division of tensor1 and tensor2. The historic addcdiv behavior can be implemented as (input + value "
            "* torch.trunc(tensor1 / tensor2)).to(input.dtype) for integer inputs and as (input + value * tensor1 / "
            "tensor2) for float inputs. The future addcdiv behavior is just the latter implementation: (input + value "
            "* tensor1 / tensor2), for all dtypes."
        )


@kernel("addcdiv")
def addcdiv(self: np.ndarray, tensor1: np.ndarray, tensor2: np.ndarray, value: Any) -> Any:
    _check_addcdiv(self)
    quotient = np.true_divide(tensor1, tensor2)
    return np.add(self, quotient if value == 1 else quotient * value)


def _add_scaled(ufunc: Any, self: np.ndarray, tensor1: np.ndarray, tensor2: np.ndarray, value: Any) -> None:
    """self += value * ufunc(tensor1, tensor2), without large temporaries where the shapes agree."""

    def body(out: np.ndarray, a: np.ndarray, b: np.ndarray, c: np.ndarray, t: np.ndarray) -> None:
        ufunc(b, c, out=t)
        if value != 1:
            t *= value
        np.add(a, t, out=out)

    if tensor1.shape == self.shape == tensor2.shape and self.size > BLOCK:
        in_blocks(body, self, (self, tensor1, tensor2), 1)
    else:
        step = ufunc(tensor1, tensor2)
        np.add(self, step if value == 1 else step * value, out=self)


@inplace_kernel("addcmul")
def addcmul_into(self: np.ndarray, tensor1: np.ndarray, tensor2: np.ndarray, value: Any) -> None:
    _add_scaled(np.multiply, self, tensor1, tensor2, _whole_value(self, value))


@inplace_kernel("addcdiv")
def addcdiv_into(self: np.ndarray, tensor1: np.ndarray, tensor2: np.ndarray, value: Any) -> None:
    _check_addcdiv(self)
    _add_scaled(np.true_divide, self, tensor1, tensor2, value)

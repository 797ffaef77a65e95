"""Kernels of comparisons, logic, bits and shifts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..._dispatch.registry import kernel
from .unsupported import not_implemented
from .whole_numbers import wrap_integer

Operand = Any  # an array, or a Python number where the declaration allows one


def _fits(number: Any, like: np.ndarray) -> Any:
    """A number wrapped to the integer type of `like`."""
    return wrap_integer(number, like.dtype)


def _compare(name: str, ufunc: Any, ordered: bool) -> None:
    """Registers a comparison; `ordered` ones have no meaning for complex numbers."""

    def with_tensor(self: np.ndarray, other: np.ndarray) -> Any:
        if ordered and self.dtype.kind == "c":
            raise not_implemented(f"{name}_cpu", self)
        return ufunc(self, other)

    def with_number(self: np.ndarray, other: Any) -> Any:
        kind = self.dtype.kind
        if ordered and (kind == "c" or other.__class__ is complex):
            raise not_implemented(
                f"{name}_cpu", self if kind == "c" else np.empty(0, "D" if self.dtype.char == "d" else "F")
            )
        if kind in "iu" and self.dtype.itemsize < 8:
            other = _fits(other, self)
        return ufunc(self, other)

    kernel(f"{name}.Tensor", ufunc=ufunc)(with_tensor if ordered else ufunc)
    kernel(f"{name}.Scalar")(with_number)


for _name, _ufunc, _ordered in (
    ("eq", np.equal, False),
    ("ne", np.not_equal, False),
    ("lt", np.less, True),
    ("le", np.less_equal, True),
    ("gt", np.greater, True),
    ("ge", np.greater_equal, True),
):
    _compare(_name, _ufunc, _ordered)
for _name in ("logical_and", "logical_or", "logical_xor"):
    kernel(_name, ufunc=getattr(np, _name))(getattr(np, _name))


def _bits(names: tuple[str, ...], ufunc: Any, error_name: str, kinds: str) -> None:
    def call(self: Operand, other: Operand) -> Any:
        array = self if isinstance(self, np.ndarray) else other
        if array.dtype.kind not in kinds:
            raise not_implemented(error_name, array)
        try:
            return ufunc(self, other)
        except OverflowError:
            return ufunc(self, _fits(other, self)) if isinstance(self, np.ndarray) else ufunc(_fits(self, other), other)

    kernel(*names)(call)


for _name in ("bitwise_and", "bitwise_or", "bitwise_xor"):
    _bits((f"{_name}.Tensor", f"{_name}.Scalar", f"{_name}.Scalar_Tensor"), getattr(np, _name), f"{_name}_cpu", "biu")


def _shift(ufunc: Any, beyond: Callable[[Any], Any]) -> Callable[[Operand, Operand], Any]:
    """A shift that is defined for every distance: negative or too far means that all bits leave."""

    def call(self: Operand, other: Operand) -> Any:
        bits = (self if isinstance(self, np.ndarray) else other).dtype.itemsize * 8
        out = np.less(other, 0) | np.greater_equal(other, bits)
        if not np.any(out):
            return ufunc(self, other)
        return np.where(out, beyond(self), ufunc(self, np.where(out, 0, other).astype(np.asarray(other).dtype)))

    return call


_shift_left = _shift(np.left_shift, lambda a: np.zeros_like(a))
_shift_right = _shift(np.right_shift, lambda a: -np.less(a, 0).astype(np.asarray(a).dtype))
for _name, _operator, _call in (("left", "lshift", _shift_left), ("right", "rshift", _shift_right)):
    _bits(
        (
            f"bitwise_{_name}_shift.Tensor",
            f"bitwise_{_name}_shift.Tensor_Scalar",
            f"bitwise_{_name}_shift.Scalar_Tensor",
            f"__{_operator}__.Tensor",
            f"__{_operator}__.Scalar",
        ),
        _call,
        f"{_operator}_cpu",
        "iu",
    )


@kernel("equal")
def equal(self: np.ndarray, other: np.ndarray) -> bool:
    return self.shape == other.shape and bool(np.array_equal(self, other))


def _shift_into(call: Callable[[Operand, Operand], Any]) -> Callable[[np.ndarray, Operand], None]:
    def write(self: np.ndarray, other: Operand) -> None:
        np.copyto(self, call(self, other), casting="unsafe")

    return write


kernel("__ilshift__.Tensor", "__ilshift__.Scalar")(_shift_into(_shift_left))
kernel("__irshift__.Tensor", "__irshift__.Scalar")(_shift_into(_shift_right))

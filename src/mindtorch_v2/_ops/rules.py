"""Reusable rules: how an op's inputs are cast before its kernel, and what its outputs look like.

A rule serves two callers. The CPU adapter asks it which tensor arguments to bring to a common type; the
meta device asks it for the shapes and types of the outputs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .. import _dtype as dt
from .._shape import normalize_dims, reduced_shape
from .movement_shapes import dense_strides


@dataclass(frozen=True, slots=True)
class Spec:
    """The shape and type of one output; it is contiguous unless strides (in elements) are given."""

    shape: tuple[int, ...]
    dtype: dt.dtype
    strides: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class Rule:
    """`cast`: None, "promote" (common type) or "float" (common type, integers become the default float).
    `out`: "cast" (the common type), "self", "bool", "int64" or "numpy" (what the kernel returns decides).
    `names`: the arguments that take part in casting, tensors and numbers; None means all tensors.
    """

    cast: str | None = None
    out: str = "numpy"
    names: tuple[str, ...] | None = None
    elementwise: bool = False

    def of(self, *names: str) -> Rule:
        """The same rule, for these arguments only."""
        return replace(self, names=names)


PROMOTE = Rule("promote", "cast", elementwise=True)  # add, mul, where, ...
FLOAT = Rule("float", "cast", elementwise=True)  # exp, div, sigmoid: integers become floating
COMPARE = Rule("promote", "bool", elementwise=True)  # eq, lt, ...
SAME = Rule(None, "self", elementwise=True)  # neg, abs, floor: the type of self, unchanged
PREDICATE = Rule(None, "bool", elementwise=True)  # isnan, logical_not


def check_factor(alpha: Any, kind: str) -> None:
    """RuntimeError for a number that a sum with results of this kind (numpy's letter) does not take as a factor."""
    if isinstance(alpha, bool):
        if kind != "b":
            raise RuntimeError("Boolean alpha only supported for Boolean results.")
    elif kind in "biu" and not isinstance(alpha, int):
        raise RuntimeError("For integral input tensors, argument alpha must not be a floating point number.")
    elif kind != "c" and isinstance(alpha, complex):
        raise RuntimeError("For non-complex input tensors, argument alpha must not be a complex number.")


def result_type(*operands: Any) -> dt.dtype:
    """PyTorch's common type of tensors and Python numbers.

    Operands count in three classes (tensors with dimensions, 0-dim tensors, numbers); a class decides only if
    its category (bool < int < float < complex) is above that of the classes before it. A floating type keeps its width
    when it becomes complex.

    >>> torch.result_type(torch.tensor([1]), 2.5)
    torch.float32
    """
    dims: dt.dtype | None = None
    zero: dt.dtype | None = None
    number: dt.dtype | None = None
    for x in operands:
        if isinstance(x, (bool, int, float, complex)):
            d = dt.of_number(x)
            number = d if number is None else dt.promote_types(number, d)
        elif x._array.ndim:
            dims = x.dtype if dims is None else dt.promote_types(dims, x.dtype)
        else:
            zero = x.dtype if zero is None else dt.promote_types(zero, x.dtype)
    out: dt.dtype | None = None
    for d2 in (dims, zero, number):
        if d2 is None:
            continue
        if out is None:
            out = d2
        elif d2.category > out.category:
            out = (out.to_complex() if out.is_floating_point else d2) if d2.is_complex else dt.promote_types(out, d2)
    assert out is not None
    return out


def as_float(d: dt.dtype) -> dt.dtype:
    """Integers and bool become the default floating type."""
    return d if d.category >= 2 else dt.get_default_dtype()


# Meta rules for ops that are not elementwise: functions of the op's arguments to a Spec or a tuple of them.
MetaRule = Callable[..., "Spec | Sequence[Spec]"]


def alike(t: Any, dtype: dt.dtype | None = None) -> Spec:
    """A fresh tensor that lies in memory as `t` does."""
    shape = tuple(t.shape)
    return Spec(shape, dtype or t.dtype, dense_strides(shape, t.stride()))


def like(position: int = 0) -> MetaRule:
    """The output looks like the tensor argument at `position`."""

    def rule(*args: Any) -> Spec:
        return Spec(tuple(args[position].shape), args[position].dtype)

    return rule


def reduction(dtype: str = "self") -> MetaRule:
    """For (self, dim, keepdim, ...): reduced shape; the type is self's, "bool", "int64", "float" or "sum"
    (integers become int64, and an argument called dtype, last, wins)."""

    def rule(self: Any, dim: Any = None, keepdim: bool = False, *rest: Any) -> Spec:
        shape = reduced_shape(self.shape, normalize_dims(dim, self.dim()), bool(keepdim))
        asked = next((r for r in rest if isinstance(r, dt.dtype)), None)
        kind = {
            "self": self.dtype,
            "bool": dt.bool_,
            "int64": dt.int64,
            "float": as_float(self.dtype),
            "sum": dt.int64 if self.dtype.category < 2 else self.dtype,
        }[dtype]
        return Spec(shape, asked or kind)

    return rule

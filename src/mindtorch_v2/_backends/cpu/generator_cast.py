"""Element types of random results: names, ranges and roundings as PyTorch's.

``dtype`` arguments are numpy dtypes.  numpy has no bfloat16, so the string
``"bfloat16"`` asks for float32 arrays holding values rounded to bfloat16.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Real = TypeVar("Real", float, NDArray[np.float64])


class Kind(NamedTuple):
    """What the random code has to know about an element type."""

    store: np.dtype[Any]  # dtype of the array handed back
    label: str  # PyTorch's name of the type in error texts, e.g. Long
    ctype: str  # the C++ spelling other error texts use, e.g. long int
    digits: int  # bits of the significand; 0 for integers
    top: float | int  # largest finite value


BFLOAT16 = Kind(np.dtype(np.float32), "BFloat16", "c10::BFloat16", 8, (2 - 2.0**-7) * 2.0**127)

_TABLE: list[tuple[str, str, str, int]] = [
    ("bool", "Bool", "bool", 0),
    ("uint8", "Byte", "unsigned char", 0),
    ("int8", "Char", "signed char", 0),
    ("int16", "Short", "short int", 0),
    ("int32", "Int", "int", 0),
    ("int64", "Long", "long int", 0),
    ("uint16", "UInt16", "short unsigned int", 0),
    ("uint32", "UInt32", "unsigned int", 0),
    ("uint64", "UInt64", "long unsigned int", 0),
    ("float16", "Half", "c10::Half", 11),
    ("float32", "Float", "float", 24),
    ("float64", "Double", "double", 53),
    ("complex64", "ComplexFloat", "c10::complex<float>", 24),
    ("complex128", "ComplexDouble", "c10::complex<double>", 53),
]


def _top(dtype: np.dtype[Any]) -> float | int:
    if dtype.kind == "b":
        return 1
    if dtype.kind in "iu":
        return int(np.iinfo(dtype).max)
    return float(np.finfo(dtype).max)


_KINDS: dict[Any, Kind] = {"bfloat16": BFLOAT16}
for _name, _label, _ctype, _digits in _TABLE:
    _dtype = np.dtype(_name)
    _KINDS[_dtype] = Kind(_dtype, _label, _ctype, _digits, _top(_dtype))


def kind_of(dtype: Any) -> Kind:
    """The ``Kind`` of a numpy dtype (or of the string ``"bfloat16"``)."""
    found = _KINDS.get(dtype)
    if found is None:
        kind = np.dtype(dtype)
        found = BFLOAT16 if kind.name == "bfloat16" else _KINDS[kind]
    return found


def is_floating(kind: Kind) -> bool:
    """Whether the type is a real floating-point one."""
    return kind.store.kind == "f"


def component(kind: Kind) -> Kind:
    """The real type of a complex type's two parts."""
    return _KINDS[np.dtype(f"f{kind.store.itemsize // 2}")]


def count_of(shape: Any) -> int:
    """Number of elements of a shape (an int or a sequence of ints) or of an array."""
    if isinstance(shape, int):
        return shape
    if isinstance(shape, np.ndarray):
        return shape.size
    total = 1
    for size in shape:
        total *= int(size)
    return total


def of_parts(shape: Any, kind: Kind, draw: Callable[[Any], Array]) -> Array:
    """Complex numbers whose parts ``draw(count or array)`` gives, real part first."""
    if isinstance(shape, np.ndarray):
        draw(shape.reshape(-1).view(component(kind).store))
        return shape
    return draw(2 * count_of(shape)).view(kind.store).reshape(shape)


def not_implemented(kernel: str, kind: Kind) -> NotImplementedError:
    """PyTorch's error for a kernel that has no code for an element type."""
    return NotImplementedError(f"\"{kernel}\" not implemented for '{kind.label}'")


def require_floating(kernel: str, kind: Kind) -> None:
    """Refuse element types that are not real floating-point ones."""
    if not is_floating(kind):
        raise not_implemented(kernel, kind)


def round_bfloat16(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """float32 values rounded to the nearest bfloat16, ties to even."""
    bits = np.ascontiguousarray(values).view(np.uint32)
    even = (bits >> np.uint32(16)) & np.uint32(1)
    rounded = (bits + (even + np.uint32(0x7FFF))) & np.uint32(0xFFFF0000)
    result = rounded.view(np.float32)
    return np.where(np.isnan(values), values, result).astype(np.float32, copy=False)


def cast(values: Array, kind: Kind) -> Array:
    """Computed values as the stored type, rounded the way PyTorch rounds.

    The 16-bit types are reached through float32, so a float64 value is rounded
    twice there, as it is in PyTorch.
    """
    if kind.digits in (8, 11):
        with np.errstate(over="ignore"):
            narrow = values.astype(np.float32, copy=False)
            if kind.digits == 8:
                return round_bfloat16(narrow)
            return narrow.astype(np.float16)
    if values.dtype == kind.store:
        return values
    with np.errstate(over="ignore", invalid="ignore"):
        return values.astype(kind.store)


def cast_scalar(value: float, kind: Kind) -> Any:
    """One number as the stored type, by the rule of ``cast``."""
    return cast(np.array([value], dtype=np.float64), kind)[0]


def fma32(a: Array, b: float, c: float) -> NDArray[np.float32]:
    """float32 ``a*b + c`` rounded once; ``b`` and ``c`` hold float32 values.

    The product is exact in float64.  The sum is rounded to float64 before
    float32, which can be off by an ulp about once in 2**29 cases.
    """
    wide = a.astype(np.float64)
    wide *= b
    wide += c
    return wide.astype(np.float32)


def fma64(a: Real, b: float, c: float) -> Real:
    """float64 ``a*b + c`` with (nearly always) one rounding.

    PyTorch's kernels fuse this step on every x86 host with AVX2.  The exact
    error of the product and of the sum are found by splitting (Dekker, Knuth)
    and added back at the end.
    """
    if c == 0.0 or abs(b) > 1e290:  # the splitting below would overflow
        return a * b + c
    product = a * b
    big = a * 134217729.0
    a_high = big - (big - a)
    a_low = a - a_high
    scaled = b * 134217729.0
    b_high = scaled - (scaled - b)
    b_low = b - b_high
    lost = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + (a_low * b_low)
    total = product + c
    part = total - product
    dropped = (product - (total - part)) + (c - part)
    return total + (dropped + lost)

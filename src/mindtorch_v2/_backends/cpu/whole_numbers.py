"""Python numbers in the type of an array. As an operand beside a tensor a whole number wraps, as in C; as an
argument (a limit, a factor, a value to fill with) it must fit.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import _dtype as dt

_WORD = (1 << 64) - 1
_C_TYPES = {
    "uint8": "uint8_t",
    "int8": "int8_t",
    "int16": "int16_t",
    "int32": "int",
    "int64": "int64_t",
    "uint16": "uint16_t",
    "uint32": "uint32_t",
    "uint64": "uint64_t",
}


def wrap_integer(number: Any, dtype: np.dtype[Any]) -> Any:
    """A Python integer as one of the integer type; anything else, and every number beside other types, as it is."""
    if not isinstance(number, int) or isinstance(number, bool) or dtype.kind not in "iu":
        return number
    return np.array(number & _WORD, np.uint64).astype(dtype)[()]


def as_element(array: np.ndarray, value: Any) -> Any:
    """A number in the type of `array`; RuntimeError if it does not fit."""
    kind = array.dtype.kind
    if kind == "f" and (value.__class__ is float or value.__class__ is int) and -60000.0 < value < 60000.0:
        return value  # fits every floating type
    if isinstance(value, complex) and kind not in "cb":
        if value.imag != 0:
            raise _overflow(array)
        value = value.real
    if kind in "iu" and not isinstance(value, bool):
        limits = np.iinfo(array.dtype)
        # PyTorch lets the integer -1 stand for the largest unsigned number; a float must fit before it is cut.
        wraps = kind == "u" and isinstance(value, (int, np.integer))
        if not (-limits.max if wraps else limits.min) <= value <= limits.max:
            raise _overflow(array)
        value = int(value)
        return np.array(value).astype(array.dtype)[()]
    if array.dtype.num >= dt.FIRST_USER_NUM:
        return _as_foreign(array, value)
    made = array.dtype.type(value)
    if kind == "f" and np.isinf(made) and np.isfinite(value):
        raise _overflow(array)
    return made


def _as_foreign(array: np.ndarray, value: Any) -> Any:
    """A number in one of the types that numpy lacks, reached through the type that it is computed in."""
    kind = dt.BY_NUM[array.dtype.num]
    assert kind.wide is not None
    if kind.is_floating_point and np.isfinite(value) and abs(value) > dt.finfo(kind).max:
        raise _overflow(array)
    return np.array(value, kind.wide.np).astype(array.dtype)[()]


def _overflow(array: np.ndarray) -> RuntimeError:
    kind = dt.BY_NUM[array.dtype.num]
    return RuntimeError(f"value cannot be converted to type {_C_TYPES.get(kind.name, kind.cpp_name)} without overflow")

"""Python numbers in the type of an array. As an operand beside a tensor a whole number wraps, as in C; as an argument (a limit, a
factor, a value to fill with) it must fit."""
from __future__ import annotations

from typing import Any

import numpy as np

_WORD = (1 << 64) - 1
_C_TYPES = {"?": "bool", "B": "uint8_t", "b": "int8_t", "h": "int16_t", "i": "int", "l": "int64_t", "q": "int64_t",
            "e": "c10::Half", "f": "float", "d": "double", "F": "c10::complex<float>", "D": "c10::complex<double>"}


def wrapped(number: Any, dtype: np.dtype[Any]) -> Any:
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
        try:
            value = int(value)
        except (OverflowError, ValueError):
            raise _overflow(array) from None
        limits = np.iinfo(array.dtype)
        # PyTorch lets -1 stand for the largest unsigned number.
        if not (limits.min if kind == "i" else -limits.max) <= value <= limits.max:
            raise _overflow(array)
        return np.array(value).astype(array.dtype)[()]
    made = array.dtype.type(value)
    if kind == "f" and np.isinf(made) and np.isfinite(value):
        raise _overflow(array)
    return made


def _overflow(array: np.ndarray) -> RuntimeError:
    return RuntimeError(f"value cannot be converted to type {_C_TYPES[array.dtype.char]} without overflow")

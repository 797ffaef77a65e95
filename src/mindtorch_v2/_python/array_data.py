"""Arrays from what users give as data: numbers, nested lists, arrays, tensors in them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import _dtype as dt
from .._quiet import cast, make_array
from .._tensor import Tensor

_NUMBERS = (float, int, bool, complex)


# --- Python values
def _first_leaf(data: Any) -> Any:
    """The first value of nested lists and tuples; an empty list if there is none."""
    while data.__class__ is list or data.__class__ is tuple:
        if not data:
            return data
        data = data[0]
    return data


def _array_of(data: Any, dtype: dt.dtype | None) -> np.ndarray:
    """The values of numbers or nested sequences, in the given type or the one that PyTorch infers."""
    kind = _first_leaf(data).__class__
    if kind is float and dtype is None:
        try:
            return make_array(data, dt.get_default_dtype().np)
        except (ValueError, TypeError):
            return _array_from_leaves(data, dtype)
    if kind in _NUMBERS:
        try:
            array = np.array(data)
        except ValueError:
            return _array_from_leaves(data, dtype)
        if array.dtype.num in dt.BY_NUM and (array.dtype.kind != "u" or dtype is dt.uint64):
            if dtype is not None:
                return array if dtype.np == array.dtype else _cast(array, dtype)
            found = {"f": dt.get_default_dtype(), "c": dt.get_default_dtype().to_complex()}.get(array.dtype.kind)
            return array if found is None or found.np == array.dtype else cast(array, found.np)
    return _array_from_leaves(data, dtype)


def _cast(array: np.ndarray, dtype: dt.dtype) -> np.ndarray:
    """The values in another type; as PyTorch does for Python numbers, what does not fit an integer is an error."""
    if array.dtype.kind == "c" and not dtype.is_complex:
        raise TypeError("must be real number, not complex")
    if dtype.category == 1 and array.size and array.dtype.kind in "fiu":
        top = np.iinfo(dtype.np).max
        low = np.iinfo(dtype.np).min or -top
        if not (np.isfinite(array).all() and array.min() >= low and array.max() <= top):
            raise RuntimeError(f"value cannot be converted to type {dtype.name} without overflow")
    return cast(array, dtype.np)


def _is_sequence(value: Any) -> bool:
    return (
        isinstance(value, (Sequence, np.ndarray))
        and not isinstance(value, (str, bytes))
        and getattr(value, "ndim", 1) > 0
    )


def _sizes(data: Any) -> list[int]:
    """The shape that the first elements of nested sequences tell."""
    sizes = []
    while _is_sequence(data):
        sizes.append(len(data))
        if not len(data):
            break
        data = data[0]
    return sizes


def _infer(value: Any) -> dt.dtype:
    """The type that a value, or all values of a sequence together, have."""
    if isinstance(value, (np.generic, np.ndarray)):
        return dt.from_numpy(value.dtype)
    if isinstance(value, _NUMBERS):
        return dt.of_number(value)
    if isinstance(value, Tensor):
        return value.dtype
    if isinstance(value, str):
        raise TypeError("new(): invalid data type 'str'")
    if not _is_sequence(value):
        raise RuntimeError(f"Could not infer dtype of {type(value).__name__}")
    if not len(value):
        return dt.get_default_dtype()
    found: dt.dtype | None = None
    for v in value:
        if isinstance(v, str) and found is None:
            raise ValueError("too many dimensions 'str'")
        kind = _infer(v)
        found = kind if found is None else dt.promote_types(found, kind)
    assert found is not None
    return found


def _number(value: Any, kind: dt.dtype) -> Any:
    if isinstance(value, Tensor):
        if value.numel() != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
        return value.item()
    if isinstance(value, (list, tuple)):
        if kind.category == 2:
            raise TypeError(f"must be real number, not {type(value).__name__}")
        raise TypeError(f"'{type(value).__name__}' object cannot be interpreted as an integer")
    if isinstance(value, int) and not -(2**63) <= value < 2**63 and kind.category < 2:
        raise ValueError("Overflow when unpacking long long")
    return value


def _collect(data: Any, sizes: list[int], depth: int, kind: dt.dtype, out: list[Any]) -> None:
    """Appends the values in order; errors tell where the nesting is uneven."""
    if depth == len(sizes):
        out.append(_number(data, kind))
        return
    if not _is_sequence(data):
        raise TypeError("not a sequence")
    if len(data) != sizes[depth]:
        raise ValueError(f"expected sequence of length {sizes[depth]} at dim {depth} (got {len(data)})")
    for item in data:
        _collect(item, sizes, depth + 1, kind, out)


def _array_from_leaves(data: Any, dtype: dt.dtype | None) -> np.ndarray:
    """The general way: shape from the first elements, type from all, then one value after another."""
    kind = dtype or _infer(data)
    if isinstance(data, str):
        raise TypeError("new(): invalid data type 'str'")
    sizes = _sizes(data)
    values: list[Any] = []
    _collect(data, sizes, 0, kind, values)
    if not values:
        return np.empty(sizes, kind.np)
    return _cast(np.array(values), kind).reshape(sizes)

"""Functions that numpy does not warn about: inf and nan are results here, as everywhere in this field.

What the user tells numpy about his own arrays (`np.seterr`, `np.errstate`) neither changes nor matters: such a
function runs in a context of its own, where numpy ignores everything. So it sees none of the caller's context
variables, and must not need them.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import Context, ContextVar
from functools import wraps
from typing import Any, TypeVar

import numpy as np

from . import _dtype as dt
from ._native import accelerated
from ._storage import native

F = TypeVar("F", bound=Callable[..., Any])


def _silent_context() -> Context:
    context = Context()
    context.run(np.seterr, all="ignore")
    return context


def quiet(function: F, narrow: Callable[..., Any] | None = None) -> F:
    """The function, without numpy's warnings about what it computes. Where one of its arguments is of an element
    type that is computed in a wider one (an array, one in a list, or the type itself), `narrow` is called instead.
    """
    if native is not None:
        return native.Quiet(function, narrow)  # type: ignore[no-any-return]
    made: Any = _in_context(function, narrow)
    return made if isinstance(function, np.ufunc) else wraps(function)(made)  # type: ignore[return-value]


def _is_narrow(value: Any) -> bool:
    if value.__class__ is np.ndarray:
        return value.dtype.num >= dt.FIRST_USER_NUM or value.dtype is _HALF
    if value.__class__ is list or value.__class__ is tuple:
        return any(map(_is_narrow, value))
    return value.__class__ is dt.dtype and value.wide is not None


_HALF = np.dtype(np.float16)
_MAY_BE_NARROW = (np.ndarray, list, tuple, dt.dtype)


_idle: list[Context] = []  # a context can be entered once at a time: those that nobody is in


def _in_context(function: Any, narrow: Any) -> Any:
    ndarray, first_user_num = np.ndarray, dt.FIRST_USER_NUM

    def call(*args: Any, **kwargs: Any) -> Any:
        chosen = function
        if narrow is not None:
            for value in args:
                if value.__class__ is ndarray:  # written out here, because most arguments are arrays
                    kind = value.dtype
                    if kind.num >= first_user_num or kind is _HALF:
                        chosen = narrow
                elif value.__class__ in _MAY_BE_NARROW and _is_narrow(value):
                    chosen = narrow
        try:
            context = _idle.pop()
        except IndexError:
            context = _silent_context()
        try:
            return context.run(chosen, *args, **kwargs)
        finally:
            _idle.append(context)

    return call


def _variable() -> ContextVar[Any]:
    """numpy's variable: the only one in a context where nothing but numpy's settings was set."""
    (found,) = _silent_context()
    return found


if native is not None:
    _settings = _variable()
    native.setup_quiet(
        _settings, _silent_context()[_settings], np.ndarray, dt.dtype, tuple(d for d in dt.ALL if d.wide is not None)
    )


@accelerated("convert")
def converted(array: np.ndarray, dtype: np.dtype[Any]) -> np.ndarray:
    """The values in another type of numpy, in new memory of the same order. Called where numpy does not warn."""
    return array.astype(dtype)


@accelerated("convert_into")
def convert_into(target: np.ndarray, source: np.ndarray) -> None:
    """Writes the values into an array of another type."""
    np.copyto(target, source, casting="unsafe")


@quiet
def cast(array: np.ndarray, dtype: Any) -> np.ndarray:
    """The values in another type, in new memory; `dtype` is numpy's."""
    return converted(array if dtype.num < dt.FIRST_USER_NUM else in_range(array, dtype), dtype)


def in_range(array: np.ndarray, dtype: np.dtype[Any]) -> np.ndarray:
    """The values as they can be cast to a type of ml_dtypes: PyTorch's float8 types have no infinity to overflow to,
    or no sign.
    """
    if dtype.name == "float8_e4m3fn":
        return np.clip(array.astype(np.float32), -448.0, 448.0)
    if dtype.name == "float8_e8m0fnu":
        size = np.abs(array.astype(np.float32))
        return np.where(size == 0, np.float32(2.0**-127), size)
    return array


make_array = quiet(np.array)
copyto = quiet(np.copyto)

"""Functions that numpy does not warn about: inf and nan are results here, as everywhere in this field.

What the user tells numpy about his own arrays (`np.seterr`, `np.errstate`) neither changes nor matters: such a function runs in a
context of its own, where numpy ignores everything. So it sees none of the caller's context variables, and must not need them.
"""
from __future__ import annotations

from collections.abc import Callable
from contextvars import Context, ContextVar
from functools import wraps
from typing import Any, TypeVar

import numpy as np

from ._storage import native

F = TypeVar("F", bound=Callable[..., Any])


def _ignoring() -> Context:
    context = Context()
    context.run(np.seterr, all="ignore")
    return context


def quiet(function: F) -> F:
    """The function, without numpy's warnings about what it computes."""
    if native is not None:
        return native.Quiet(function)  # type: ignore[no-any-return]
    made: Any = _in_context(function) if isinstance(function, np.ufunc) else wraps(function)(_in_context(function))
    return made  # type: ignore[no-any-return]


_idle: list[Context] = []       # a context can be entered once at a time: those that nobody is in


def _in_context(function: Any) -> Any:
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            context = _idle.pop()
        except IndexError:
            context = _ignoring()
        try:
            return context.run(function, *args, **kwargs)
        finally:
            _idle.append(context)
    return call


def _variable() -> ContextVar[Any]:
    """numpy's variable: the only one in a context where nothing but numpy's settings was set."""
    (found,) = _ignoring()
    return found


if native is not None:
    _found = _variable()
    native.setup_quiet(_found, _ignoring()[_found])


@quiet
def cast(array: np.ndarray, dtype: Any) -> np.ndarray:
    """The values in another type, in new memory."""
    return array.astype(dtype)


make_array = quiet(np.array)
copyto = quiet(np.copyto)

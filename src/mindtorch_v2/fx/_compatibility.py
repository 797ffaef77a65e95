"""A decorator with which libraries say how stable their additions to fx are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


def compatibility(is_backward_compatible: bool) -> Callable[[T], T]:
    """Notes in the docstring of a function or class whether later versions keep it."""

    def mark(fn: T) -> T:
        thing: Any = fn
        note = "Kept by later versions." if is_backward_compatible else "Experimental: later versions may change it."
        try:
            thing.__doc__ = f"{thing.__doc__ or ''}\n\n{note}"
        except AttributeError:  # the docstring of some classes cannot be written
            return fn
        return fn

    return mark

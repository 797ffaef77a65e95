"""How functions become members of Tensor."""

from __future__ import annotations

from typing import Any

from .._tensor import Tensor


def method(function: Any) -> Any:
    """Puts a function into Tensor under its own name."""
    setattr(Tensor, function.__name__, function)
    return function


def getter(function: Any) -> Any:
    """Puts a read-only property into Tensor."""
    setattr(Tensor, function.__name__, property(function))
    return function

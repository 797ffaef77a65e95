"""Printing tensors."""
from __future__ import annotations

from typing import Any


def set_printoptions(**options: Any) -> None:
    """Set by the printing layer."""


def tensor_repr(t: Any) -> str:
    return f"tensor({t._a.tolist()})"

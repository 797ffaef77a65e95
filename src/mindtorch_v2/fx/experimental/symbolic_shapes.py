"""Conditions on sizes. Sizes are numbers here, so that every condition is known."""

from __future__ import annotations

from typing import Any

__all__ = [
    "guard_bool",
    "guard_float",
    "guard_int",
    "guard_or_false",
    "guard_or_true",
    "guard_size_oblivious",
    "has_free_symbols",
    "has_free_unbacked_symbols",
    "is_concrete_bool",
    "is_concrete_float",
    "is_concrete_int",
    "statically_known_false",
    "statically_known_true",
    "sym_eq",
]


def statically_known_true(x: Any) -> bool:
    """Whether the condition is True."""
    return bool(x)


def statically_known_false(x: Any) -> bool:
    """Whether the condition is False."""
    return not x


def guard_size_oblivious(expr: Any) -> bool:
    """The condition."""
    return bool(expr)


def guard_or_true(a: Any) -> bool:
    """The condition."""
    return bool(a)


def guard_or_false(a: Any) -> bool:
    """The condition."""
    return bool(a)


def guard_int(a: Any) -> int:
    """The number."""
    return int(a)


def guard_float(a: Any) -> float:
    """The number."""
    return float(a)


def guard_bool(a: Any) -> bool:
    """The condition."""
    return bool(a)


def is_concrete_int(a: Any) -> bool:
    """Whether the value is an int: always, for a size."""
    return isinstance(a, int)


def is_concrete_float(a: Any) -> bool:
    """Whether the value is a float."""
    return isinstance(a, float)


def is_concrete_bool(a: Any) -> bool:
    """Whether the value is a bool."""
    return isinstance(a, bool)


def has_free_symbols(val: Any) -> bool:
    """Whether the value depends on sizes that are not known: never."""
    return False


def has_free_unbacked_symbols(x: Any) -> bool:
    """Whether the value depends on numbers inside tensors that are not known: never."""
    return False


def sym_eq(x: Any, y: Any) -> bool:
    """Whether two sizes, or sequences of them, are equal."""
    if isinstance(x, (tuple, list)) and isinstance(y, (tuple, list)):
        return len(x) == len(y) and all(sym_eq(a, b) for a, b in zip(x, y))
    return bool(x == y)

"""Exceptions of the public API, and the wording of errors that several layers raise."""

from __future__ import annotations

from typing import Any


class LinAlgError(RuntimeError):
    """A matrix could not be inverted, decomposed or solved."""


LinAlgError.__name__ = "_LinAlgError"  # what PyTorch's tracebacks call it


class OutOfMemoryError(RuntimeError):
    """A device has no room for an allocation."""


def wrong_argument(function: str, name: str, position: int, expected: str, got: Any) -> TypeError:
    """The error for an argument of the wrong type, as PyTorch words it."""
    kind = type(got).__name__
    return TypeError(f"{function}(): argument '{name}' (position {position}) must be {expected}, not {kind}")

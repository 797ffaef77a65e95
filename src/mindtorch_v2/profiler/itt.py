"""Marks for Intel's VTune. Without VTune they do nothing, so programs that set them run anywhere."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["is_available", "range_push", "range_pop", "mark", "range"]


def is_available() -> bool:
    """False: marks are accepted and not sent anywhere."""
    return False


def range_push(msg: str) -> None:
    """Begins a nested range."""


def range_pop() -> None:
    """Ends the innermost range."""


def mark(msg: str) -> None:
    """Marks a moment."""


@contextmanager
def range(msg: str, *args: Any, **kwargs: Any) -> Iterator[None]:
    """A range around a block; the message is formatted with the arguments."""
    range_push(msg.format(*args, **kwargs))
    try:
        yield
    finally:
        range_pop()

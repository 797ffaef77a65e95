"""Losses of scores that are spread over processes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["loss_parallel"]


@contextmanager
def loss_parallel() -> Iterator[Any]:
    """A loss of spread scores may be computed inside. The scores are gathered for it, as they are outside."""
    yield

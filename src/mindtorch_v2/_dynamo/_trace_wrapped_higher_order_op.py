"""A mode for mask functions that index tensors with tensors."""

from __future__ import annotations

from typing import Any


class TransformGetItemToIndex:
    """A block in which `x[i]` with a tensor `i` gathers instead of reading the number. It always gathers here."""

    def __enter__(self) -> TransformGetItemToIndex:
        return self

    def __exit__(self, *exc: Any) -> None:
        return None

"""Tensors of which each process holds some rows: what part it is, beside the plain tensor that holds it."""

from __future__ import annotations

from typing import Any, NamedTuple

from .._tensor import Tensor

_NAME = "_shard_of"


class Shard(NamedTuple):
    """The rows `first` to `first + rows` of a tensor of `shape`, spread over `group`; other processes hold the rest."""

    shape: tuple[int, ...]
    first: int
    rows: int
    group: Any

    @property
    def length(self) -> int:
        """The number of rows of the whole tensor; a single number is one row."""
        return self.shape[0] if self.shape else 1


def shard_of(tensor: Any) -> Shard | None:
    """What part of a larger tensor this one is; None for a tensor that every process holds whole."""
    return getattr(tensor, _NAME, None)


def mark(tensor: Tensor, shard: Shard | None) -> Tensor:
    """The tensor, marked as a part."""
    if shard is not None:
        setattr(tensor, _NAME, shard)
    return tensor


def rows_of(length: int, size: int, rank: int) -> tuple[int, int]:
    """(first, count) of the rows that a process holds: all but the last ones hold as many."""
    each = -(-length // size)
    first = min(rank * each, length)
    return first, min(each, length - first)

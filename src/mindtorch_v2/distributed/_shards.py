"""Tensors of which each process holds some rows: what part it is, beside the plain tensor that holds it."""

from __future__ import annotations

from typing import Any, NamedTuple

from .._dispatch import aten
from .._tensor import PART_NAME, Tensor


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
    return getattr(tensor, PART_NAME, None)


def local(tensor: Any) -> Tensor:
    """The memory of this process: what it holds of a DTensor, and any other tensor itself."""
    to_local = getattr(tensor, "to_local", None)
    return tensor if to_local is None else to_local()


def mark(tensor: Tensor, shard: Shard | None) -> Tensor:
    """The tensor, marked as a part. A DTensor knows that by itself."""
    if shard is not None and not hasattr(tensor, "to_local"):
        setattr(tensor, PART_NAME, shard)
    return tensor


def rows_of(length: int, size: int, rank: int) -> tuple[int, int]:
    """(first, count) of the rows that a process holds: all but the last ones hold as many."""
    each = -(-length // size)
    first = min(rank * each, length)
    return first, min(each, length - first)


def whole_norms(parts: list[Tensor], order: float) -> list[Tensor]:
    """The norms of the tensors that these are parts of. All processes that hold one of them call it."""
    from . import collectives
    from .reduce_op import ReduceOp

    extreme = {float("inf"): (ReduceOp.MAX, 0.0), float("-inf"): (ReduceOp.MIN, float("inf"))}
    op, of_nothing = extreme.get(order, (ReduceOp.SUM, 0.0))
    by_group: dict[Any, list[Tensor]] = {}
    for part in parts:
        shard = shard_of(part)
        assert shard is not None
        own = local(part).detach()
        own = aten.linalg_vector_norm(own, order) if own.numel() else own.new_full((), of_nothing)
        by_group.setdefault((shard.group, own.dtype, own.device), []).append(own)
    made: list[Tensor] = []
    for (group, _, _), norms in by_group.items():
        joined = aten.stack(norms)
        is_power = op is ReduceOp.SUM and order != 0
        joined = joined**order if is_power else joined
        collectives.all_reduce(joined, op, group)
        made.extend((joined ** (1.0 / order) if is_power else joined).unbind())
    return made

"""Collectives that return new tensors. They are done when they return. Gradients pass through those of
`torch.distributed.nn`."""

from __future__ import annotations

from typing import Any

from .._dispatch import aten
from .._tensor import Tensor
from . import collectives
from .process_groups import get_world_size
from .reduce_op import ReduceOp

__all__ = ["all_gather_tensor", "all_reduce", "broadcast", "reduce_scatter_tensor", "wait_tensor"]
_OPS = {"sum": "SUM", "avg": "AVG", "product": "PRODUCT", "min": "MIN", "max": "MAX"}


def _operation(name: str) -> ReduceOp:
    found = _OPS.get(name.lower(), name.upper())
    if found not in ReduceOp.__members__:
        raise ValueError(f"Unsupported reduce op {name!r}: one of {', '.join(_OPS)}")
    return ReduceOp[found]


def wait_tensor(tensor: Tensor) -> Tensor:
    """The tensor: nothing is under way."""
    return tensor


def all_reduce(tensor: Tensor, reduceOp: str, group: Any, tag: str = "") -> Tensor:
    """The sum (or another operation) of the tensors of all processes."""
    made = tensor.clone()
    collectives.all_reduce(made, _operation(reduceOp), group)
    return made


def broadcast(tensor: Tensor, src: int, group: Any, tag: str = "") -> Tensor:
    """The tensor of process `src`."""
    made = tensor.clone()
    collectives.broadcast(made, src, group)
    return made


def all_gather_tensor(tensor: Tensor, gather_dim: int, group: Any, tag: str = "") -> Tensor:
    """The tensors of all processes, joined along a dimension."""
    parts = [aten.empty_like(tensor) for _ in range(get_world_size(group))]
    collectives.all_gather(parts, tensor, group)
    return aten.cat(parts, gather_dim)


def reduce_scatter_tensor(tensor: Tensor, reduceOp: str, scatter_dim: int, group: Any, tag: str = "") -> Tensor:
    """This process's equal part, along a dimension, of the sum (or another operation) of all tensors."""
    parts = [part.contiguous() for part in aten.chunk(tensor, get_world_size(group), scatter_dim)]
    made = aten.empty_like(parts[0])
    collectives.reduce_scatter(made, parts, _operation(reduceOp), group)
    return made

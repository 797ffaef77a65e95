"""Collectives that return new tensors. They are done when they return. Gradients pass through those
that end in `_autograd`, and those of `torch.distributed.nn`."""

from __future__ import annotations

from typing import Any

from .._dispatch import aten
from .._tensor import Tensor
from ..autograd import Function
from . import collectives
from .process_groups import get_world_size
from .reduce_op import ReduceOp

__all__ = [
    "all_gather_tensor",
    "all_gather_tensor_autograd",
    "all_reduce",
    "all_to_all_single",
    "all_to_all_single_autograd",
    "broadcast",
    "reduce_scatter_tensor",
    "reduce_scatter_tensor_autograd",
    "wait_tensor",
]
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


def all_to_all_single(
    self: Tensor, output_split_sizes: Any, input_split_sizes: Any, group: Any, tag: str = ""
) -> Tensor:
    """The rows that the processes have for this one; equal parts where no sizes are given."""
    if (output_split_sizes is None) != (input_split_sizes is None):
        raise AssertionError("output_split_sizes and input_split_sizes must either be specified together or both None")
    rows = self.shape[0] if output_split_sizes is None else sum(output_split_sizes)
    made = self.new_empty((rows, *self.shape[1:]))
    collectives.all_to_all_single(made, self.contiguous(), output_split_sizes, input_split_sizes, group)
    return made


class _AllGather(Function):
    @staticmethod
    def forward(ctx: Any, tensor: Tensor, dim: int, group: Any) -> Tensor:
        ctx.dim, ctx.group = dim, group
        return all_gather_tensor(tensor, dim, group)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
        return reduce_scatter_tensor(grad, "sum", ctx.dim, ctx.group), None, None


class _ReduceScatter(Function):
    @staticmethod
    def forward(ctx: Any, tensor: Tensor, op: str, dim: int, group: Any) -> Tensor:
        ctx.dim, ctx.group, ctx.scale = dim, group, get_world_size(group) if op.lower() == "avg" else 1
        if op.lower() not in ("sum", "avg"):
            raise NotImplementedError(f"the gradient of reduce_scatter with {op!r} is not here; sum and avg have one")
        return reduce_scatter_tensor(tensor, op, dim, group)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
        return all_gather_tensor(grad / ctx.scale if ctx.scale > 1 else grad, ctx.dim, ctx.group), None, None, None


class _AllToAll(Function):
    @staticmethod
    def forward(ctx: Any, tensor: Tensor, taken: Any, given: Any, group: Any) -> Tensor:
        ctx.taken, ctx.given, ctx.group = taken, given, group
        return all_to_all_single(tensor, taken, given, group)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
        return all_to_all_single(grad, ctx.given, ctx.taken, ctx.group), None, None, None


def all_gather_tensor_autograd(tensor: Tensor, gather_dim: int, group: Any, tag: str = "") -> Tensor:
    """`all_gather_tensor`, with gradients: each process gets the sum of those of its part."""
    return _AllGather.apply(tensor, gather_dim, group)


def reduce_scatter_tensor_autograd(
    tensor: Tensor, reduceOp: str, scatter_dim: int, group: Any, tag: str = ""
) -> Tensor:
    """`reduce_scatter_tensor` of sums or averages, with gradients."""
    return _ReduceScatter.apply(tensor, reduceOp, scatter_dim, group)


def all_to_all_single_autograd(
    self: Tensor, output_split_sizes: Any, input_split_sizes: Any, group: Any, tag: str = ""
) -> Tensor:
    """`all_to_all_single`, with gradients: they take the way back."""
    return _AllToAll.apply(self, output_split_sizes, input_split_sizes, group)

"""Collectives that return new tensors and are differentiated: the gradient of each is the collective that goes the
other way.

The loss is taken to be the sum of the losses of all processes.
"""

from __future__ import annotations

from typing import Any

from ..._tensor import Tensor
from ...autograd import Function
from .. import collectives
from ..process_groups import get_process_group_ranks, get_rank, get_world_size
from ..reduce_op import ReduceOp


class _AllReduce(Function):
    @staticmethod
    def forward(ctx: Any, op: Any, group: Any, tensor: Tensor) -> Tensor:
        ctx.op, ctx.group = op, group
        result = tensor.clone()
        collectives.all_reduce(result, op, group)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
        return None, None, _AllReduce.apply(ctx.op, ctx.group, grad)


class _Broadcast(Function):
    @staticmethod
    def forward(ctx: Any, src: int, group: Any, tensor: Tensor) -> Tensor:
        ctx.src, ctx.group = src, group
        result = tensor.clone()
        collectives.broadcast(result, src, group)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
        total = _Reduce.apply(ctx.src, ReduceOp.SUM, ctx.group, grad)
        return None, None, total if get_rank() == ctx.src else total * 0


class _Reduce(Function):
    @staticmethod
    def forward(ctx: Any, dst: int, op: Any, group: Any, tensor: Tensor) -> Tensor:
        ctx.dst, ctx.group = dst, group
        result = tensor.clone()
        collectives.reduce(result, dst, op, group)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
        return None, None, None, _Broadcast.apply(ctx.dst, ctx.group, grad)


class _AllGather(Function):
    @staticmethod
    def forward(ctx: Any, group: Any, tensor: Tensor) -> tuple[Tensor, ...]:
        ctx.group = group
        parts = [tensor.new_empty(tensor.shape) for _ in range(get_world_size(group))]
        collectives.all_gather(parts, tensor.contiguous(), group)
        return tuple(parts)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Any, ...]:
        result = grads[0].new_empty(grads[0].shape)
        collectives.reduce_scatter(result, [grad.contiguous() for grad in grads], ReduceOp.SUM, ctx.group)
        return None, result


class _ReduceScatter(Function):
    @staticmethod
    def forward(ctx: Any, op: Any, group: Any, output: Tensor, *inputs: Tensor) -> Tensor:
        ctx.group = group
        result = output.clone()
        collectives.reduce_scatter(result, [tensor.contiguous() for tensor in inputs], op, group)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
        return None, None, None, *_AllGather.apply(ctx.group, grad)


class _AllToAll(Function):
    @staticmethod
    def forward(ctx: Any, group: Any, count: int, *tensors: Tensor) -> tuple[Tensor, ...]:
        outputs, inputs = [t.clone() for t in tensors[:count]], [t.contiguous() for t in tensors[count:]]
        ctx.group, ctx.shapes = group, [t.shape for t in inputs]
        collectives.all_to_all(outputs, inputs, group)
        return tuple(outputs)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Any, ...]:
        outputs = [grads[0].new_empty(shape) for shape in ctx.shapes]
        collectives.all_to_all(outputs, [grad.contiguous() for grad in grads], ctx.group)
        return None, None, *([None] * len(grads)), *outputs


def all_reduce(tensor: Tensor, op: Any = ReduceOp.SUM, group: Any = None) -> Tensor:
    """The sum (or another `op`) of the tensors of all processes."""
    return _AllReduce.apply(op, group, tensor)


def broadcast(tensor: Tensor, src: int, group: Any = None) -> Tensor:
    """The tensor of process `src`."""
    return _Broadcast.apply(src, group, tensor)


def reduce(tensor: Tensor, dst: int, op: Any = ReduceOp.SUM, group: Any = None) -> Tensor:
    """On process `dst` the sum (or another `op`) of the tensors of all processes."""
    return _Reduce.apply(dst, op, group, tensor)


def all_gather(tensor: Tensor, group: Any = None) -> tuple[Tensor, ...]:
    """The tensors of all processes."""
    return _AllGather.apply(group, tensor)


def gather(tensor: Tensor, dst: int = 0, group: Any = None) -> tuple[Tensor, ...]:
    """On process `dst` the tensors of all processes, elsewhere zeros."""
    parts = _AllGather.apply(group, tensor)
    return parts if get_rank() == dst else tuple(part * 0 for part in parts)


def reduce_scatter(output: Tensor, input_list: list[Tensor], op: Any = ReduceOp.SUM, group: Any = None) -> Tensor:
    """This process's element of the sum of the lists of all processes."""
    return _ReduceScatter.apply(op, group, output, *input_list)


def scatter(tensors: list[Tensor], src: int = 0, group: Any = None) -> Tensor:
    """This process's element of the list of process `src`."""
    mine, index = get_rank() == src, get_process_group_ranks(group).index(src)
    received = [tensors[0].new_empty(tensors[0].shape) for _ in range(get_world_size(group))]
    return _AllToAll.apply(group, len(received), *received, *(t if mine else t * 0 for t in tensors))[index]


def all_to_all(
    output_tensor_list: list[Tensor], input_tensor_list: list[Tensor], group: Any = None
) -> tuple[Tensor, ...]:
    """Element i of the input list of every process goes to process i."""
    return _AllToAll.apply(group, len(output_tensor_list), *output_tensor_list, *input_tensor_list)


def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: list[int] | None = None,
    input_split_sizes: list[int] | None = None,
    group: Any = None,
) -> Tensor:
    """`all_to_all` of one tensor cut along its first dimension."""
    from ... import cat, split

    count = get_world_size(group)
    out_sizes, in_sizes = (
        sizes or [t.shape[0] // count] * count
        for sizes, t in ((output_split_sizes, output), (input_split_sizes, input))
    )
    return cat(list(all_to_all(list(split(output, out_sizes)), list(split(input, in_sizes)), group)))

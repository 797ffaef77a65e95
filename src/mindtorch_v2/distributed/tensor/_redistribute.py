"""From one placement to another, with gradients.

The gradient of a Replicate or Partial tensor is the same in every process, that of a Shard is the part's own.
"""

from __future__ import annotations

from typing import Any

from ..._dispatch import aten
from ..._tensor import Tensor
from ...autograd import Function
from .. import collectives
from .._shards import rows_of
from ..device_mesh import DeviceMesh
from ..reduce_op import ReduceOp
from .placement_types import Partial, Placement, Replicate, Shard

_OPS = {"sum": "SUM", "avg": "AVG", "max": "MAX", "min": "MIN", "product": "PRODUCT"}
Placements = tuple[Placement, ...]


def _part(x: Tensor, dim: int, group: Any) -> Tensor:
    """This process's part."""
    first, count = rows_of(x.shape[dim], group.size(), group.rank())
    return aten.narrow(x, dim, first, count).contiguous()


def _joined(x: Tensor, dim: int, length: int, group: Any) -> Tensor:
    """The whole, of whose dimension `dim` this process has a part."""
    counts = [rows_of(length, group.size(), rank)[1] for rank in range(group.size())]
    shapes = [[*x.shape[:dim], count, *x.shape[dim + 1 :]] for count in counts]
    padded = x.new_zeros([*x.shape[:dim], counts[0], *x.shape[dim + 1 :]])
    aten.narrow(padded, dim, 0, x.shape[dim]).copy_(x)
    parts = [aten.empty_like(padded) for _ in shapes]
    collectives.all_gather(parts, padded, group)
    return aten.cat([aten.narrow(part, dim, 0, count) for part, count in zip(parts, counts)], dim)


class _Gather(Function):
    """Shard to Replicate."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, dim: int, length: int, group: Any) -> Tensor:
        ctx.dim, ctx.group = dim, group
        return _joined(x, dim, length, group)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
        return _part(grad, ctx.dim, ctx.group), None, None, None


class _Cut(Function):
    """Replicate to Shard."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, dim: int, group: Any) -> Tensor:
        ctx.dim, ctx.group, ctx.length = dim, group, x.shape[dim]
        return _part(x, dim, group)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
        return _joined(grad, ctx.dim, ctx.length, ctx.group), None, None


class _Combine(Function):
    """Partial to Replicate."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, op: str, group: Any) -> Tensor:
        ctx.op, ctx.size = op, group.size()
        made = x.clone()
        collectives.all_reduce(made, ReduceOp[_OPS[op]], group)
        return made

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
        if ctx.op not in ("sum", "avg"):
            raise NotImplementedError(f"the gradient of Partial({ctx.op!r}) is not here; sum and avg have one")
        return grad / ctx.size if ctx.op == "avg" else grad, None, None


class _CombineCut(Function):
    """Partial sums to Shard."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, dim: int, group: Any) -> Tensor:
        ctx.dim, ctx.group, ctx.length = dim, group, x.shape[dim]
        counts = [rows_of(ctx.length, group.size(), rank) for rank in range(group.size())]
        parts = [aten.narrow(x, dim, first, count).contiguous() for first, count in counts]
        made = aten.empty_like(parts[group.rank()])
        collectives.reduce_scatter(made, parts, ReduceOp.SUM, group)
        return made

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
        return _joined(grad, ctx.dim, ctx.length, ctx.group), None, None


class _Spread(Function):
    """Replicate to Partial sums: equal summands."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, size: int) -> Tensor:
        return x / size

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
        return grad, None


class _Enter(Function):
    """A whole tensor that each process uses for its part of a result: its gradients are summands."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, group: Any) -> Tensor:
        ctx.group = group
        return aten.alias(x)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
        total = grad.clone()
        collectives.all_reduce(total, ReduceOp.SUM, ctx.group)
        return total, None


def enter(local: Tensor, mesh: DeviceMesh, placements: Placements, result: Placements) -> Tensor:
    """The local tensor for a computation whose result is placed so: where that is no Replicate, the gradients of an
    argument that is one are added up."""
    for index, (own, made) in enumerate(zip(placements, result)):
        if own.is_replicate() and not made.is_replicate() and local.requires_grad:
            local = _Enter.apply(local, mesh.get_group(index))
    return local


def local_shape(shape: tuple[int, ...], mesh: DeviceMesh, placements: Placements) -> list[int]:
    """The shape of what this process holds."""
    made = list(shape)
    for index, placement in enumerate(placements):
        if isinstance(placement, Shard):
            made[placement.dim] = rows_of(made[placement.dim], mesh.size(index), mesh.get_local_rank(index))[1]
    return made


def _to_whole(x: Tensor, shape: tuple[int, ...], mesh: DeviceMesh, own: Placements, index: int) -> Tensor:
    """Undoes the placement along one dimension of the mesh; those after it are undone where they matter."""
    placement, group = own[index], mesh.get_group(index)
    if isinstance(placement, Shard):
        length = local_shape(shape, mesh, own[:index])[placement.dim]
        return _Gather.apply(x, placement.dim, length, group)
    return _Combine.apply(x, placement.reduce_op, group) if isinstance(placement, Partial) else x


def redistribute(x: Tensor, shape: tuple[int, ...], mesh: DeviceMesh, own: Placements, wanted: Placements) -> Tensor:
    """The local tensor of a tensor of this shape, from one placement to another."""
    current = list(own)
    for index in reversed(range(len(own))):
        before, after = own[index], wanted[index]
        nested = isinstance(before, Shard) and any(
            own[k] != wanted[k] and before.dim in (getattr(own[k], "dim", -1), getattr(wanted[k], "dim", -1))
            for k in range(index)
        )
        if (before == after and not nested) or before.is_replicate():
            continue
        if before.is_partial("sum") and isinstance(after, Shard) and len(own) == 1:
            return _CombineCut.apply(x, after.dim, mesh.get_group(index))
        x = _to_whole(x, shape, mesh, tuple(current), index)
        current[index] = Replicate()
    for index, after in enumerate(wanted):
        if current[index] == after:
            continue
        group = mesh.get_group(index)
        if isinstance(after, Shard):
            x = _Cut.apply(x, after.dim, group)
        elif after.is_partial("sum"):
            x = _Spread.apply(x, group.size())
        elif not after.is_partial("avg"):
            raise NotImplementedError(f"a tensor cannot be redistributed from {current[index]} to {after}")
        current[index] = after
    return x


class _TakeGradient(Function):
    """The tensor itself; its gradient is moved from one placement to another."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, whole: tuple[int, ...], mesh: DeviceMesh, given: Placements, own: Placements
    ) -> Tensor:
        ctx.moved = (whole, mesh, given, own)
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
        return redistribute(grad, *ctx.moved), None, None, None, None


def take_gradient(held: Tensor, whole: tuple[int, ...], mesh: DeviceMesh, given: Placements, own: Placements) -> Tensor:
    """What a process holds of a tensor, with a gradient that lies as `given` and is passed on as `own`."""
    made: Tensor = _TakeGradient.apply(held, whole, mesh, given, own)
    return made

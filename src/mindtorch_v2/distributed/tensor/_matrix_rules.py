"""Rules of products, sums, dimensions that move, and lookups in tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..._dispatch import aten
from ..._shape import normalize_dim
from ..._tensor import Tensor
from .._shards import rows_of
from ._api import DTensor, local_of, wrap
from ._rules import placed, rule, whole
from .placement_types import Partial, Placement, Replicate, Shard


# --- products
@rule("matmul", "mm", "bmm")
def matmul(func: Any, left: Any, right: Any) -> Any:
    """Rows of the left factor and columns of the right one may be spread, or what is summed over in both."""
    if not (isinstance(left, DTensor) and isinstance(right, DTensor)):
        raise RuntimeError("a product of a DTensor and a torch.Tensor: convert both to DTensor first")
    if left.dim() < 2 or right.dim() != 2:
        return whole(func, (left, right), {})
    mesh, last = left._device_mesh, left.dim() - 1
    choices = [_product(a, b, last) for a, b in zip(left._placements, right._placements)]
    of_left, of_right, result = (tuple(column) for column in zip(*choices))
    local = aten.matmul(placed(left, of_left, result), placed(right, of_right, result))
    return wrap(local, mesh, result, (*left._whole[:-1], right._whole[1]))


def _product(a: Placement, b: Placement, last: int) -> tuple[Placement, Placement, Placement]:
    """(left, right, result) along one dimension of the mesh, near to where the factors lie."""
    inner = Shard(last), Shard(0), Partial()
    if isinstance(a, Shard):
        return inner if a.dim == last else (a, Replicate(), a)
    if isinstance(b, Shard) and not a.is_partial():
        return inner if b.dim == 0 else (Replicate(), b, Shard(last))
    if a.is_partial("sum") and b.is_replicate():
        return a, b, a
    return Replicate(), Replicate(), Replicate()


@rule("linear")
def linear(func: Any, input: Any, weight: Any, bias: Any = None) -> Any:
    """A product with the transposed weight, and the bias added to what it gives."""
    made = matmul(aten.matmul, input, transpose(None, weight, 0, 1))
    return made if bias is None else made + bias


@rule("addmm")
def addmm(func: Any, input: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    made = matmul(aten.matmul, mat1, mat2)
    return (made if alpha == 1 else made * alpha) + (input if beta == 1 else input * beta)


# --- dimensions that move
@rule("transpose", "swapaxes", "swapdims")
def transpose(func: Any, tensor: DTensor, dim0: int, dim1: int) -> Any:
    order = list(range(tensor.dim()))
    a, b = (normalize_dim(dim, tensor.dim()) for dim in (dim0, dim1))
    order[a], order[b] = order[b], order[a]
    return permute(None, tensor, order)


@rule("t", "T")
def _t(func: Any, tensor: DTensor) -> Any:
    return transpose(None, tensor, 0, 1) if tensor.dim() == 2 else tensor


@rule("permute")
def permute(func: Any, tensor: DTensor, *dims: Any) -> Any:
    order = [normalize_dim(d, tensor.dim()) for d in (dims[0] if isinstance(dims[0], Sequence) else dims)]
    moved = tuple(Shard(order.index(p.dim)) if isinstance(p, Shard) else p for p in tensor._placements)
    shape = [tensor._whole[dim] for dim in order]
    return wrap(aten.permute(local_of(tensor), order), tensor._device_mesh, moved, shape)


@rule("view", "reshape", "flatten", "unflatten", "unsqueeze", "squeeze")
def reshape(func: Any, tensor: DTensor, *args: Any, **kwargs: Any) -> Any:
    """Other dimensions over the same elements. A spread dimension stays where it is the first of those that it becomes
    or is joined with."""
    shape = tuple(func(aten.empty(tensor._whole, device="meta"), *args, **kwargs).shape)
    wanted: list[Placement] = []
    local = list(shape)
    for index, placement in enumerate(tensor._placements):
        dim = _moved(placement.dim, tensor._whole, shape) if isinstance(placement, Shard) else None
        size = tensor._device_mesh.size(index)
        fits = dim is not None and local[dim] % size == 0 and tensor._whole[placement.dim] % size == 0  # type: ignore[attr-defined]
        if fits and dim is not None:
            local[dim] //= size
            wanted.append(Shard(dim))
        elif isinstance(placement, Shard):
            return whole(func, (tensor, *args), kwargs)
        else:
            wanted.append(placement)
    return wrap(aten.reshape(local_of(tensor), local), tensor._device_mesh, tuple(wanted), shape)


def _moved(dim: int, before: Sequence[int], after: Sequence[int]) -> int | None:
    """The dimension that begins where `dim` begins: as many elements lie before it."""
    outer = 1
    for size in before[:dim]:
        outer *= size
    product = 1
    for index, size in enumerate(after):
        if product == outer and size > 1:
            return index
        product *= size
    return None


# --- sums
@rule("sum", "mean")
def total(func: Any, tensor: DTensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """Sums over a spread dimension are summands of the whole sum."""
    given = range(tensor.dim()) if dim is None or dim == () else dim if isinstance(dim, Sequence) else (dim,)
    dims = sorted({normalize_dim(d, tensor.dim()) for d in given})
    is_mean = func.__name__ == "mean"
    wanted: list[Placement] = []
    result: list[Placement] = []
    for index, p in enumerate(tensor._placements):
        spread = isinstance(p, Shard) and p.dim in dims
        even = isinstance(p, Shard) and tensor._whole[p.dim] % tensor._device_mesh.size(index) == 0
        keeps = not (spread and is_mean and not even) and (not p.is_partial() or p.is_partial("sum"))
        own = p if keeps else Replicate()
        wanted.append(own)
        if isinstance(own, Shard):
            shift = 0 if keepdim else sum(d < own.dim for d in dims)
            result.append(Partial("avg" if is_mean else "sum") if spread else Shard(own.dim - shift))
        else:
            result.append(own)
    local = local_of(tensor.redistribute(placements=wanted))
    operation = aten.mean if is_mean else aten.sum
    made = operation(local, dims, keepdim, dtype=dtype) if dims else local
    kept = [1 if d in dims else n for d, n in enumerate(tensor._whole) if keepdim or d not in dims]
    return wrap(made, tensor._device_mesh, tuple(result), kept)


# --- along the last dimensions
@rule("softmax", "log_softmax")
def softmax(func: Any, tensor: DTensor, dim: int, *args: Any, **kwargs: Any) -> Any:
    """Rows that each process has whole."""
    return _by_rows(func, tensor, [normalize_dim(dim, tensor.dim())], (dim, *args), kwargs)


def _by_rows(func: Any, tensor: DTensor, dims: Sequence[int], args: Any, kwargs: Any) -> Any:
    wanted = tuple(Replicate() if p.is_partial() or getattr(p, "dim", -1) in dims else p for p in tensor._placements)
    return wrap(func(placed(tensor, wanted, wanted), *args, **kwargs), tensor._device_mesh, wanted, tensor._whole)


@rule("layer_norm", "rms_norm")
def normalised(func: Any, tensor: Any, normalized_shape: Any, weight: Any = None, *rest: Any, **kwargs: Any) -> Any:
    """Rows that each process has whole, with whole weights."""
    if not isinstance(tensor, DTensor):
        return whole(func, (tensor, normalized_shape, weight, *rest), kwargs)
    first = tensor.dim() - len(normalized_shape)
    wanted = tuple(Replicate() if p.is_partial() or getattr(p, "dim", -1) >= first else p for p in tensor._placements)

    def local(value: Any) -> Any:
        return placed(value, (Replicate(),) * len(wanted), wanted) if isinstance(value, DTensor) else value

    made = func(
        placed(tensor, wanted, wanted),
        normalized_shape,
        local(weight),
        *map(local, rest),
        **{name: local(value) for name, value in kwargs.items()},
    )
    return wrap(made, tensor._device_mesh, wanted, tensor._whole)


# --- lookups
@rule("embedding")
def embedding(func: Any, input: Any, weight: Any, *rest: Any, **kwargs: Any) -> Any:
    """Rows of a table: columns may be spread, or rows, where each process looks up those that it has."""
    mesh = (weight if isinstance(weight, DTensor) else input)._device_mesh
    if mesh.ndim > 1 or not isinstance(weight, DTensor) or any(value not in (None, False, -1) for value in rest):
        return whole(func, (input, weight, *rest), kwargs)
    placement = weight._placements[0]
    moved = isinstance(input, DTensor) and not placement.is_replicate() and not input._placements[0].is_replicate()
    ids = input.redistribute(placements=[Replicate()]) if moved else input
    spread = ids._placements[0] if isinstance(ids, DTensor) else Replicate()
    ids, shape = local_of(ids) if isinstance(ids, DTensor) else ids, (*input.shape, weight._whole[1])
    if not isinstance(placement, Shard) or placement.dim == 1:
        result = Shard(len(shape) - 1) if isinstance(placement, Shard) else spread
        table = placed(weight, weight._placements, (result,))
        return wrap(aten.embedding(table, ids), mesh, (result,), shape)
    first, count = rows_of(weight._whole[0], mesh.size(0), mesh.get_local_rank(0))
    own = (ids >= first) & (ids < first + count)
    found: Tensor = aten.embedding(local_of(weight), aten.where(own, ids - first, aten.zeros_like(ids)))
    return wrap(found * own.unsqueeze(-1), mesh, (Partial(),), shape)

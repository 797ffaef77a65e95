"""Broadcasting, joins and grids: movement ops that take several tensors, or shape one after another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..._dispatch import aten
from ..._dispatch.registry import composite
from ..._dtype import promote_types
from ..._ops.movement_shapes import check_stack
from ..._shape import broadcast_shapes


# --- broadcasting
@composite("expand_as")
def expand_as(self: Any, other: Any) -> Any:
    return aten.expand(self, other._array.shape)


@composite("broadcast_to")
def broadcast_to(self: Any, size: Sequence[int]) -> Any:
    return aten.expand(self, size)


@composite("broadcast_tensors")
def broadcast_tensors(tensors: Sequence[Any]) -> tuple[Any, ...]:
    shape = broadcast_shapes(*(t._array.shape for t in tensors))
    return tuple([t if t._array.shape == shape else aten.expand(t, shape) for t in tensors])


# --- joins
@composite("concat", "concatenate")
def concat(tensors: Sequence[Any], dim: int) -> Any:
    return aten.cat(tensors, dim)


@composite("stack")
def stack(tensors: Sequence[Any], dim: int) -> Any:
    at, shape = check_stack([x._array.shape for x in tensors], dim)
    if at < len(shape) and shape[at]:
        return aten.view(aten.cat(tensors, at), (*shape[:at], len(tensors), *shape[at:]))
    return aten.cat([aten.unsqueeze(x, at) for x in tensors], at)


def _stack_after_lift(name: str, tensors: Sequence[Any], lift: str, dim: int) -> Any:
    if not tensors:
        raise RuntimeError(f"{name} expects a non-empty TensorList")
    return aten.cat(getattr(aten, lift)(list(tensors)), dim)


@composite("hstack")
def hstack(tensors: Sequence[Any]) -> Any:
    if not tensors:
        raise RuntimeError("hstack expects a non-empty TensorList")
    parts = aten.atleast_1d(list(tensors))
    return aten.cat(parts, 0 if parts[0]._array.ndim == 1 else 1)


@composite("vstack")
def vstack(tensors: Sequence[Any]) -> Any:
    return _stack_after_lift("vstack", tensors, "atleast_2d", 0)


@composite("row_stack")
def row_stack(tensors: Sequence[Any]) -> Any:
    return aten.vstack(tensors)


@composite("dstack")
def dstack(tensors: Sequence[Any]) -> Any:
    return _stack_after_lift("dstack", tensors, "atleast_3d", 2)


@composite("column_stack")
def column_stack(tensors: Sequence[Any]) -> Any:
    if not tensors:
        raise RuntimeError("column_stack expects a non-empty TensorList")
    return aten.hstack([aten.reshape(x, (x._array.size, 1)) if x._array.ndim <= 1 else x for x in tensors])


@composite("atleast_1d")
def atleast_1d(self: Any) -> Any:
    return self if self._array.ndim else aten.reshape(self, (1,))


@composite("atleast_2d")
def atleast_2d(self: Any) -> Any:
    n = self._array.ndim
    return self if n >= 2 else aten.unsqueeze(self, 0) if n else aten.reshape(self, (1, 1))


@composite("atleast_3d")
def atleast_3d(self: Any) -> Any:
    n = self._array.ndim
    if n >= 3:
        return self
    if n == 2:
        return aten.unsqueeze(self, -1)
    return aten.unsqueeze(aten.unsqueeze(self, 0), -1) if n else aten.reshape(self, (1, 1, 1))


def _each(lift: Any) -> Any:
    return lambda tensors: tuple([lift(x) for x in tensors])


for _name, _lift in (("atleast_1d", atleast_1d), ("atleast_2d", atleast_2d), ("atleast_3d", atleast_3d)):
    composite(f"{_name}.Sequence")(_each(_lift))


@composite("block_diag")
def block_diag(tensors: Sequence[Any]) -> Any:
    if not tensors:
        return aten.empty((1, 0))
    blocks = []
    for i, x in enumerate(tensors):
        n = x._array.ndim
        if n > 2:
            raise RuntimeError(
                f"torch.block_diag: Input tensors must have 2 or fewer dimensions. Input {i} has {n} dimensions"
            )
        blocks.append(x if n == 2 else aten.expand(x, (1, x._array.size)) if n else aten.expand(x, (1, 1)))
    common = tensors[0].dtype
    for x in tensors[1:]:
        common = promote_types(common, x.dtype)
    rows, columns = (sum(b._array.shape[d] for b in blocks) for d in (0, 1))
    out = aten.zeros((rows, columns), dtype=common, device=tensors[0].device)
    row = column = 0
    for b in blocks:
        height, width = b._array.shape
        aten.copy_(aten.slice(aten.slice(out, 0, row, row + height), 1, column, column + width), b)
        row, column = row + height, column + width
    return out


# --- grids
@composite("meshgrid")
def meshgrid(tensors: Sequence[Any]) -> tuple[Any, ...]:
    return _grids(tensors, swap=False)


def _grids(tensors: Sequence[Any], swap: bool) -> tuple[Any, ...]:
    """One grid per tensor; with `swap` the first tensor runs along the second dimension and the second along the
    first.
    """
    if not tensors:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    first = tensors[0]
    for x in tensors:
        if x._array.ndim > 1:
            raise RuntimeError(f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {x}")
        if x.dtype is not first.dtype:
            raise RuntimeError("meshgrid expects all tensors to have the same dtype")
        if x.device != first.device:
            raise RuntimeError("meshgrid expects all tensors to have the same device")
    n = len(tensors)
    dim_of = [1, 0, *range(2, n)] if swap else list(range(n))
    shape = [tensors[p]._array.size for p in dim_of]
    return tuple(
        [
            aten.expand(aten.view(x, [-1 if d == dim_of[i] else 1 for d in range(n)]), shape)
            for i, x in enumerate(tensors)
        ]
    )


@composite("meshgrid.indexing")
def meshgrid_indexing(tensors: Sequence[Any], indexing: str) -> tuple[Any, ...]:
    if indexing not in ("ij", "xy"):
        raise RuntimeError(f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    return _grids(tensors, swap=indexing == "xy" and len(tensors) >= 2)


def _require_vector(x: Any) -> None:
    if x._array.ndim != 1:
        raise RuntimeError(f"Expect a 1D vector, but got shape {list(x._array.shape)}")


@composite("cartesian_prod")
def cartesian_prod(tensors: Sequence[Any]) -> Any:
    for x in tensors:
        _require_vector(x)
    if len(tensors) == 1:
        return tensors[0]
    return aten.stack([aten.flatten(g) for g in aten.meshgrid(list(tensors))], 1)


@composite("combinations")
def combinations(self: Any, r: int, with_replacement: bool) -> Any:
    _require_vector(self)
    if r < 0:
        raise RuntimeError(f"Expect a non-negative number, but got {r}")
    if r == 0:
        return aten.empty((0,), dtype=self.dtype, device=self.device)
    n = self._array.size
    grids = aten.meshgrid([self] * r)
    coordinates = aten.meshgrid([aten.arange(n, device=self.device)] * r)
    keep = aten.full((n,) * r, True, device=self.device)
    for before, after in zip(coordinates, coordinates[1:]):
        keep = aten.logical_and(keep, aten.le(before, after) if with_replacement else aten.lt(before, after))
    return aten.stack([aten.masked_select(g, keep) for g in grids], 1)

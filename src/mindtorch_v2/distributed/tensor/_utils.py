"""What a process holds of a DTensor."""

from __future__ import annotations

from collections.abc import Sequence

from .._shards import rows_of
from ..device_mesh import DeviceMesh
from .placement_types import Placement, Shard

__all__ = ["compute_local_shape_and_global_offset"]


def compute_local_shape_and_global_offset(
    global_shape: Sequence[int], mesh: DeviceMesh, placements: Sequence[Placement], skip_offset: bool = False
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The shape of what this process holds of a tensor, and the index in the whole of its first element. With
    `skip_offset` the index is ()."""
    shape, offset = list(global_shape), [0] * len(global_shape)
    for index, placement in enumerate(placements):
        if isinstance(placement, Shard):
            dim = placement.dim
            first, shape[dim] = rows_of(shape[dim], mesh.size(index), mesh.get_local_rank(index))
            offset[dim] += first
    return tuple(shape), () if skip_offset else tuple(offset)

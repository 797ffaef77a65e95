"""New DTensors. Every process makes its part; random values are those of one process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..._dispatch import aten
from ..device_mesh import DeviceMesh
from ._api import DTensor, distribute_tensor
from .placement_types import Placement


def _size(size: Sequence[Any]) -> list[int]:
    return list(size[0]) if len(size) == 1 and isinstance(size[0], Sequence) else list(size)


def _maker(name: str) -> Callable[..., DTensor]:
    def make(
        *size: Any,
        requires_grad: bool = False,
        dtype: Any = None,
        layout: Any = None,
        device_mesh: DeviceMesh | None = None,
        placements: Sequence[Placement] | None = None,
    ) -> DTensor:
        made = distribute_tensor(getattr(aten, name)(_size(size), dtype=dtype), device_mesh, placements)
        made.requires_grad_(requires_grad)
        return made

    make.__name__ = make.__qualname__ = name
    make.__doc__ = f"`torch.{name}` as a DTensor: `{name}(4, 2, device_mesh=mesh, placements=[Shard(0)])`."
    return make


empty, ones, rand, randn, zeros = map(_maker, ("empty", "ones", "rand", "randn", "zeros"))


def full(
    size: Sequence[int],
    fill_value: Any,
    *,
    dtype: Any = None,
    layout: Any = None,
    requires_grad: bool = False,
    device_mesh: DeviceMesh | None = None,
    placements: Sequence[Placement] | None = None,
) -> DTensor:
    """`torch.full` as a DTensor."""
    made = distribute_tensor(aten.full(list(size), fill_value, dtype=dtype), device_mesh, placements)
    made.requires_grad_(requires_grad)
    return made

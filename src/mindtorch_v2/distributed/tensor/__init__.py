"""`torch.distributed.tensor`: tensors that lie in several processes (see docs/distributed.md)."""

from __future__ import annotations

from ..device_mesh import DeviceMesh, init_device_mesh
from . import _matrix_rules as _matrix_rules  # registers its rules
from ._api import DTensor, distribute_tensor
from ._creation import empty, full, ones, rand, randn, zeros
from ._modules import distribute_module
from .placement_types import Partial, Placement, Replicate, Shard

__all__ = [
    "DTensor",
    "DeviceMesh",
    "Partial",
    "Placement",
    "Replicate",
    "Shard",
    "distribute_module",
    "distribute_tensor",
    "empty",
    "full",
    "init_device_mesh",
    "ones",
    "rand",
    "randn",
    "zeros",
]

"""`torch.distributed.tensor`: tensors that lie in several processes.

There are none: `isinstance(x, DTensor)` is False.
"""

from __future__ import annotations

from .._refusals import function, kind
from ..device_mesh import DeviceMesh, init_device_mesh

DTensor, Placement = kind("tensor.DTensor"), kind("tensor.Placement")
Shard, Replicate, Partial = kind("tensor.Shard"), kind("tensor.Replicate"), kind("tensor.Partial")
distribute_tensor, distribute_module = function("tensor.distribute_tensor"), function("tensor.distribute_module")
__all__ = [
    "DTensor",
    "DeviceMesh",
    "Partial",
    "Placement",
    "Replicate",
    "Shard",
    "distribute_module",
    "distribute_tensor",
    "init_device_mesh",
]

"""Modules whose parameters are DTensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...nn import Module
from ..device_mesh import DeviceMesh
from ._api import DTensor, as_parameter, distribute_tensor
from .placement_types import Placement, Replicate


def replace_parameter(
    module: Module, name: str, mesh: DeviceMesh, placements: tuple[Placement, ...], source: int | None = 0
) -> None:
    """Makes a DTensor of a module's parameter."""
    value = getattr(module, name)
    made = distribute_tensor(value, mesh, placements, src_data_rank=source)
    module.register_parameter(name, as_parameter(made, value.requires_grad))


def distribute_module(
    module: Module,
    device_mesh: DeviceMesh | None = None,
    partition_fn: Callable[[str, Module, DeviceMesh], None] | None = None,
    input_fn: Callable[[Module, Any, DeviceMesh], Any] | None = None,
    output_fn: Callable[[Module, Any, DeviceMesh], Any] | None = None,
) -> Module:
    """Makes DTensors of a module's parameters: `partition_fn(name, submodule, mesh)` places those that it wants, the
    others are Replicate. `input_fn` and `output_fn` prepare what the module is given and gives."""
    from ..device_mesh import init_device_mesh
    from ..process_groups import get_world_size

    mesh = device_mesh or init_device_mesh("cpu", (get_world_size(),))
    for path, submodule in list(module.named_modules()):
        if partition_fn is not None:
            partition_fn(path, submodule, mesh)
        for name, value in list(submodule.named_parameters(recurse=False)):
            if not isinstance(value, DTensor):
                replace_parameter(submodule, name, mesh, (Replicate(),) * mesh.ndim)
    if input_fn is not None:
        module.register_forward_pre_hook(lambda m, inputs: input_fn(m, inputs, mesh))
    if output_fn is not None:
        module.register_forward_hook(lambda m, inputs, outputs: output_fn(m, outputs, mesh))
    return module

"""Spreading the layers of a model by a plan."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from fnmatch import fnmatchcase

from ....nn import Module
from ...device_mesh import DeviceMesh, init_device_mesh
from ...process_groups import get_world_size
from .style import ParallelStyle

__all__ = ["parallelize_module"]


def parallelize_module(
    module: Module,
    device_mesh: DeviceMesh | None = None,
    parallelize_plan: ParallelStyle | dict[str, ParallelStyle] | None = None,
    *,
    src_data_rank: int | None = 0,
) -> Module:
    """Applies a style to the module, or the styles of a plan to the submodules that its names (with `*` and `?` for
    parts of them) mean. The mesh has one dimension."""
    mesh = device_mesh or init_device_mesh("cpu", (get_world_size(),))
    if mesh.ndim != 1:
        raise ValueError(f"Tensor Parallel only accepts a 1D DeviceMesh, but found {mesh.ndim}D!")
    if parallelize_plan is None:
        warnings.warn("No parallelize_plan is provided and auto-parallel is not supported at the moment", stacklevel=2)
        return module
    if isinstance(parallelize_plan, ParallelStyle):
        parallelize_plan.src_data_rank = src_data_rank
        return parallelize_plan._apply(module, mesh)
    if not isinstance(parallelize_plan, dict):
        raise TypeError(
            f"Expect Union[ParallelStyle, Dict[str, ParallelStyle]] for parallelize_plan, {type(parallelize_plan)} "
            "found!"
        )
    for path, style in parallelize_plan.items():
        found = list(_matching(module, path.split(".") if path else []))
        if not found:
            warnings.warn(f"parallelize_plan: no submodule is named {path!r}", stacklevel=2)
        for submodule in found:
            parallelize_module(submodule, mesh, style, src_data_rank=src_data_rank)
    return module


def _matching(module: Module, parts: list[str]) -> Iterator[Module]:
    """The submodules that a path means."""
    if not parts:
        yield module
        return
    for name, child in module.named_children():
        if fnmatchcase(name, parts[0]):
            yield from _matching(child, parts[1:])

"""Functions of the local parts of DTensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, wraps
from typing import Any

from ...device_mesh import DeviceMesh
from .._api import DTensor

__all__ = ["local_map"]


def local_map(
    func: Callable[..., Any] | None = None,
    out_placements: Any = None,
    in_placements: Sequence[Any] | None = None,
    in_grad_placements: Sequence[Any] | None = None,
    device_mesh: DeviceMesh | None = None,
    *,
    redistribute_inputs: bool = False,
) -> Any:
    """A function of DTensors from one of plain tensors: each process calls it with what it holds.

    `in_placements` has an entry for each positional argument (None for what is no DTensor), which the argument must
    have, or with `redistribute_inputs` gets. Results are DTensors placed as `out_placements` say, one for all results
    or one each; None leaves a result as it is. Without DTensors among the arguments, nothing is changed.
    """
    if func is None:
        return partial(
            local_map,
            out_placements=out_placements,
            in_placements=in_placements,
            in_grad_placements=in_grad_placements,
            device_mesh=device_mesh,
            redistribute_inputs=redistribute_inputs,
        )

    @wraps(func)
    def call(*args: Any, **kwargs: Any) -> Any:
        if in_placements is not None and len(in_placements) != len(args):
            raise AssertionError(f"in_placements length {len(in_placements)} does not match args length {len(args)}!")
        spread = next((value for value in args if isinstance(value, DTensor)), None)
        if spread is None:
            return func(*args, **kwargs)
        mesh = device_mesh or spread.device_mesh
        wanted = in_placements or [None] * len(args)
        gradients = in_grad_placements or [None] * len(args)
        own = [
            _local(value, index, mesh, wanted[index], gradients[index], redistribute_inputs, in_placements is not None)
            for index, value in enumerate(args)
        ]
        return _joined(func(*own, **kwargs), mesh, out_placements)

    return call


def _local(
    value: Any, index: int, mesh: DeviceMesh, wanted: Any, gradient: Any, redistribute: bool, checks: bool
) -> Any:
    """What this process holds of an argument."""
    if not isinstance(value, DTensor):
        return value
    if checks and wanted is None:
        raise AssertionError(f"in_placements[{index}] is None, but the argument is a DTensor placed {value.placements}")
    if wanted is not None and tuple(wanted) != tuple(value.placements):
        if not redistribute:
            raise ValueError(
                f"arg {index} in local_map has a mismatched placements: arg placements is {value.placements} but the "
                f"input placements is {tuple(wanted)}! If redistribute_inputs is wanted, set redistribute_inputs=True "
                "to local_map."
            )
        value = value.redistribute(mesh, wanted)
    return value.to_local(grad_placements=gradient)


def _joined(result: Any, mesh: DeviceMesh, placements: Any) -> Any:
    """Results as DTensors."""
    if isinstance(result, (tuple, list)):
        each = list(placements or [])
        if not each or not (each[0] is None or isinstance(each[0], (tuple, list))):
            each = [placements] * len(result)
        if len(each) != len(result):
            raise AssertionError(f"local_map requires one placement for each of {len(result)} results, got {len(each)}")
        return type(result)(_joined(part, mesh, own) for part, own in zip(result, each))
    if placements is None:
        return result
    chosen = placements[0] if placements and isinstance(placements[0], (tuple, list)) else placements
    return DTensor.from_local(result, mesh, chosen, run_check=False)

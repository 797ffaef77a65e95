"""Averages of parameters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

from ....autograd import no_grad
from ...collectives import all_reduce
from ...process_groups import get_world_size, resolve

__all__ = ["average_parameters", "average_parameters_or_parameter_groups", "get_params_to_average"]


def average_parameters(params: Iterator[Any], process_group: Any) -> None:
    """Replaces parameters by their averages over the processes of a group, all in one communication per dtype."""
    if resolve(process_group) is None:
        return
    by_kind: dict[Any, list[Any]] = {}
    for parameter in params:
        by_kind.setdefault((parameter.dtype, parameter.device), []).append(parameter.detach())
    size = get_world_size(process_group)
    with no_grad():
        for tensors in by_kind.values():
            flat = tensors[0].new_empty(sum(t.numel() for t in tensors))
            parts = flat.split([t.numel() for t in tensors])
            for part, tensor in zip(parts, tensors):
                part.copy_(tensor.reshape(-1))
            flat.div_(size)
            all_reduce(flat, group=process_group)
            for part, tensor in zip(parts, tensors):
                tensor.copy_(part.view(tensor.shape))


def get_params_to_average(params: Iterable[Any]) -> list[Any]:
    """Those of parameters, or of an optimizer's groups of parameters, that have a gradient."""
    every = chain.from_iterable(item["params"] if isinstance(item, dict) else [item] for item in params)
    return [parameter for parameter in every if parameter.grad is not None]


def average_parameters_or_parameter_groups(params: Iterable[Any], process_group: Any) -> None:
    """Averages those of the parameters that have a gradient."""
    average_parameters(iter(get_params_to_average(params)), process_group)

"""Dividing arguments among devices, and putting results together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..._device import device as make_device
from ..._dispatch import aten
from ..._tensor import Tensor


def as_device(target: Any) -> Any:
    """A device, its name, or its number among those of the accelerator (-1: the CPU)."""
    from ... import accelerator

    if not isinstance(target, int):
        return make_device(target)
    found = accelerator.current_accelerator()
    if found is None:
        raise RuntimeError("Cannot access accelerator device when none is available.")
    return make_device("cpu") if target == -1 else make_device(found.type, target)


def scatter(inputs: Any, target_gpus: Sequence[Any], dim: int = 0) -> Any:
    """A list with one set of arguments per device: tensors are cut along `dim`, containers item by item, other
    objects repeated.
    """
    if isinstance(inputs, Tensor):
        parts = aten.chunk(inputs, len(target_gpus), dim)
        return tuple(part.to(as_device(target)) for part, target in zip(parts, target_gpus))
    if isinstance(inputs, tuple) and hasattr(inputs, "_fields"):
        return [type(inputs)(*args) for args in zip(*(scatter(x, target_gpus, dim) for x in inputs))]
    if isinstance(inputs, tuple) and inputs:
        return list(zip(*(scatter(x, target_gpus, dim) for x in inputs)))
    if isinstance(inputs, list) and inputs:
        return [list(args) for args in zip(*(scatter(x, target_gpus, dim) for x in inputs))]
    if isinstance(inputs, dict) and inputs:
        return [type(inputs)(items) for items in zip(*(scatter(item, target_gpus, dim) for item in inputs.items()))]
    return [inputs for _ in target_gpus]


def scatter_kwargs(
    inputs: Any, kwargs: Any, target_gpus: Sequence[Any], dim: int = 0
) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Positional and keyword arguments for every device."""
    parts = list(scatter(inputs, target_gpus, dim)) if inputs else []
    keywords = list(scatter(kwargs, target_gpus, dim)) if kwargs else []
    count = max(len(parts), len(keywords))
    parts += [() for _ in range(count - len(parts))]
    keywords += [{} for _ in range(count - len(keywords))]
    return tuple(parts), tuple(keywords)


def gather(outputs: Any, target_device: Any, dim: int = 0) -> Any:
    """The results of all devices as one, on one device: tensors joined along `dim`, containers item by item."""
    first = outputs[0]
    if isinstance(first, Tensor):
        where = as_device(target_device)
        return aten.cat(
            [(o.reshape(1) if o.dim() == 0 else o).to(where) for o in outputs], 0 if first.dim() == 0 else dim
        )
    if first is None:
        return None
    if isinstance(first, dict):
        if not all(len(first) == len(d) for d in outputs):
            raise ValueError("All dicts must have the same number of keys")
        return type(first)((k, gather([d[k] for d in outputs], target_device, dim)) for k in first)
    if hasattr(first, "_fields"):
        return type(first)(*(gather(o, target_device, dim) for o in zip(*outputs)))
    return type(first)(gather(o, target_device, dim) for o in zip(*outputs))


def moved(value: Any, device: Any) -> Any:
    """Tensors in nested lists, tuples and dicts on a device."""
    if isinstance(value, Tensor):
        return value.to(device)
    if isinstance(value, dict):
        return type(value)({key: moved(inner, device) for key, inner in value.items()})
    if isinstance(value, (list, tuple)):
        parts = [moved(inner, device) for inner in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    return value

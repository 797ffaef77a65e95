"""Turning a list of samples into a batch."""

from __future__ import annotations

import collections.abc
import copy
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ...._dispatch import aten
from ...._dtype import float64
from ...._python.creation import as_tensor
from ...._tensor import Tensor

__all__ = ["collate", "default_collate", "default_convert"]

np_str_obj_array_pattern = re.compile(r"[SaUO]")
default_collate_err_msg_format = (
    "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"
)
CollateMap = Mapping[Any, Callable[..., Any]]


def default_convert(data: Any) -> Any:
    """Arrays become tensors, containers are searched, everything else stays.

    >>> torch.utils.data.default_convert([1, {"a": 2}])
    [1, {'a': 2}]
    """
    if isinstance(data, (Tensor, str, bytes)):
        return data
    if isinstance(data, np.ndarray):
        return data if np_str_obj_array_pattern.search(data.dtype.str) else as_tensor(data)
    if isinstance(data, np.generic):
        return as_tensor(np.asarray(data))
    if isinstance(data, collections.abc.Mapping):
        return _rebuild_mapping(data, {k: default_convert(v) for k, v in data.items()})
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*(default_convert(v) for v in data))
    if isinstance(data, tuple):
        return [default_convert(v) for v in data]
    if isinstance(data, collections.abc.Sequence):
        return _rebuild_sequence(data, [default_convert(v) for v in data])
    return data


def collate(batch: Any, *, collate_fn_map: CollateMap | None = None) -> Any:
    """A batch of samples. The map tells what is made of a list of samples of a class (or of a tuple of classes); the
    class itself comes before classes that it derives from. Mappings, named tuples and sequences are collated part by
    part.
    """
    first = batch[0]
    if (made := _by_class(first, collate_fn_map)) is not None:
        return made(batch, collate_fn_map=collate_fn_map)
    if isinstance(first, collections.abc.Mapping):
        parts = {key: collate([d[key] for d in batch], collate_fn_map=collate_fn_map) for key in first}
        return _rebuild_mapping(first, parts)
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return type(first)(*(collate(samples, collate_fn_map=collate_fn_map) for samples in zip(*batch)))
    if isinstance(first, collections.abc.Sequence):
        if any(len(item) != len(first) for item in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        columns = [collate(samples, collate_fn_map=collate_fn_map) for samples in zip(*batch)]
        return columns if isinstance(first, tuple) else _rebuild_sequence(first, columns)
    raise TypeError(default_collate_err_msg_format.format(type(first)))


def _by_class(sample: Any, collate_fn_map: CollateMap | None) -> Callable[..., Any] | None:
    if collate_fn_map is None:
        return None
    if type(sample) in collate_fn_map:
        return collate_fn_map[type(sample)]
    return next((made for kind, made in collate_fn_map.items() if isinstance(sample, kind)), None)


def collate_tensor_fn(batch: Any, *, collate_fn_map: CollateMap | None = None) -> Any:
    """Tensors, stacked."""
    return aten.stack(list(batch), 0)


def collate_numpy_array_fn(batch: Any, *, collate_fn_map: CollateMap | None = None) -> Any:
    """Arrays, as tensors."""
    if np_str_obj_array_pattern.search(batch[0].dtype.str):
        raise TypeError(default_collate_err_msg_format.format(batch[0].dtype))
    return collate([as_tensor(b) for b in batch], collate_fn_map=collate_fn_map)


def collate_numpy_scalar_fn(batch: Any, *, collate_fn_map: CollateMap | None = None) -> Any:
    """Numpy's numbers."""
    return as_tensor(np.asarray(batch))


def collate_float_fn(batch: Any, *, collate_fn_map: CollateMap | None = None) -> Any:
    """Floating numbers, in double precision."""
    return as_tensor(batch, dtype=float64)


def collate_int_fn(batch: Any, *, collate_fn_map: CollateMap | None = None) -> Any:
    """Whole numbers."""
    return as_tensor(list(batch))


def collate_str_fn(batch: Any, *, collate_fn_map: CollateMap | None = None) -> Any:
    """Texts stay a list."""
    return batch


default_collate_fn_map: dict[Any, Callable[..., Any]] = {
    Tensor: collate_tensor_fn,
    np.ndarray: collate_numpy_array_fn,
    (np.bool_, np.number, np.object_): collate_numpy_scalar_fn,
    float: collate_float_fn,
    int: collate_int_fn,
    str: collate_str_fn,
    bytes: collate_str_fn,
}


def default_collate(batch: Any) -> Any:
    """Stacks tensors, arrays and numbers along a new first dimension; containers are collated part by part.

    >>> torch.utils.data.default_collate([(1, 2.5), (3, 4.5)])
    [tensor([1, 3]), tensor([2.5000, 4.5000], dtype=torch.float64)]
    """
    return collate(batch, collate_fn_map=default_collate_fn_map)


def _rebuild_mapping(like: Any, values: dict[Any, Any]) -> Any:
    """A mapping of the class of `like`. What can be changed is copied first, so that it keeps its other fields."""
    try:
        if isinstance(like, collections.abc.MutableMapping):
            made = copy.copy(like)
            made.update(values)
            return made
        return type(like)(values)  # type: ignore[call-arg]
    except TypeError:
        return values


def _rebuild_sequence(like: Any, values: list[Any]) -> Any:
    """A sequence of the class of `like`, or a list where it cannot be made from one."""
    try:
        if isinstance(like, collections.abc.MutableSequence):
            made = copy.copy(like)
            for i, value in enumerate(values):
                made[i] = value
            return made
        return type(like)(values)  # type: ignore[call-arg]
    except TypeError:
        return values

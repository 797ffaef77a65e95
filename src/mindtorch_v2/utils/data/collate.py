"""Turning a list of samples into a batch."""

from __future__ import annotations

import collections.abc
import re
from typing import Any

import numpy as np

from ..._dispatch import aten
from ..._dtype import float64
from ..._python.creation import as_tensor
from ..._tensor import Tensor

__all__ = ["default_collate", "default_convert"]

_STRINGS = re.compile(r"[SaUO]")
_BAD_TYPE = "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"


def default_convert(data: Any) -> Any:
    """Arrays become tensors, containers are searched, everything else stays.

    >>> torch.utils.data.default_convert([1, {"a": 2}])
    [1, {'a': 2}]
    """
    if isinstance(data, (Tensor, str, bytes)):
        return data
    if isinstance(data, np.ndarray):
        return data if _STRINGS.search(data.dtype.str) else as_tensor(data)
    if isinstance(data, np.generic):
        return as_tensor(np.asarray(data))
    if isinstance(data, collections.abc.Mapping):
        return _rebuild_mapping(data, {k: default_convert(v) for k, v in data.items()})
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*(default_convert(v) for v in data))
    if isinstance(data, collections.abc.Sequence):
        return [default_convert(v) for v in data]
    return data


def default_collate(batch: Any) -> Any:
    """Stacks tensors, arrays and numbers along a new first dimension; containers are collated part by part.

    >>> torch.utils.data.default_collate([(1, 2.5), (3, 4.5)])
    [tensor([1, 3]), tensor([2.5000, 4.5000], dtype=torch.float64)]
    """
    first = batch[0]
    if isinstance(first, Tensor):
        return aten.stack(list(batch), 0)
    if isinstance(first, np.ndarray):
        if _STRINGS.search(first.dtype.str):
            raise TypeError(_BAD_TYPE.format(first.dtype))
        return default_collate([as_tensor(b) for b in batch])
    if isinstance(first, np.generic):
        return as_tensor(np.asarray(batch))
    if isinstance(first, float):
        return as_tensor(batch, dtype=float64)
    if isinstance(first, int):
        return as_tensor(list(batch))
    if isinstance(first, (str, bytes)):
        return batch
    if isinstance(first, collections.abc.Mapping):
        return _rebuild_mapping(first, {k: default_collate([d[k] for d in batch]) for k in first})
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return type(first)(*(default_collate(samples) for samples in zip(*batch)))
    if isinstance(first, collections.abc.Sequence):
        if any(len(item) != len(first) for item in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        return [default_collate(samples) for samples in zip(*batch)]
    raise TypeError(_BAD_TYPE.format(type(first)))


def _rebuild_mapping(like: Any, values: dict[Any, Any]) -> Any:
    try:
        return type(like)(values)
    except TypeError:
        return values

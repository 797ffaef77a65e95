"""Batches in host memory that an accelerator reaches directly, so that copies to it need not wait."""

from __future__ import annotations

import collections.abc
import copy
import warnings
from typing import Any

from .... import _accelerators
from ...._tensor import Tensor


def can_pin() -> bool:
    """Whether there is a device to pin memory for; warns if not."""
    if _accelerators.available():
        return True
    warnings.warn(
        "'pin_memory' argument is set as true but no accelerator is found, then device pinned memory won't be used.",
        UserWarning,
        stacklevel=4,
    )
    return False


def pin_memory(data: Any, device: Any = None) -> Any:
    """The data with every tensor in it pinned. Objects with a `pin_memory` method see to themselves."""
    if isinstance(data, Tensor):
        return data.pin_memory()
    if hasattr(data, "pin_memory"):
        return data.pin_memory()
    if isinstance(data, (str, bytes)):
        return data
    if isinstance(data, collections.abc.Mapping):
        made = {key: pin_memory(value) for key, value in data.items()}
        if isinstance(data, collections.abc.MutableMapping):
            pinned = copy.copy(data)
            pinned.update(made)
            return pinned
        return made
    if isinstance(data, tuple):
        return type(data)(*map(pin_memory, data)) if hasattr(data, "_fields") else tuple(map(pin_memory, data))
    if isinstance(data, list):
        return [pin_memory(x) for x in data]
    return data

"""The table of what operators do with sparse tensors: a handler for each name, registered by topic."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .tensor import SparseTensor

HANDLERS: dict[str, Callable[..., Any]] = {}


def handles(*names: str) -> Callable[[Any], Any]:
    def register(function: Any) -> Any:
        for name in names:
            HANDLERS[name] = function
        return function

    return register


def is_sparse(t: Any) -> bool:
    return isinstance(t, SparseTensor)

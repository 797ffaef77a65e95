"""Functions of PyTorch's exporter that programs import for their own export functions. Nothing is exported here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn


def is_operator(name: str) -> bool:
    """Whether an operator has the name: opsets have a function for each."""
    from .._ops.table import OVERLOADS

    return name in OVERLOADS


def refusals(module: str, exists: Callable[[str], bool]) -> Callable[[str], Callable[..., NoReturn]]:
    """A module's `__getattr__` that gives a function for every name that exists; it raises when it is called."""

    def __getattr__(name: str) -> Callable[..., NoReturn]:
        if not exists(name):
            raise AttributeError(f"module '{module}' has no attribute '{name}'")

        def refuse(*args: Any, **kwargs: Any) -> NoReturn:
            raise NotImplementedError(f"{module}.{name}: it builds an ONNX graph, and no graph is exported here")

        refuse.__name__ = refuse.__qualname__ = name
        return refuse

    return __getattr__

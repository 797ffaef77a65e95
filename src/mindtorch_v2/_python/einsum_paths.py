"""The order in which `torch.einsum` contracts more than two tensors: the package opt_einsum finds a good one."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from .. import _tensor


class Setting:
    """Whether the package is used and how it searches; `torch.backends.opt_einsum` shows both."""

    enabled: bool | None = None  # None: if it is installed
    strategy: str | None = None  # None: "auto"


@lru_cache
def is_available() -> bool:
    """Whether the package can be imported."""
    from importlib.util import find_spec

    return find_spec("opt_einsum") is not None


def path_of(equation: str, operands: list[_tensor.Tensor]) -> list[int] | None:
    """Which two tensors are contracted next, as a flat list of pairs: both leave the list, their product goes to its
    end. None means from left to right: for one or two tensors, without the package, or where it is switched off."""
    if len(operands) <= 2 or Setting.enabled is False or not is_available():
        return None
    from importlib import import_module

    package: Any = import_module("opt_einsum")
    shapes = [tuple(t.shape) for t in operands]
    path = package.contract_path(equation, *shapes, shapes=True, optimize=Setting.strategy or "auto")[0]
    return [position for pair in path for position in pair] if all(len(pair) == 2 for pair in path) else None

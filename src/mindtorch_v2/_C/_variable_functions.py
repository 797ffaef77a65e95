"""Operators as attributes of a class, which is where PyTorch's pickles look for `torch.relu` and the like."""

from __future__ import annotations

from typing import Any

from .._dispatch.namespace import public

__all__ = ["_VariableFunctions", "_VariableFunctionsClass"]


class _ByName(type):
    def __getattr__(cls, name: str) -> Any:
        return getattr(public, name)


class _VariableFunctionsClass(metaclass=_ByName):
    """The operators that are functions of `torch`, by name."""


_VariableFunctions = _VariableFunctionsClass

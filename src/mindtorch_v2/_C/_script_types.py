"""Classes of TorchScript's graphs, for programs that import them to annotate and to ask with `isinstance`. Nothing
is compiled here, so there are no such objects.
"""

from __future__ import annotations

from typing import Any, NoReturn

__all__ = ["Graph", "Node", "ScriptObject", "TensorType", "Value"]


class _OfScripts:
    def __new__(cls, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(f"torch._C.{cls.__name__} belongs to TorchScript, which is not compiled here")


class Graph(_OfScripts):
    """The graph of a compiled function."""


class Node(_OfScripts):
    """An operation in a graph."""


class Value(_OfScripts):
    """What an operation in a graph takes or gives."""


class ScriptObject(_OfScripts):
    """An instance of a class that was registered from C++."""


class TensorType(_OfScripts):
    """The type of tensors in a graph."""

"""How tensors are printed, by the names that libraries use for their own classes."""

from __future__ import annotations

from typing import Any

from ._python.tensor_str import (
    _append_suffixes,
    _contents,
    get_printoptions,
    printoptions,
    set_printoptions,
    tensor_repr,
)
from ._python.tensor_str import _options as PRINT_OPTS

__all__ = [
    "PRINT_OPTS",
    "_add_suffixes",
    "_str_intern",
    "_tensor_str",
    "get_printoptions",
    "printoptions",
    "set_printoptions",
]


def _tensor_str(self: Any, indent: int) -> str:
    """The elements, without `tensor(` and what follows them."""
    return _contents(self.detach().cpu()._array, indent)


def _add_suffixes(tensor_str: str, suffixes: list[str], indent: int, force_newline: bool = False) -> str:
    """The elements and what follows them, with the bracket that ends it."""
    return _append_suffixes(tensor_str, suffixes, indent)


def _str_intern(inp: Any, *, tensor_contents: str | None = None) -> str:
    """The whole text; `tensor_contents` stands for the elements."""
    return tensor_repr(inp, tensor_contents)

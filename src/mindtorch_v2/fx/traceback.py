"""What is known about the node that an interpreter runs: nodes that are made meanwhile inherit its metadata."""

from __future__ import annotations

import contextlib
import threading
import traceback
from collections.abc import Iterator
from typing import Any

__all__ = [
    "format_stack",
    "get_current_meta",
    "has_preserved_node_meta",
    "preserve_node_meta",
    "set_current_meta",
    "set_stack_trace",
]


class _State(threading.local):
    def __init__(self) -> None:
        self.meta: dict[str, Any] = {}
        self.preserve = False


_state = _State()


@contextlib.contextmanager
def preserve_node_meta(enable: bool = True) -> Iterator[None]:
    """A block in which the current node's metadata is kept for new nodes."""
    before = _state.preserve, _state.meta
    _state.preserve, _state.meta = enable, dict(_state.meta)
    try:
        yield
    finally:
        _state.preserve, _state.meta = before


def has_preserved_node_meta() -> bool:
    """Whether metadata is kept for new nodes."""
    return _state.preserve


@contextlib.contextmanager
def set_current_meta(node: Any, pass_name: str = "") -> Iterator[None]:
    """A block in which the node is the current one."""
    if not (_state.preserve and node.meta):
        yield
        return
    before = _state.meta
    _state.meta = dict(node.meta)
    try:
        yield
    finally:
        _state.meta = before


def get_current_meta() -> dict[str, Any]:
    """The metadata of the current node."""
    return _state.meta


def set_stack_trace(stack: list[str]) -> None:
    """Says where new nodes come from."""
    if _state.preserve and stack:
        _state.meta["stack_trace"] = "".join(stack)


def format_stack() -> list[str]:
    """Where the current node comes from, or the stack of this call."""
    return (
        [_state.meta.get("stack_trace", "")]
        if _state.preserve
        else traceback.format_list(traceback.extract_stack()[:-1])
    )

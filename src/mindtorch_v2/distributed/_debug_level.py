"""How much `torch.distributed` checks, as programs ask with TORCH_DISTRIBUTED_DEBUG. Collectives that do not match are
found at any level here."""

from __future__ import annotations

import os
from enum import Enum

__all__ = ["DebugLevel", "get_debug_level", "set_debug_level", "set_debug_level_from_env"]


class DebugLevel(Enum):
    """The levels."""

    OFF = 0
    INFO = 1
    DETAIL = 2


_level: DebugLevel | None = None


def get_debug_level() -> DebugLevel:
    """The level that was set, else that of the environment."""
    if _level is None:
        set_debug_level_from_env()
    assert _level is not None
    return _level


def set_debug_level(level: DebugLevel) -> None:
    """Sets the level."""
    global _level
    _level = level


def set_debug_level_from_env() -> None:
    """Takes the level of TORCH_DISTRIBUTED_DEBUG; RuntimeError for an unknown one."""
    text = os.environ.get("TORCH_DISTRIBUTED_DEBUG", "OFF").upper()
    if text not in DebugLevel.__members__:
        raise RuntimeError("The value of TORCH_DISTRIBUTED_DEBUG must be OFF, INFO, or DETAIL.")
    set_debug_level(DebugLevel[text])

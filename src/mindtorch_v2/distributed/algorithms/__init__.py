"""Algorithms on top of the collectives."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_SUBMODULES = ("ddp_comm_hooks", "join")


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES:
        return import_module(f"{__name__}.{name}")
    if name in ("Join", "Joinable", "JoinHook"):
        return getattr(import_module(f"{__name__}.join"), name)
    raise AttributeError(f"module 'torch.distributed.algorithms' has no attribute '{name}'")

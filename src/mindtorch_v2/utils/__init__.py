"""Helpers around training: checkpointing, data loading and hooks. The parts are loaded when first used."""
from __future__ import annotations

from importlib import import_module
from typing import Any

_PARTS = ("benchmark", "bottleneck", "checkpoint", "data", "dlpack", "flop_counter", "hooks")


def __getattr__(name: str) -> Any:
    if name not in _PARTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(f"{__name__}.{name}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_PARTS})

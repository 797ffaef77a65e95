"""Where PyTorch keeps its compiled parts. Programs reach into it for the profiler's types, which are found here under the same names."""
from __future__ import annotations

from importlib import import_module
from typing import Any

_PARTS = ("_autograd", "_profiler")


def __getattr__(name: str) -> Any:
    if name not in _PARTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(f"{__name__}.{name}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_PARTS})

"""`torch.ao`: quantisation of layers, as far as it needs no quantised tensors."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["nn", "quantization"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module 'torch.ao' has no attribute '{name}'")

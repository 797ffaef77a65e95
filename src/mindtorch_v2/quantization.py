"""`torch.quantization`: the old name of `torch.ao.quantization`."""

from __future__ import annotations

from typing import Any

from .ao import quantization as _quantization
from .ao.quantization import convert, fuse_modules, prepare, prepare_qat, quantize_dynamic

__all__ = ["convert", "fuse_modules", "prepare", "prepare_qat", "quantize_dynamic"]


def __getattr__(name: str) -> Any:
    return getattr(_quantization, name)

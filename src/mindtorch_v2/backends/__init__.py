"""`torch.backends`: the libraries behind PyTorch's kernels.

Those of devices that are not here say so and keep their settings.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

from . import _settings
from ._settings import disable_global_flags, flags_frozen

_SUBMODULES = (
    "cpu",
    "cuda",
    "cudnn",
    "cusparselt",
    "kleidiai",
    "mha",
    "miopen",
    "mkl",
    "mkldnn",
    "mps",
    "nnpack",
    "openmp",
    "opt_einsum",
    "quantized",
    "xnnpack",
)
__all__ = ["disable_global_flags", "flags_frozen", *_SUBMODULES]


class _Backends(ModuleType):
    fp32_precision = _settings.Precision("")


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module 'torch.backends' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*globals(), *_SUBMODULES})


_settings.become(sys.modules[__name__], _Backends)

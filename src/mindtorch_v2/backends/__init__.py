"""`torch.backends`: the libraries that PyTorch's kernels use.

Those of devices that are not here say so and keep their settings.
"""

from __future__ import annotations

import sys
from types import ModuleType

from .._lazy_parts import lazy_parts as _lazy_parts
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


__getattr__, __dir__ = _lazy_parts(__name__, _SUBMODULES)


_settings.become(sys.modules[__name__], _Backends)

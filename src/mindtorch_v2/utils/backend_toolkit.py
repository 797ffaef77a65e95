"""What backends of other packages are made of (docs/adding-a-device.md). These names are kept; everything that
begins with an underscore elsewhere in the package may change.
"""

from __future__ import annotations

from .._accelerators import Backend
from .._backends.cpu.boxing import box as box_cpu
from .._backends.device_work import KERNEL, MEMCPY, MEMSET, NOTHING, Result, Work
from .._backends.generators import Generator
from .._device import device, resolve
from .._dispatch.families import load_family
from .._dispatch.registry import KERNELS
from .._dispatch.specs import output_specs
from .._dispatch.views import box_view
from .._ops.rules import Spec
from .._ops.table import Op
from .._tensor import Tensor, bump_version, wrap
from .backend_registration import register_backend

__all__ = [
    "Backend",
    "Generator",
    "KERNEL",
    "KERNELS",
    "MEMCPY",
    "MEMSET",
    "NOTHING",
    "Op",
    "Result",
    "Spec",
    "Tensor",
    "Work",
    "box_cpu",
    "box_view",
    "bump_version",
    "device",
    "load_family",
    "output_specs",
    "register_backend",
    "resolve",
    "wrap",
]

"""A PyTorch-compatible deep-learning runtime: `import mindtorch_v2 as torch`."""

from __future__ import annotations

import math as _math
from functools import cache as _cache
from importlib import import_module as _import_module
from os import environ as _environ
from os import scandir as _scandir
from os.path import exists as _exists
from typing import Any

import numpy as _np

from . import _accelerators, _dtype, _ops
from ._device import device
from ._device import get_default as get_default_device
from ._device import set_default as set_default_device
from ._dispatch import aten as _aten
from ._dtype import (
    bfloat16,
    complex32,
    complex64,
    complex128,
    dtype,
    finfo,
    float8_e4m3fn,
    float8_e4m3fnuz,
    float8_e5m2,
    float8_e5m2fnuz,
    float8_e8m0fnu,
    float16,
    float32,
    float64,
    get_default_dtype,
    iinfo,
    int8,
    int16,
    int32,
    int64,
    promote_types,
    set_default_dtype,
    uint8,
    uint16,
    uint32,
    uint64,
)
from ._dtype import bool_ as bool  # noqa: A004 - torch.bool
from ._errors import OutOfMemoryError
from ._lazy_names import LAZY as _LAZY
from ._lazy_names import PRIVATE_MODULES as _PRIVATE_MODULES
from ._ops.rules import result_type
from ._python.constructors import TYPED as _TYPED
from ._python.creation import as_tensor, asarray, from_numpy, frombuffer, tensor
from ._python.dlpack import from_dlpack
from ._python.install import install as _install
from ._python.install import public_function as _public_function
from ._python.install import public_names as _public_names
from ._shape import Size
from ._tensor import (
    Tensor,
    channels_last,
    channels_last_3d,
    contiguous_format,
    layout,
    memory_format,
    preserve_format,
    strided,
)

# glibc returns large blocks to the system at once and fetches them again, page by page, at the next operation. Freeing
# one large block (never touched, so it costs nothing) raises its threshold: a convolution step in a fresh process took
# half the time.
_np.empty((1 << 25) - 65536, _np.uint8)
_install()
from ._autograd.grad_mode import (  # noqa: E402
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from ._python import devices as _devices  # noqa: E402
from ._python import foreign_methods as _foreign  # noqa: E402
from ._python import functions as _functions  # noqa: E402

# properties and protocols, after the operators are in place
from ._python import tensor_methods as _tensor_methods  # noqa: E402
from ._python import tensor_questions as _tensor_questions  # noqa: E402
from ._python.functions import *  # noqa: E402, F403
from ._version import __version__  # noqa: E402

_foreign.install()
_tensor_questions.install()
_devices.install()
_register_device_module = _devices.register_device_module
half = float16
float = float32  # noqa: A001
double = float64
short = int16
int = int32  # noqa: A001
long = int64
chalf = complex32
cfloat = complex64
cdouble = complex128
inf, nan, pi, e = _math.inf, _math.nan, _math.pi, _math.e
newaxis = None
globals().update(_TYPED)  # FloatTensor, LongTensor, ...


@_cache
def _submodules() -> frozenset[str]:
    """The public modules that are here, imported when asked for."""
    found = [entry for path in __spec__.submodule_search_locations or () for entry in _scandir(path)]
    names = {
        entry.name.removesuffix(".py")
        for entry in found
        if entry.name.endswith(".py") or _exists(f"{entry.path}/__init__.py")
    }
    return frozenset(name for name in names if not name.startswith("_")) | _PRIVATE_MODULES


def __getattr__(name: str) -> Any:
    if name == "torch":  # which PyTorch's own `import torch` leaves there
        return _import_module(__name__)
    if name == "__all__":  # of `from torch import *`: functions, types and constants, as in PyTorch no modules
        return [n for n in __dir__() if not n.startswith("_") and n not in _submodules() | {"Any", "annotations"}]
    if name in _submodules():
        return _import_module(f"{__name__}.{name}")
    if name in _LAZY:
        made = getattr(_import_module(f"{__name__}.{_LAZY[name]}"), name)
    else:
        try:
            made = _public_function(name)
        except AttributeError:
            if not name.startswith("_") and _accelerators.knows(name):
                return _devices.device_module(name)
            raise
    globals()[name] = made
    return made


def __dir__() -> list[str]:
    return sorted({*globals(), *_public_names(), *_submodules(), *_LAZY})


if _environ.get("MINDPROF"):  # a flight recorder, or control from outside, for a program that knows nothing of them
    _import_module(f"{__name__}.profiler.capture.startup").begin(_environ["MINDPROF"])

"""What things are called inside a checkpoint: PyTorch's module paths, for this package's objects."""

from __future__ import annotations

from typing import Any

from .. import _dtype as dt

OWN_ROOT = __name__.partition(".")[0]
STORAGE_DTYPES = {
    "FloatStorage": dt.float32,
    "DoubleStorage": dt.float64,
    "HalfStorage": dt.float16,
    "LongStorage": dt.int64,
    "IntStorage": dt.int32,
    "ShortStorage": dt.int16,
    "CharStorage": dt.int8,
    "ByteStorage": dt.uint8,
    "BoolStorage": dt.bool_,
    "ComplexFloatStorage": dt.complex64,
    "ComplexDoubleStorage": dt.complex128,
    "BFloat16Storage": dt.bfloat16,
    "UntypedStorage": dt.uint8,
}
# PyTorch's types that do not exist here, by the names under which a pickle refers to them.
FOREIGN_TYPES = {
    **{f"torch.{name}": name for name in ("qint8", "quint8", "qint32", "quint4x2", "quint2x4", "float4_e2m1fn_x2")},
    **{
        f"torch.{name}Storage": kind
        for name, kind in (
            ("QInt8", "qint8"),
            ("QUInt8", "quint8"),
            ("QInt32", "qint32"),
            ("QUInt4x2", "quint4x2"),
            ("QUInt2x4", "quint2x4"),
        )
    },
}
STORAGE_NAMES = {d: name for name, d in reversed(STORAGE_DTYPES.items())}


class Name:
    """Stands for a global that is written under PyTorch's path; never called."""

    def __init__(self, module: str, name: str) -> None:
        self.module, self.name = module, name


class StorageType:
    """What `torch.FloatStorage` becomes when a checkpoint is read."""

    def __init__(self, name: str) -> None:
        self.name, self.dtype = name, STORAGE_DTYPES[name]


# Modules of this package whose classes PyTorch has in one other module.
_ELSEWHERE = {
    "nn._uninitialized": "nn.parameter",
    "nn.modules.attention": "nn.modules.activation",
    "nn.modules.parameter_containers": "nn.modules.container",
    "nn.utils._orthogonal": "nn.utils.parametrizations",
    "optim._composed_schedules": "optim.lr_scheduler",
    "optim._plateau": "optim.lr_scheduler",
    "optim._scheduler": "optim.lr_scheduler",
    "optim._simple_schedules": "optim.lr_scheduler",
    "optim.adafactor": "optim",
    "optim.muon": "optim",
    "distributions._bounds": "distributions.constraints",
    "distributions._transform": "distributions.transforms",
    "distributions._transforms_of_arrays": "distributions.transforms",
    "distributions._transforms_of_numbers": "distributions.transforms",
}
_LAZY = {"Linear": "linear", "Conv": "conv", "BatchNorm": "batchnorm", "InstanceNorm": "instancenorm"}


def home(module: str, name: str) -> str:
    """PyTorch's path of the module that has the class or function `name` of this package's `module`."""
    below = module.removeprefix(OWN_ROOT + ".")
    if below == "nn.modules._lazy_layers":
        return next(f"torch.nn.modules.{at}" for start, at in _LAZY.items() if name.startswith("Lazy" + start))
    if below in ("optim.adam", "optim.adaptive", "optim.averaging"):  # there every optimizer has a module of its own
        return f"torch.optim.{name.lower()}"
    return foreign_module(f"{OWN_ROOT}.{_ELSEWHERE.get(below, below)}" if below != module else module)


def foreign_module(module: str) -> str:
    """This package's module path as PyTorch spells it."""
    if module == OWN_ROOT or module.startswith(OWN_ROOT + "."):
        return "torch" + module[len(OWN_ROOT) :]
    return module


def own_module(module: str) -> str:
    """PyTorch's module path as this package spells it."""
    if module == "torch" or module.startswith("torch."):
        return OWN_ROOT + module[len("torch") :]
    return module


def describe(value: Any) -> str:
    return f"{getattr(value, '__module__', '?')}.{getattr(value, '__qualname__', value)}"

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

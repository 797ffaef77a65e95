"""Types of quantised elements. Programs name them in tables of types; no tensor here has one."""

from __future__ import annotations

from typing import Any, NoReturn

from .._dtype import dtype


class _Quantized(dtype):
    """A type that can be named and compared. Making a tensor of it raises NotImplementedError."""

    __slots__ = ()

    def __init__(self, name: str, itemsize: int, code: int, word: str) -> None:
        for field, value in {"name": name, "itemsize": itemsize, "category": 1, "code": code, "word": word}.items():
            object.__setattr__(self, field, value)
        for field in ("is_floating_point", "is_complex", "inexact"):
            object.__setattr__(self, field, False)
        object.__setattr__(self, "cpp_name", f"c10::{name}")
        object.__setattr__(self, "wide", None)

    def _refuse(self) -> NoReturn:
        raise NotImplementedError(f"tensors of the quantised type {self} are not here; use torch.int8 or torch.uint8")

    @property
    def np(self) -> Any:  # type: ignore[override]
        self._refuse()

    @property
    def is_signed(self) -> bool:  # type: ignore[override]
        raise RuntimeError("isSignedType not supported for quantized types")


qint8 = _Quantized("qint8", 1, 12, "QInt8")
quint8 = _Quantized("quint8", 1, 13, "QUInt8")
qint32 = _Quantized("qint32", 4, 14, "QInt32")
quint4x2 = _Quantized("quint4x2", 1, 16, "QUInt4x2")
quint2x4 = _Quantized("quint2x4", 1, 17, "QUInt2x4")

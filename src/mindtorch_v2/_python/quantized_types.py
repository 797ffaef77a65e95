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


class qscheme:
    """How a scale and a zero point belong to numbers: for all of a tensor, or for each channel. A name only.

    >>> torch.per_tensor_affine
    torch.per_tensor_affine
    """

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return f"torch.{self._name}"

    def __reduce__(self) -> str:
        return self._name


per_tensor_affine = qscheme("per_tensor_affine")
per_channel_affine = qscheme("per_channel_affine")
per_tensor_symmetric = qscheme("per_tensor_symmetric")
per_channel_symmetric = qscheme("per_channel_symmetric")
per_channel_affine_float_qparams = qscheme("per_channel_affine_float_qparams")

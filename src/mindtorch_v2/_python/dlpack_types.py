"""Element types in DLPack capsules that numpy does not exchange: it sees integers of their size, and the type is
written over that.

A capsule holds a DLManagedTensor, or a DLManagedTensorVersioned; both have a DLTensor inside, whose type is a code,
the bits of an element and a number of lanes.
"""

from __future__ import annotations

import ctypes
from typing import Any

from .. import _dtype as dt

_CODES = {
    dt.bfloat16: 4,
    dt.complex32: 5,
    dt.float8_e4m3fn: 10,
    dt.float8_e4m3fnuz: 11,
    dt.float8_e5m2: 12,
    dt.float8_e5m2fnuz: 13,
    dt.float8_e8m0fnu: 14,
}
_TYPES = {(code, d.itemsize * 8): d for d, code in _CODES.items()}
_UNSIGNED = 1


class _Type(ctypes.Structure):
    _fields_ = (("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16))


class _DLTensor(ctypes.Structure):
    _fields_ = (("data", ctypes.c_void_p), ("device", ctypes.c_int32 * 2), ("ndim", ctypes.c_int32), ("dtype", _Type))


class _Versioned(ctypes.Structure):
    _fields_ = (
        ("version", ctypes.c_uint32 * 2),
        ("manager", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _DLTensor),
    )


_name_of = ctypes.pythonapi.PyCapsule_GetName
_name_of.restype, _name_of.argtypes = ctypes.c_char_p, [ctypes.py_object]
_pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_of.restype, _pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


def _type_in(capsule: Any) -> _Type | None:
    """Where a capsule that nobody has taken yet says its type; None for anything else."""
    name = _name_of(capsule)
    if name == b"dltensor":
        return ctypes.cast(_pointer_of(capsule, name), ctypes.POINTER(_DLTensor)).contents.dtype
    if name == b"dltensor_versioned":
        return ctypes.cast(_pointer_of(capsule, name), ctypes.POINTER(_Versioned)).contents.tensor.dtype
    return None


def pack(array: Any, kind: dt.dtype, **options: Any) -> Any:
    """A capsule over the memory of an array of a type that numpy lacks."""
    capsule = array.view(f"u{kind.itemsize}").__dlpack__(**options)
    found = _type_in(capsule)
    assert found is not None
    found.code = _CODES[kind]
    return capsule


def as_integers(capsule: Any) -> dt.dtype | None:
    """Makes a capsule that numpy can take of one with a type that numpy lacks, and tells the type; None for all
    others.
    """
    found = _type_in(capsule)
    kind = None if found is None else _TYPES.get((found.code, found.bits))
    if found is not None and kind is not None:
        found.code = _UNSIGNED
    return kind

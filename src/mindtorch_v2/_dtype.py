"""Element types and PyTorch's rules for combining them."""
from __future__ import annotations

from typing import Any

import numpy as np


class dtype:
    """An element type, such as `torch.float32`. One object per type; compare with `is` or `==`."""

    __slots__ = ("name", "np", "itemsize", "is_floating_point", "is_complex", "inexact", "category", "code", "cpp_name", "__weakref__")

    def __init__(self, name: str, np_type: Any, category: int, code: int, cpp_name: str) -> None:
        self.name = name
        self.np = np.dtype(np_type)
        self.itemsize = self.np.itemsize
        self.category = category  # 0 bool, 1 integer, 2 floating, 3 complex
        self.is_floating_point = category == 2
        self.is_complex = category == 3
        self.inexact = category >= 2
        self.code = code  # PyTorch's ScalarType number, shown in traces as a concrete input
        self.cpp_name = cpp_name

    @property
    def is_signed(self) -> bool:
        return self.np.kind not in "bu"

    def to_complex(self) -> dtype:
        return {"float64": complex128, "complex128": complex128}.get(self.name, complex64)

    def to_real(self) -> dtype:
        return {"complex64": float32, "complex128": float64}.get(self.name, self)

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> str:
        return self.name  # pickled by reference to this module's global


uint8 = dtype("uint8", np.uint8, 1, 0, "unsigned char")
int8 = dtype("int8", np.int8, 1, 1, "signed char")
int16 = dtype("int16", np.int16, 1, 2, "short int")
int32 = dtype("int32", np.int32, 1, 3, "int")
int64 = dtype("int64", np.int64, 1, 4, "long int")
float16 = dtype("float16", np.float16, 2, 5, "c10::Half")
float32 = dtype("float32", np.float32, 2, 6, "float")
float64 = dtype("float64", np.float64, 2, 7, "double")
complex64 = dtype("complex64", np.complex64, 3, 9, "c10::complex<float>")
complex128 = dtype("complex128", np.complex128, 3, 10, "c10::complex<double>")
bool_ = dtype("bool", np.bool_, 0, 11, "bool")

ALL = (uint8, int8, int16, int32, int64, float16, float32, float64, complex64, complex128, bool_)
BY_NAME = {d.name: d for d in ALL}
ALIASES = {"half": float16, "float": float32, "double": float64, "short": int16, "int": int32, "long": int64,
           "cfloat": complex64, "cdouble": complex128, "bool": bool_}
# numpy gives one type number per builtin type, except that "long" and "long long" share a width.
BY_NUM: dict[int, dtype] = {d.np.num: d for d in ALL}
BY_NUM[np.dtype(np.longlong).num] = int64
_PYTHON_TYPES = {bool: bool_, int: int64, float: None, complex: None}

_default: dtype = float32


def __getattr__(name: str) -> dtype:
    """`torch.bool` pickles by its name, which is Python's own here."""
    if name == "bool":
        return bool_
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def get_default_dtype() -> dtype:
    return _default


def set_default_dtype(d: dtype) -> None:
    """Sets the type of floating-point literals. Raises TypeError for anything but a floating type."""
    global _default
    if not isinstance(d, dtype):
        raise TypeError("invalid dtype object: only floating-point types are supported as the default type")
    if not d.is_floating_point:
        raise TypeError("only floating-point types are supported as the default type")
    _default = d


def from_numpy(np_dtype: np.dtype[Any]) -> dtype:
    """The element type of a numpy array; TypeError for those that have none here."""
    found = BY_NUM.get(np_dtype.num)
    if found is None or not np_dtype.isnative:
        raise TypeError(f"can't convert np.ndarray of type {np_dtype}. The only supported types are: float64, float32, "
                        "float16, complex64, complex128, int64, int32, int16, int8, uint8, and bool.")
    return found


def of_number(value: Any) -> dtype:
    """The element type that a Python number has on its own."""
    if isinstance(value, bool):
        return bool_
    if isinstance(value, int):
        return int64
    if isinstance(value, complex):
        return _default.to_complex()
    return _default


def _join(a: dtype, b: dtype) -> dtype:
    if a is b:
        return a
    low, high = (a, b) if a.category < b.category else (b, a)
    if low.category != high.category:
        if high.category == 3 and low is float64:
            return complex128
        return high
    if a.category == 1:  # numpy's integer lattice is PyTorch's
        return BY_NUM[np.promote_types(a.np, b.np).num]
    return a if a.itemsize >= b.itemsize else b


PROMOTION: dict[tuple[dtype, dtype], dtype] = {(a, b): _join(a, b) for a in ALL for b in ALL}


def promote_types(a: dtype, b: dtype) -> dtype:
    """The smallest type that holds both, by PyTorch's lattice."""
    return PROMOTION[a, b]


def can_cast(source: dtype, target: dtype) -> bool:
    """Whether PyTorch lets a result of `source` be written into `target`."""
    return source.category <= target.category


class _Limits:
    def __init__(self, d: dtype) -> None:
        self.dtype = d.name
        self.bits = d.itemsize * 8


class finfo(_Limits):
    """Numerical limits of a floating type: eps, max, min, tiny, smallest_normal, resolution, bits."""

    def __init__(self, d: dtype | None = None) -> None:
        d = d or _default
        if d.category < 2:
            raise TypeError("torch.finfo() requires a floating point input type. Use torch.iinfo to handle 'torch.finfo'")
        super().__init__(d.to_real())
        info = np.finfo(d.to_real().np)
        self.eps, self.max, self.min = float(info.eps), float(info.max), float(info.min)
        self.tiny = self.smallest_normal = float(info.tiny)
        self.resolution = 10.0 ** -info.precision

    def __repr__(self) -> str:
        return (f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, eps={self.eps:g}, "
                f"smallest_normal={self.smallest_normal:g}, tiny={self.tiny:g}, dtype={self.dtype})")


class iinfo(_Limits):
    """Numerical limits of an integer type: max, min, bits."""

    def __init__(self, d: dtype) -> None:
        if d.category == 0:
            raise TypeError("torch.bool is not supported by torch.iinfo")
        if d.category != 1:
            raise TypeError("torch.iinfo() requires an integer input type. Use torch.finfo to handle 'torch.iinfo'")
        super().__init__(d)
        info = np.iinfo(d.np)
        self.max, self.min = int(info.max), int(info.min)

    def __repr__(self) -> str:
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"

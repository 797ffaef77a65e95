"""Element types and PyTorch's rules for combining them.

numpy has most of them itself. The others (bfloat16, the float8 types, complex32) come from ml_dtypes, which is
imported when an array of such a type is first made: `dtype.np` is a slot that is filled then. Their arrays carry
their type as any other array does.
"""

from __future__ import annotations

from typing import Any

import numpy as np

# numpy's type ids from here on belong to types that a library registered: those of ml_dtypes
FIRST_USER_NUM = 256


class dtype:
    """An element type, such as `torch.float32`. One object per type; compare with `is` or `==`.

    name            as in `torch.<name>`
    np              numpy's type of the arrays that hold it
    category        0 bool, 1 integer, 2 floating, 3 complex
    code            PyTorch's ScalarType id, written to traces as a concrete input
    cpp_name, word  its names in C++ and in PyTorch's messages: "c10::Half" and "Half"
    wide            the type that kernels compute in, which for 16-bit and shorter floating types is a wider one;
    else None

    >>> torch.float32.itemsize, torch.float32.is_floating_point
    (4, True)
    """

    __slots__ = (
        "name",
        "np",
        "itemsize",
        "is_floating_point",
        "is_complex",
        "is_signed",
        "inexact",
        "category",
        "code",
        "cpp_name",
        "word",
        "wide",
        "__weakref__",
    )

    np: np.dtype[Any]
    wide: dtype | None

    def __init__(self, name: str, itemsize: int, category: int, code: int, cpp_name: str, word: str) -> None:
        self.name = name
        self.itemsize = itemsize
        self.category = category
        self.is_floating_point = category == 2
        self.is_complex = category == 3
        self.inexact = category >= 2
        self.is_signed = not (category == 0 or name.startswith("uint") or name == "float8_e8m0fnu")
        self.code = code
        self.cpp_name = cpp_name
        self.word = word
        self.wide = None
        if name not in _FOREIGN:
            self.np = np.dtype(name)

    def __getattr__(self, name: str) -> Any:
        """Fills the slot `np` of a type that numpy lacks."""
        if name != "np" or self.name not in _FOREIGN:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        self.np = np.dtype(getattr(_ml_dtypes(self), self.name))
        BY_NUM[self.np.num] = self
        return self.np

    def to_complex(self) -> dtype:
        """The complex type of the same precision; RuntimeError for integers and float8 types."""
        if self.is_complex:
            return self
        try:
            return {"float64": complex128, "float32": complex64, "bfloat16": complex64, "float16": complex32}[self.name]
        except KeyError:
            raise RuntimeError(f"Unknown Complex ScalarType for {self.word}") from None

    def to_real(self) -> dtype:
        """The type of a complex type's two parts; the type itself for all others."""
        return {"complex32": float16, "complex64": float32, "complex128": float64}.get(self.name, self)

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> str:
        return self.name  # pickled by reference to this module's global


_FOREIGN = (
    "bfloat16",
    "complex32",
    "float8_e5m2",
    "float8_e4m3fn",
    "float8_e5m2fnuz",
    "float8_e4m3fnuz",
    "float8_e8m0fnu",
)


def _ml_dtypes(wanted: dtype) -> Any:
    """The library; ImportError says what to install."""
    try:
        import ml_dtypes
    except ImportError as error:
        raise ImportError(
            f"{wanted!r} needs the package ml_dtypes, which could not be imported ({error}). It comes with this "
            "package; to add it to an environment: pip install ml_dtypes"
        ) from error
    if not hasattr(ml_dtypes, wanted.name):
        raise ImportError(
            f"{wanted!r} needs ml_dtypes 0.6 or newer, and {ml_dtypes.__version__} is installed: pip install -U "
            "ml_dtypes"
        )
    return ml_dtypes


uint8 = dtype("uint8", 1, 1, 0, "unsigned char", "Byte")
int8 = dtype("int8", 1, 1, 1, "signed char", "Char")
int16 = dtype("int16", 2, 1, 2, "short int", "Short")
int32 = dtype("int32", 4, 1, 3, "int", "Int")
int64 = dtype("int64", 8, 1, 4, "long int", "Long")
float16 = dtype("float16", 2, 2, 5, "c10::Half", "Half")
float32 = dtype("float32", 4, 2, 6, "float", "Float")
float64 = dtype("float64", 8, 2, 7, "double", "Double")
complex32 = dtype("complex32", 4, 3, 8, "c10::complex<c10::Half>", "ComplexHalf")
complex64 = dtype("complex64", 8, 3, 9, "c10::complex<float>", "ComplexFloat")
complex128 = dtype("complex128", 16, 3, 10, "c10::complex<double>", "ComplexDouble")
bool_ = dtype("bool", 1, 0, 11, "bool", "Bool")
bfloat16 = dtype("bfloat16", 2, 2, 15, "c10::BFloat16", "BFloat16")
float8_e5m2 = dtype("float8_e5m2", 1, 2, 23, "c10::Float8_e5m2", "Float8_e5m2")
float8_e4m3fn = dtype("float8_e4m3fn", 1, 2, 24, "c10::Float8_e4m3fn", "Float8_e4m3fn")
float8_e5m2fnuz = dtype("float8_e5m2fnuz", 1, 2, 25, "c10::Float8_e5m2fnuz", "Float8_e5m2fnuz")
float8_e4m3fnuz = dtype("float8_e4m3fnuz", 1, 2, 26, "c10::Float8_e4m3fnuz", "Float8_e4m3fnuz")
uint16 = dtype("uint16", 2, 1, 27, "short unsigned int", "UInt16")
uint32 = dtype("uint32", 4, 1, 28, "unsigned int", "UInt32")
uint64 = dtype("uint64", 8, 1, 29, "long unsigned int", "UInt64")
float8_e8m0fnu = dtype("float8_e8m0fnu", 1, 2, 44, "c10::Float8_e8m0fnu", "Float8_e8m0fnu")

FLOAT8 = (float8_e5m2, float8_e4m3fn, float8_e5m2fnuz, float8_e4m3fnuz, float8_e8m0fnu)
BARE_UNSIGNED = (uint16, uint32, uint64)  # types that PyTorch stores and casts, with little arithmetic
ALL = (
    uint8,
    int8,
    int16,
    int32,
    int64,
    float16,
    float32,
    float64,
    complex32,
    complex64,
    complex128,
    bool_,
    bfloat16,
    *FLOAT8[:4],
    *BARE_UNSIGNED,
    float8_e8m0fnu,
)
OF_NUMPY = tuple(d for d in ALL if d.name not in _FOREIGN)
for _narrow in (float16, bfloat16, *FLOAT8):
    _narrow.wide = float32
complex32.wide = complex64

BY_NAME = {d.name: d for d in ALL}
ALIASES = {
    "half": float16,
    "float": float32,
    "double": float64,
    "short": int16,
    "int": int32,
    "long": int64,
    "chalf": complex32,
    "cfloat": complex64,
    "cdouble": complex128,
    "bool": bool_,
}
# numpy gives one type id per builtin type, except that "long" and "long long" share a width. Foreign types join
# when they are loaded.
BY_NUM: dict[int, dtype] = {d.np.num: d for d in OF_NUMPY}
BY_NUM[np.dtype(np.longlong).num] = int64
BY_NUM[np.dtype(np.ulonglong).num] = uint64

_default: dtype = float32


def __getattr__(name: str) -> dtype:
    """`torch.bool` pickles by its name, which is Python's own here."""
    if name == "bool":
        return bool_
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def get_default_dtype() -> dtype:
    """The type of floating-point tensors that are made without one.

    >>> torch.get_default_dtype()
    torch.float32
    """
    return _default


def set_default_dtype(d: dtype) -> None:
    """Sets the type of floating-point literals. Raises TypeError for anything but a floating type.

    >>> torch.set_default_dtype(torch.float64)
    >>> torch.ones(1).dtype
    torch.float64
    >>> torch.set_default_dtype(torch.float32)
    """
    global _default
    if not isinstance(d, dtype):
        raise TypeError("invalid dtype object: only floating-point types are supported as the default type")
    if not d.is_floating_point:
        raise TypeError("only floating-point types are supported as the default type")
    _default = d


def of_array(np_dtype: np.dtype[Any]) -> dtype:
    """The element type of an array that holds a tensor's data, also where nothing here has asked for its foreign type
    yet: an array that came in a pickle.
    """
    found = BY_NUM.get(np_dtype.num)
    if found is None:
        found = next(d for d in ALL if d.name == np_dtype.name)
        assert found.np == np_dtype  # which also enters it into BY_NUM
    return found


def from_numpy(np_dtype: np.dtype[Any]) -> dtype:
    """The element type of a numpy array; TypeError for those that PyTorch does not take."""
    found = BY_NUM.get(np_dtype.num) if np_dtype.num < FIRST_USER_NUM else None
    if found is None or not np_dtype.isnative:
        kind = f"{np_dtype.type.__module__}.{np_dtype.name}" if np_dtype.num >= FIRST_USER_NUM else np_dtype
        raise TypeError(
            f"can't convert np.ndarray of type {kind}. The only supported types are: float64, float32, float16, "
            "complex64, complex128, int64, int32, int16, int8, uint64, uint32, uint16, uint8, and bool."
        )
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


def _join(a: dtype, b: dtype) -> dtype | None:
    """The smallest type that holds both, None where PyTorch has none."""
    if a is b:
        return a
    if a in FLOAT8 or b in FLOAT8:
        return None
    low, high = (a, b) if a.category < b.category else (b, a)
    if low.category != high.category:
        if low in BARE_UNSIGNED or high in BARE_UNSIGNED:
            return high if high.is_floating_point else None
        if high.is_complex and low.is_floating_point:
            return max(high, low.to_complex(), key=lambda d: d.itemsize)
        return high
    if a.category == 1:  # numpy's integer lattice is PyTorch's
        return None if a in BARE_UNSIGNED or b in BARE_UNSIGNED else BY_NUM[np.promote_types(a.np, b.np).num]
    if a.itemsize == b.itemsize:  # float16 and bfloat16
        return float32
    return a if a.itemsize > b.itemsize else b


PROMOTION: dict[tuple[dtype, dtype], dtype | None] = {(a, b): _join(a, b) for a in ALL for b in ALL}


def promote_types(a: dtype, b: dtype) -> dtype:
    """The smallest type that holds both, by PyTorch's lattice; RuntimeError for pairs that have none.

    >>> torch.promote_types(torch.int32, torch.float16)
    torch.float16
    """
    found = PROMOTION[a, b]
    if found is None:
        kinds = "Float8 Types" if a in FLOAT8 or b in FLOAT8 else "uint16, uint32, uint64 types"
        raise RuntimeError(f"Promotion for {kinds} is not supported, attempted to promote {a.word} and {b.word}")
    return found


def can_cast(source: dtype, target: dtype) -> bool:
    """Whether PyTorch lets a result of `source` be written into `target`."""
    return source.category <= target.category


# Of types that numpy does not know: eps, max, min, smallest normal number, resolution.
_LIMITS: dict[dtype, tuple[float, float, float, float, float]] = {
    bfloat16: (2.0**-7, (2 - 2.0**-7) * 2.0**127, -(2 - 2.0**-7) * 2.0**127, 2.0**-126, 0.01),
    float8_e5m2: (0.25, 57344.0, -57344.0, 2.0**-14, 1.0),
    float8_e4m3fn: (0.125, 448.0, -448.0, 2.0**-6, 1.0),
    float8_e5m2fnuz: (0.125, 57344.0, -57344.0, 2.0**-15, 1.0),
    float8_e4m3fnuz: (0.125, 240.0, -240.0, 2.0**-7, 1.0),
    float8_e8m0fnu: (1.0, 2.0**127, 2.0**-127, 2.0**-127, 1.0),
}


def _limits(d: dtype) -> tuple[float, float, float, float, float]:
    if d in _LIMITS:
        return _LIMITS[d]
    info = np.finfo(d.np)
    return float(info.eps), float(info.max), float(info.min), float(info.tiny), 10.0**-info.precision


class _Limits:
    def __init__(self, d: dtype) -> None:
        self.dtype = d.name
        self.bits = d.itemsize * 8


class finfo(_Limits):
    """Numerical limits of a floating type: eps, max, min, tiny, smallest_normal, resolution, bits.

    >>> torch.finfo(torch.float32).bits, torch.finfo(torch.float32).eps
    (32, 1.1920928955078125e-07)
    """

    def __init__(self, d: dtype | None = None) -> None:
        d = d or _default
        if d.category < 2:
            raise TypeError(
                "torch.finfo() requires a floating point input type. Use torch.iinfo to handle 'torch.finfo'"
            )
        super().__init__(d.to_real())
        self.eps, self.max, self.min, self.tiny, self.resolution = _limits(d.to_real())
        self.smallest_normal = self.tiny

    def __repr__(self) -> str:
        return (
            f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, eps={self.eps:g}, "
            f"smallest_normal={self.smallest_normal:g}, tiny={self.tiny:g}, dtype={self.dtype})"
        )


class iinfo(_Limits):
    """Numerical limits of an integer type: max, min, bits.

    >>> torch.iinfo(torch.int8).max
    127
    """

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

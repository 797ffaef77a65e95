# ruff: noqa: F822 - some names are put here by a loop
"""Python-level functions of `torch` that are not operators."""

from __future__ import annotations

from typing import Any

from .. import _dtype as dt
from .. import _native
from .._dispatch.namespace import fronts, public
from .._dispatch.overrides import overridable
from .._native.blas_threads import set_blas_threads
from .._shape import Size
from .._shape import broadcast_shapes as _broadcast
from .._tensor import Tensor
from .linalg import FUNCTIONS as _LINALG
from .reduction import FUNCTIONS as _REDUCTIONS
from .spectral import stft as _stft

__all__ = [
    "stft",
    "cdist",
    "chain_matmul",
    "einsum",
    "tensordot",
    "nonzero",
    "norm",
    "unique",
    "unique_consecutive",
    "broadcast_shapes",
    "can_cast",
    "compiled_with_cxx11_abi",
    "get_num_threads",
    "is_complex",
    "is_floating_point",
    "is_storage",
    "is_tensor",
    "numel",
    "set_num_threads",
    "get_num_interop_threads",
    "typename",
    "set_warn_always",
]


# Classes and modes are asked before these functions, as before operators. No operator is called unique.
unique, stft = overridable(_REDUCTIONS["unique"]), overridable(_stft)
unique.__module__ = stft.__module__ = __name__
globals().update({name: getattr(public, name) for name in (*_LINALG, *_REDUCTIONS) if name in fronts})


def is_tensor(obj: Any) -> bool:
    """Whether `obj` is a tensor.

    >>> torch.is_tensor(torch.ones(1)), torch.is_tensor([1.])
    (True, False)
    """
    return isinstance(obj, Tensor)


def is_storage(obj: Any) -> bool:
    """Whether `obj` is a storage.

    >>> torch.is_storage(torch.ones(1).untyped_storage())
    True
    """
    from .memory_methods import UntypedStorage

    return isinstance(getattr(obj, "_untyped_storage", obj), UntypedStorage)  # a typed one holds bytes


@overridable
def is_floating_point(input: Tensor) -> bool:
    """Whether the elements are floating-point numbers (complex ones are not).

    >>> torch.is_floating_point(torch.ones(1)), torch.is_floating_point(torch.tensor([1]))
    (True, False)
    """
    return input.dtype.is_floating_point


@overridable
def is_complex(input: Tensor) -> bool:
    """Whether the elements are complex numbers.

    >>> torch.is_complex(torch.tensor([1j]))
    True
    """
    return input.dtype.is_complex


@overridable
def numel(input: Tensor) -> int:
    """The count of elements.

    >>> torch.numel(torch.zeros(2, 3))
    6
    """
    return input.numel()


def can_cast(from_: dt.dtype, to: dt.dtype) -> bool:
    """Whether a result of one type may be written into another.

    >>> torch.can_cast(torch.float32, torch.int64)
    False
    """
    return dt.can_cast(from_, to)


def broadcast_shapes(*shapes: Any) -> Size:
    """The shape that the given shapes broadcast to.

    >>> torch.broadcast_shapes((3, 1), (2,))
    torch.Size([3, 2])
    """
    return Size(_broadcast(*[(s,) if isinstance(s, int) else tuple(s) for s in shapes]))


def typename(obj: Any) -> str:
    """The full name of a class or function, or of an object's type; of a tensor its legacy type, such as
    "torch.FloatTensor".

    >>> torch.typename(torch.tensor([1]))
    'torch.LongTensor'
    >>> torch.typename(dict)
    'dict'
    """
    if isinstance(obj, Tensor):
        return obj.type()
    kind = obj if hasattr(obj, "__qualname__") and getattr(obj, "__module__", None) else type(obj)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def get_num_threads() -> int:
    """How many threads work on one operation.

    At first, as many as there are processors, or what OMP_NUM_THREADS says.

    >>> torch.get_num_threads() >= 1
    True
    """
    return _native.get_num_threads()


def get_num_interop_threads() -> int:
    """How many threads run independent operations at once: always 1.

    >>> torch.get_num_interop_threads() >= 1
    True
    """
    return 1


def set_num_threads(n: int) -> None:
    """Sets how many threads work on one operation: this package's kernels and matrix products, which share one pool,
    and oneDNN. Products may round differently with another number. Until it is called, it is what OMP_NUM_THREADS,
    OPENBLAS_NUM_THREADS or MKL_NUM_THREADS say, or the processors that the process may use. numpy's BLAS, where that is
    an OpenBLAS, works on one thread; without the native kernels it gets this number.

    >>> torch.set_num_threads(torch.get_num_threads())
    """
    if n <= 0:
        raise RuntimeError("set_num_threads expects a positive integer")
    _native.set_num_threads(n)
    set_blas_threads(1 if _native.load_blas() else n)


def set_warn_always(b: bool) -> None:
    """Accepted for compatibility: warnings here follow Python's own filters.

    >>> torch.set_warn_always(False)
    """


def compiled_with_cxx11_abi() -> bool:
    """True, for programs that ask: nothing here depends on the C++ library.

    >>> torch.compiled_with_cxx11_abi()
    True
    """
    return True

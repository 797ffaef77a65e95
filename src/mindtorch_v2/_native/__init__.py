"""The native part: kernels in C for what numpy does far more slowly than PyTorch, and the core of calls and recording.

It is built by the normal install where there is a C compiler (GCC or clang, on a POSIX system) and left out where
there is none, which the first import in a process says once. `available()` tells, MINDTORCH_NATIVE=0 in the
environment switches it off (and the message with it), and everything works without it.

A native kernel stands before a numpy kernel and takes the same arguments. It does the common case (contiguous
float32 and float64) and declines everything else, errors included, which the numpy kernel then does. `OPS` says
which operators have one; helpers that several operators use carry `@accelerated(name)` where they are defined.
Results follow IEEE 754 and do not depend on how many threads there are, but for the last bits of matrix products, which
are then cut into other pieces.

The C files lie in a folder per part; they include each other's headers as "core/tensor.h".

    core/       the fields of tensors and nodes, calls of operators (binding, kernel, result, gradient, steps), the
                loop of a backward pass, modes; each with a fallback in Python (`_core`)
    recorder/   events, shapes, memory, stacks, tracing, with a fallback in Python (`_core` as well)
    kernels/    one file a family, their module (module.c), numpy arrays through the buffer protocol (arrays.c), the
                threads that share long loops (threads.c); each_type.h compiles the .inc files for float and double,
                and again for machines with AVX2 (`_kernels`)
    onednn/     the same kernels by oneDNN, where its library is installed (`_onednn`)
    messages/   communication between processes, where nothing is recorded (`_messages`)
    trace/      trace files: the reader and the writer (`_trace_reader`, `_trace_writer`)
    common/     what several of these use

A backend that has a part in C has a folder beside these, and an extension of its own.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any, TypeVar

from .sources import FOLDER, is_stale

__all__ = ["OPS", "accelerate", "accelerated", "available", "get_num_threads", "set_num_threads"]

F = TypeVar("F", bound=Callable[..., Any])

# operator -> native kernel. In-place operators are named as such ("relu_", "add_.Tensor").
OPS: dict[str, str] = {
    **{
        name: name
        for name in (
            "reciprocal",
            "rsqrt",
            "sign",
            "log1p",
            "softplus",
            "softplus_backward",
            "elu",
            "elu_backward",
            "exp",
            "relu",
            "relu_",
            "sigmoid",
            "sigmoid_",
            "silu",
            "silu_",
            "gelu",
            "threshold_backward",
            "sigmoid_backward",
            "tanh_backward",
            "silu_backward",
            "gelu_backward",
            "leaky_relu",
            "leaky_relu_backward",
            "hardtanh",
            "hardtanh_",
            "hardtanh_backward",
            "hardswish",
            "hardswish_backward",
            "_softmax",
            "_log_softmax",
            "_softmax_backward_data",
            "_log_softmax_backward_data",
            "native_layer_norm",
            "native_layer_norm_backward",
            "cumsum",
            "embedding_dense_backward",
            "copy_",
            "addcmul_",
            "addcdiv_",
            "nll_loss_forward",
            "nll_loss_backward",
        )
    },
    "add_.Tensor": "add_",
    "sub_.Tensor": "sub_",
    "lerp_.Scalar": "lerp_",
    "clamp": "hardtanh",
    "clamp_": "hardtanh_",
}

# the same for the functions of two arrays that stand for operators whose other arguments have their defaults
DIRECT: dict[str, str] = {"add.Tensor": "add", "mul.Tensor": "mul", "div.Tensor": "div"}

_kernels: Any = None
_missing = ""  # why there is no native part


class StaleBuildError(ImportError):
    """A native module was built of other C files than those beside it."""


def _fresh_module(name: str) -> Any:
    """A native module that was built of the C files beside it, if there are any. ImportError where there is none."""
    module = import_module(f"{__name__}.{name}")
    if is_stale(module.__file__ or "", getattr(module, "SOURCES", None)):
        raise StaleBuildError(
            f"{name} was built from other C files than those in {FOLDER}; rebuild it with `pip install -e .`"
        )
    return module


def _warn(error: ImportError, what: str = "its native part") -> None:
    has_sources = isinstance(error, StaleBuildError)
    reinstall = "" if has_sources else "Reinstall it where there is a C compiler to have it built; "
    warnings.warn(
        f"mindtorch_v2 runs without {what}: {error}. Results are the same, more slowly. {reinstall}"
        "MINDTORCH_NATIVE=0 uses the Python implementation without this warning.",
        stacklevel=3,
    )


if os.environ.get("MINDTORCH_NATIVE", "1") == "0":
    _missing = "off"
else:
    try:
        _kernels = _fresh_module("_kernels")
        _fresh_module("_core")  # the two go together
    except ImportError as error:
        _kernels, _missing = None, str(error)
        _warn(error)


@cache
def native_module(name: str) -> Any:
    """A further native module of this package, or None where the native part was not built, is switched off, or
    refuses this interpreter: it works in the main one only.
    """
    if _kernels is None:  # switched off, not built, or refused: then none of them is used
        return None
    try:
        return _fresh_module(name)
    except StaleBuildError as error:
        _warn(error, f"its native part {name}")
        return None
    except ImportError:
        return None


def available() -> bool:
    """Whether native kernels are in use."""
    return _kernels is not None


def accelerate(op: str, numpy_kernel: F) -> F:
    """The kernel to register for an operator: `numpy_kernel`, with the native one before it if there is one."""
    name = OPS.get(op)
    return numpy_kernel if name is None or _kernels is None else _kernels.Kernel(name, numpy_kernel)


def accelerate_direct(op: str, function: F) -> F:
    """The same for the function of an operator's arrays alone (`registry.kernel`, `direct`)."""
    name = DIRECT.get(op)
    return function if name is None or _kernels is None else _kernels.Kernel(name, function)


def accelerated(name: str) -> Callable[[F], F]:
    """Puts the native kernel `name` before a function of the same arguments."""

    def wrap(function: F) -> F:
        return function if _kernels is None else _kernels.Kernel(name, function)

    return wrap


@cache
def load_blas() -> bool:
    """Lets native kernels use the matrix products of numpy's BLAS; False where there is none that is known (see
    `blas_threads`).
    """
    if _kernels is None:
        return False
    from .blas_threads import loaded_files

    return any(_kernels.load_blas(path) for path in loaded_files())


# --- threads
def _default_threads() -> int:
    """The processors this process may use, or what the variables of other libraries ask for. OpenMP allows a list, of
    which the first is for work that is not inside other work.
    """
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        value = os.environ.get(variable, "").partition(",")[0].strip()
        if value.isdecimal() and int(value) > 0:
            return int(value)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


_threads = 1
_told: list[Callable[[int], Any]] = []


def get_num_threads() -> int:
    """How many threads work on one operation."""
    return _threads


def set_num_threads(count: int) -> None:
    """Sets how many threads work on one operation."""
    global _threads
    if _kernels is not None:
        _kernels.set_num_threads(count)
    _threads = count
    for tell in _told:
        tell(count)


def on_thread_count(tell: Callable[[int], Any]) -> None:
    """Has a function called with the number of threads whenever it is set: for libraries with threads of their own."""
    _told.append(tell)


set_num_threads(_default_threads())

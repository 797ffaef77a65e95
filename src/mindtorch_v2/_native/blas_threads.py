"""How many threads numpy's BLAS uses. numpy has no function for it, but the OpenBLAS that its wheels bring has.

The library is already loaded; it is found among the process's loaded files, or beside numpy, and asked through
ctypes. Where numpy uses another BLAS (Accelerate, MKL, a system's own build) nothing is found, and its number stays
as the environment set it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

# OpenBLAS as numpy's wheels name its functions (with 64-bit and 32-bit integers), and as others build it.
_NAMES = (
    "scipy_openblas_{}_num_threads64_",
    "scipy_openblas_{}_num_threads",
    "openblas_{}_num_threads64_",
    "openblas_{}_num_threads",
)


class _Control(NamedTuple):
    get: Callable[[], int]
    set: Callable[[int], Any]


def loaded_files() -> list[str]:
    """Shared libraries of BLAS that this process has loaded."""
    try:
        with open("/proc/self/maps") as maps:
            paths = {line.split(maxsplit=5)[5].strip() for line in maps if "blas" in line and line.count("/")}
    except OSError:  # no such file: not Linux
        import glob

        beside = os.path.dirname(np.__file__)
        paths = {
            *glob.glob(os.path.join(beside, ".dylibs", "*openblas*")),
            *glob.glob(f"{beside}.libs{os.sep}*openblas*"),
        }
    return sorted(paths)


@cache
def _control() -> _Control | None:
    import ctypes  # only who sets a number pays for it

    for path in loaded_files():
        try:
            library = ctypes.CDLL(path)  # the one that is loaded: nothing is loaded a second time
        except OSError:
            continue
        for name in _NAMES:
            getter, setter = getattr(library, name.format("get"), None), getattr(library, name.format("set"), None)
            if getter is not None and setter is not None:
                getter.restype, getter.argtypes = ctypes.c_int, []
                setter.restype, setter.argtypes = None, [ctypes.c_int]
                return _Control(getter, setter)
    return None


def set_blas_threads(count: int) -> bool:
    """Sets the number; False where the BLAS is not one that can be told."""
    control = _control()
    if control is not None:
        control.set(count)
    return control is not None


def get_blas_threads() -> int | None:
    """The number; None where the BLAS is not one that can be asked."""
    control = _control()
    return None if control is None else control.get()

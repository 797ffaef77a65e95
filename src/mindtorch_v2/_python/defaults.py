"""Settings of the process that are neither operators nor modes."""

from __future__ import annotations

import warnings
from typing import Any

from .._tensor import contiguous_format

OWN = __name__.partition(".")[0]
legacy_contiguous_format = contiguous_format


def is_warn_always_enabled() -> bool:
    """False: warnings follow Python's own filters.

    >>> torch.is_warn_always_enabled()
    False
    """
    return False


def set_flush_denormal(mode: bool) -> bool:
    """False: numbers too small to be normal are always kept; the processor's mode is not changed.

    >>> torch.set_flush_denormal(False)
    False
    """
    return False


def set_num_interop_threads(n: int) -> None:
    """Operators are not run in parallel with each other, so only 1 changes nothing; other numbers are accepted as an
    upper bound.

    >>> torch.set_num_interop_threads(1)
    """
    if n <= 0:
        raise RuntimeError("Expected positive number of threads")


def set_default_tensor_type(t: Any) -> None:
    """Sets the default dtype by the type of a tensor (`torch.DoubleTensor` or its name).

    >>> torch.set_default_tensor_type(torch.FloatTensor)
    """
    from .. import _dtype

    warnings.warn(
        "torch.set_default_tensor_type() is deprecated as of PyTorch 2.1, please use torch.set_default_dtype() and "
        "torch.set_default_device() as alternatives.",
        stacklevel=2,
    )
    if isinstance(t, str):
        from importlib import import_module

        path, _, word = t.removeprefix("torch.").rpartition(".")
        package = OWN
        module = import_module(f"{package}.{path}" if path else package)
        t = getattr(module, word)
    if getattr(t, "is_cuda", False):
        raise TypeError(f"type torch.cuda.{t.__name__} not available. Torch not compiled with CUDA enabled.")
    _dtype.set_default_dtype(t.dtype)

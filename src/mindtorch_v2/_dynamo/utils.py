"""Counters of PyTorch's compiler: nothing is compiled, so they stay empty."""

from __future__ import annotations

import functools
import warnings
from collections import Counter, defaultdict

counters: defaultdict[str, Counter[str]] = defaultdict(Counter)


def is_compile_supported(device_type: str) -> bool:
    """False: programs run eagerly on every device."""
    return False


@functools.cache
def _warn_once(message: str, stacklevel: int) -> None:
    warnings.warn(message, UserWarning, stacklevel=stacklevel + 3)


def warn_once(msg: str, stacklevel: int = 1) -> None:
    """Warns of something once in a process."""
    _warn_once(msg, stacklevel)

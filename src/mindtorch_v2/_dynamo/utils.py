"""Counters of PyTorch's compiler: nothing is compiled, so they stay empty."""

from __future__ import annotations

from collections import Counter, defaultdict

counters: defaultdict[str, Counter[str]] = defaultdict(Counter)


def is_compile_supported(device_type: str) -> bool:
    """False: programs run eagerly on every device."""
    return False

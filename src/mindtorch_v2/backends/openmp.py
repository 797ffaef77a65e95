"""OpenMP: kernels have threads of their own here."""

from __future__ import annotations


def is_available() -> bool:
    """False."""
    return False

"""NVIDIA's library for products with structured zeros: not used here."""

from __future__ import annotations


def is_available() -> bool:
    """False."""
    return False


def version() -> int | None:
    """None: there is no such library."""
    return None


def get_max_alg_id() -> int | None:
    return None

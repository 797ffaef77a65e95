"""Arm's library for products: not used here."""

from __future__ import annotations


def is_available() -> bool:
    """False."""
    return False

"""A library for convolutions on small processors: not used here."""

from __future__ import annotations


def is_available() -> bool:
    """False."""
    return False


def set_flags(_enabled: bool) -> tuple[bool]:
    """Returns the setting as it was, which is always False: there is nothing to switch on."""
    return (False,)

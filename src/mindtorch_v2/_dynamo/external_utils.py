"""What code outside of the compiler asks it."""

from __future__ import annotations

from . import is_compiling

__all__ = ["is_compiling"]

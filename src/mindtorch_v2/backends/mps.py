"""Apple's devices: not built in, not available."""

from __future__ import annotations

from .. import _absent

_refuse = _absent.Refuser(__name__, RuntimeError, "Cannot execute isOnMacOSorNewer() without MPS backend.")
is_macos_or_newer = _refuse("is_macos_or_newer")
is_macos13_or_newer = _refuse("is_macos13_or_newer")
get_name = _refuse.missing("get_name", "_mps_get_name")
get_core_count = _refuse.missing("get_core_count", "_mps_get_core_count")
__all__ = ["get_core_count", "get_name", "is_available", "is_built", "is_macos13_or_newer", "is_macos_or_newer"]


def is_built() -> bool:
    """False."""
    return False


def is_available() -> bool:
    """False."""
    return False

"""Memory of large profiles goes back to the system when they do.

glibc keeps what was freed between other blocks until it is asked.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sized
from typing import Any

_LARGE = 1 << 17  # events: below, there is too little to ask for


class TrimAtDeath:
    """Has the allocator give free memory back to the system when this object is deleted: to be deleted after a
    store.
    """

    __slots__ = ("_trim",)

    def __init__(self) -> None:
        try:
            self._trim: Any = ctypes.CDLL(None).malloc_trim
        except (OSError, TypeError, AttributeError):  # another C library
            self._trim = None

    @classmethod
    def of(cls, store: Sized) -> TrimAtDeath | None:
        """One for a large store, None for others."""
        return cls() if len(store) >= _LARGE else None

    def __del__(self) -> None:
        if self._trim is not None:
            self._trim(0)

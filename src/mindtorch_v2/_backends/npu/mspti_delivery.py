"""The buffers that the activity library fills: in Python, and in C."""

from __future__ import annotations

import ctypes
from typing import Any

from . import native
from .launcher import address_of_function

_BUFFER = 4 << 20  # the vendor asks for more than 2 MiB


_Request = ctypes.CFUNCTYPE(
    None, ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_size_t), ctypes.POINTER(ctypes.c_size_t)
)
_Complete = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t)


class _Delivery:
    """Buffers on their way, in Python. The libraries call on a thread of their own: bytes are only put aside there."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._lent: dict[int, Any] = {}
        self._callbacks = _Request(self._request), _Complete(self._complete)
        self.addresses = tuple(address_of_function(f) for f in self._callbacks)

    def _request(self, buffer: Any, size: Any, records: Any) -> None:
        made = ctypes.create_string_buffer(_BUFFER + 8)
        address = (ctypes.addressof(made) + 7) & -8
        self._lent[address] = made
        buffer[0], size[0], records[0] = address, _BUFFER, 0

    def _complete(self, buffer: Any, size: int, valid: int) -> None:
        if valid:
            self._pieces.append(ctypes.string_at(buffer, valid))
        self._lent.pop(buffer, None)

    def take(self) -> list[bytes]:
        """What arrived since the last time."""
        count = len(self._pieces)
        found, self._pieces[:count] = self._pieces[:count], []
        return found


class _NativeDelivery:
    """The same in C, where nothing waits for the interpreter."""

    def __init__(self) -> None:
        self.addresses = native.launcher.callbacks()
        self.take = native.launcher.take_pieces
        self.take()  # what came late for an earlier watch
        native.launcher.take_launches()

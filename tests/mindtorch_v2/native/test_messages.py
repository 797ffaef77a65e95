"""The part of all_reduce in C, over functions that stand for MPI's."""

from __future__ import annotations

import ctypes
import struct
from typing import Any

import numpy as np
import pytest

from mindtorch_v2._native import native_module
from mindtorch_v2.distributed import _status

messages = native_module("_messages")
pytestmark = pytest.mark.skipif(messages is None, reason="the native part is not built")

_BEGIN = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 2, ctypes.c_int, *[ctypes.c_size_t] * 3, ctypes.c_void_p)
_TEST = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.c_int), ctypes.c_void_p)
_TEXT = b"all_reduce([3]) at line 1"
_SIGNATURE, _KEY = 77, 5
_LONG_NS = 10**15  # more than any test takes


class _Mpi:
    """Functions that double what they are given, once they were asked `asks` times."""

    def __init__(self, asks: int = 1, begin_code: int = 0, test_code: int = 0) -> None:
        self.asks, self.begin_code, self.test_code = asks, begin_code, test_code
        self.asked = 0
        self.begun: list[tuple[Any, ...]] = []
        self.request = ctypes.c_void_p(0)
        self.begin, self.test = _BEGIN(self._begin), _TEST(self._test)

    def _begin(self, *arguments: Any) -> int:
        self.begun.append(arguments)
        ctypes.cast(arguments[6], ctypes.POINTER(ctypes.c_size_t))[0] = 1234
        return self.begin_code

    def _test(self, request: int, done: Any, status: int) -> int:
        assert request == ctypes.addressof(self.request)
        self.asked += 1
        if self.asked == self.asks:
            values = ctypes.cast(self.begun[-1][1], ctypes.POINTER(ctypes.c_float))
            values[0] *= 2
            self.request.value, done[0] = None, 1
        return self.test_code

    def reduction(self, own: Any, *others: Any) -> Any:
        functions = [ctypes.cast(function, ctypes.c_void_p).value for function in (self.begin, self.test)]
        handles = (ctypes.addressof(self.request), 2**64 - 1, 11, 12, 13)
        note = struct.pack("<qIii", 0, _SIGNATURE, 0, len(_TEXT)) + _TEXT
        return messages.Reduction(tuple(functions), handles, 3, ArithmeticError, note, own, others)


def _board() -> bytearray:
    return bytearray(_status._SIZE)


def _noted(board: bytearray, at: int) -> tuple[int, int, bool, str]:
    return _status._note(board, at)  # type: ignore[arg-type]


def test_a_call_hands_mpi_what_it_was_made_of_and_notes_it() -> None:
    mpi, board, values = _Mpi(asks=300), _board(), np.ones(3, np.float32)
    assert mpi.reduction(board).run(values, _KEY, 8, _LONG_NS) == messages.ENDS["DONE"]
    assert values.tolist() == [2.0, 1.0, 1.0]
    address = values.ctypes.data
    assert mpi.begun == [(2**64 - 1, address, 3, 12, 13, 11, ctypes.addressof(mpi.request))]
    offset = _status._slot_offset(_KEY)
    assert _noted(board, 0) == (_KEY, _SIGNATURE, True, _TEXT.decode())
    assert _noted(board, offset) == (_KEY, _SIGNATURE, False, _TEXT.decode())


def test_places_of_notes_are_those_of_python() -> None:
    for key in (1, 31, 32, 33, (7 << 28) + 40, (2**32 - 1 << 28) + 2**28 - 1):
        board = _board()
        _Mpi().reduction(board).run(np.ones(3, np.float32), key, 8, 0)
        assert _noted(board, _status._slot_offset(key))[:2] == (key, _SIGNATURE)


def test_what_is_not_done_in_time_goes_on_in_the_request() -> None:
    mpi, board = _Mpi(asks=1000), _board()
    reduction = mpi.reduction(board)
    assert reduction.run(np.ones(3, np.float32), _KEY, 8, 0) == messages.ENDS["PENDING"]
    assert mpi.request.value == 1234 and mpi.asked == 8
    assert not _noted(board, 0)[2]
    assert reduction.run(np.ones(3, np.float32), _KEY + 1, 8, 0) == messages.ENDS["REFUSED"]  # one after the other
    assert len(mpi.begun) == 1


def test_what_another_process_took_for_it_is_noticed() -> None:
    own, other = _board(), _board()
    head = struct.pack("<qIii", _KEY, _SIGNATURE + 1, 0, 0)
    other[_status._slot_offset(_KEY) : _status._slot_offset(_KEY) + len(head)] = head
    reduction = _Mpi().reduction(own, own, other)
    assert reduction.run(np.ones(3, np.float32), _KEY, 8, 0) == messages.ENDS["DIFFERS"]
    assert _Mpi().reduction(own, own, other).run(np.ones(3, np.float32), _KEY + 1, 8, 0) == messages.ENDS["DONE"]
    assert _Mpi().reduction(None).run(np.ones(3, np.float32), _KEY, 8, 0) == messages.ENDS["DONE"]


def test_errors_of_mpi() -> None:
    refusing = _Mpi(begin_code=9)
    assert refusing.reduction(_board()).run(np.ones(3, np.float32), _KEY, 8, 0) == messages.ENDS["REFUSED"]
    assert refusing.asked == 0
    failing = _Mpi(asks=0, test_code=15).reduction(_board())
    for _ in range(2):  # the first does not stay under way
        with pytest.raises(ArithmeticError, match="15"):
            failing.run(np.ones(3, np.float32), _KEY, 8, 0)


def test_notes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="too short"):
        _Mpi().reduction(_board(), bytearray(100))
    with pytest.raises((BufferError, TypeError)):
        _Mpi().reduction(bytes(_status._SIZE))

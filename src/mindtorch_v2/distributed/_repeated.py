"""`all_reduce` that a line of a program asks for again, of a tensor of the same shape and type.

What such calls have in common is prepared once; they write the same notes and compare them as all communication does,
so that it does not matter which process of a group calls it for the first time. With the native part that is done in C,
by MPI's own functions. Where something is recorded, where others hold a Work, or where the tensor's own memory is
nothing that MPI can add up, the general way (`_calls.run`) is taken.
"""

from __future__ import annotations

import ctypes
from functools import cache
from types import FrameType
from typing import Any

import numpy as np

from .. import _observer
from .._keys import CPU
from .._native import native_module
from .._tensor import Tensor, bump_version, strided
from . import _calls, _status
from . import work as work_module
from ._buffers import Buffer
from ._mpi import mpi
from .process_groups import GroupMember, ProcessGroup
from .reduce_op import divisor, mpi_operation
from .work import Work, first_asks, patience_s, spin

_MOST = 4096  # calls that are kept prepared
_LARGEST = 2**31 - 1  # the most elements that MPI counts
_native: Any = native_module("_messages")
_ENDS: dict[str, int] = {} if _native is None else _native.ENDS
_DONE, _REFUSED = (_ENDS.get(name) for name in ("DONE", "REFUSED"))


@cache
def _functions() -> tuple[int, int]:
    """Where MPI's functions are in memory: the one that begins, and the one that asks."""
    library = ctypes.CDLL(mpi().__file__)  # finds them in the library that mpi4py is linked with
    begin, test = (
        ctypes.cast(function, ctypes.c_void_p).value or 0 for function in (library.MPI_Iallreduce, library.MPI_Test)
    )
    return begin, test


def _timeout(group: ProcessGroup) -> float:
    return group.timeout.total_seconds()


class _Prepared:
    """What calls have in common."""

    __slots__ = (
        "code",
        "group",
        "op",
        "operation",
        "in_place",
        "divisor",
        "note",
        "request",
        "native",
        "asks",
        "patience_ns",
    )

    def __init__(self, frame: FrameType, group: ProcessGroup, op: Any, tensor: Tensor, kind: str) -> None:
        self.code = frame.f_code  # kept alive: it is known by its address
        self.group, self.op = group, op
        self.operation, self.in_place = mpi_operation(op, mpi(), kind), mpi().IN_PLACE
        self.divisor = divisor(op, group)
        text = _calls.described("all_reduce", [tensor])
        self.note = _status.Note(text, frame.f_code.co_filename, frame.f_lineno, group.id, group.in_words)
        nbytes = tensor._array.nbytes
        self.asks, self.patience_ns = first_asks(nbytes), int(1e9 * min(patience_s(nbytes), _timeout(group)))
        self.request: Any = None  # of the calls that C makes, one after the other
        self.native = self._native(tensor._array)

    def _native(self, array: np.ndarray) -> Any:
        """The call in C; None where it cannot be made."""
        if _native is None or array.size > _LARGEST:
            return None
        module = mpi()
        self.request = module.Request()
        values = (
            module._addressof(self.request),
            int(self.in_place),
            self.group.comm.handle,
            module.Datatype.fromcode(array.dtype.char).handle,
            self.operation.handle,
        )
        note, own, others = self.note.parts()
        return _native.Reduction(_functions(), values, array.size, module.Exception, note, own, others)


_prepared: dict[tuple[Any, ...], _Prepared] = {}


def _prepare(key: tuple[Any, ...], frame: FrameType, group: Any, op: Any, tensor: Tensor) -> _Prepared | None:
    """Prepares for calls like this one; None where they go the general way."""
    array = tensor._array
    if (
        not isinstance(group, ProcessGroup)
        or _status.is_own(frame.f_code.co_filename)
        or array.dtype.kind not in "iufc"
    ):
        return None
    if Buffer(tensor, arithmetic=True).array is not array or group.engine_for([tensor]) is not None:
        return None
    if len(_prepared) >= _MOST:
        _prepared.clear()
    _prepared[key] = made = _Prepared(frame, group, op, tensor, array.dtype.kind)
    return made


def all_reduce(tensor: Any, op: Any, group: Any, frame: FrameType) -> bool:
    """Runs it, for the line of the program that `frame` executes. False where nothing was done: the general way does
    it, or says what is wrong."""
    if _observer.active is not None or _calls.gathered is not None or work_module._dropped:
        return False
    if not isinstance(tensor, Tensor) or tensor.layout is not strided or not tensor._keys & CPU:
        return False
    if not tensor.is_contiguous():
        return False
    found, array = GroupMember.WORLD if group is None else group, tensor._array
    key = (id(frame.f_code), frame.f_lasti, array.shape, tensor.dtype)
    known: _Prepared | None = _prepared.get(key)
    if known is None or known.group is not found or known.op is not op:
        known = _prepare(key, frame, found, op, tensor)
        if known is None:
            return False
    if known.native is not None:
        return _run_native(known, key, tensor)
    note_key = known.note.begin()
    seq = known.group.next_seq()
    try:
        request = known.group.comm.Iallreduce(known.in_place, array, known.operation)
    except (TypeError, ValueError, RuntimeError):  # refused: the general way says why
        _take_back(known, note_key, seq)
        return False
    if not _is_done(request, known, note_key, tensor) or not known.note.agrees(note_key):
        work = _work(request, known, note_key, tensor)
        return work._wait(work._timeout)
    _finish(known, tensor)
    known.note.finish()
    return True


def _take_back(known: _Prepared, note_key: int, seq: int) -> None:
    _status.withdraw(known.note.entry(note_key))
    known.group.take_back(seq)


def _finish(known: _Prepared, tensor: Tensor) -> None:
    if known.divisor != 1:
        np.divide(tensor._array, known.divisor, out=tensor._array)
    bump_version(tensor)


def _run_native(known: _Prepared, key: Any, tensor: Tensor) -> bool:
    """The same in C."""
    note_key, seq = known.note.next_key(), known.group.next_seq()
    try:
        ended = known.native.run(tensor._array, note_key, known.asks, known.patience_ns)
        if ended == _DONE:
            _finish(known, tensor)
            return True
        if ended == _REFUSED:
            _take_back(known, note_key, seq)
            return False
    except BaseException as error:  # of MPI, or an interrupt: the Work keeps the tensor until MPI has ended
        _prepared.pop(key, None)
        work = _work(known.request, known, note_key, tensor)
        if isinstance(error, mpi().Exception):
            raise work._failed(error) from error
        raise
    _prepared.pop(key, None)  # its request goes on
    work = _work(known.request, known, note_key, tensor)
    return work._wait(work._timeout)


def _is_done(request: Any, known: _Prepared, note_key: int, tensor: Tensor) -> bool:
    """Asks for a short while."""
    try:
        return spin(request.Test, None, tensor._array.nbytes, _timeout(known.group))
    except Exception as error:
        raise _work(request, known, note_key, tensor)._failed(error) from error
    except BaseException:  # an interrupt: the Work keeps the tensor until MPI has ended
        _work(request, known, note_key, tensor)
        raise


def _work(request: Any, known: _Prepared, note_key: int, tensor: Tensor) -> Work:
    """What the general way would have made: it waits, notices what goes wrong and names it."""

    def finish() -> None:
        Buffer(tensor, arithmetic=True).finish(known.divisor)

    return Work([request], finish, [tensor], known.note.entry(note_key), _timeout(known.group))

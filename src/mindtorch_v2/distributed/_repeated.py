"""`all_reduce` that a line of a program asks for again, of a tensor of the same shape and type.

What such calls have in common is prepared once; they write the same notes and compare them as all communication does,
so that it does not matter which process of a group calls it for the first time. Where something is recorded, where
others hold a Work, or where the tensor's own memory is nothing that MPI can add up, the general way (`_calls.run`) is
taken.
"""

from __future__ import annotations

from types import FrameType
from typing import Any

import numpy as np

from .. import _observer
from .._tensor import Tensor, bump_version, strided
from . import _calls, _status
from . import work as work_module
from ._buffers import Buffer
from ._mpi import mpi
from .process_groups import GroupMember, ProcessGroup
from .reduce_op import divisor, mpi_operation
from .work import Work, spin

_MOST = 4096  # calls that are kept prepared


class _Prepared:
    """What calls have in common."""

    __slots__ = ("code", "group", "op", "operation", "in_place", "divisor", "note")

    def __init__(self, frame: FrameType, group: ProcessGroup, op: Any, tensor: Tensor, kind: str) -> None:
        self.code = frame.f_code  # kept alive: it is known by its address
        self.group, self.op = group, op
        self.operation, self.in_place = mpi_operation(op, mpi(), kind), mpi().IN_PLACE
        self.divisor = divisor(op, group)
        text = _calls.described("all_reduce", [tensor])
        self.note = _status.Note(text, frame.f_code.co_filename, frame.f_lineno, group.number, group.in_words)


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
    if not isinstance(tensor, Tensor) or tensor.layout is not strided or tensor.device.type != "cpu":
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
    number = known.note.begin()
    seq = known.group.next_seq()
    try:
        request = known.group.comm.Iallreduce(known.in_place, array, known.operation)
    except (TypeError, ValueError, RuntimeError):  # refused: the general way says why
        _status.withdraw(known.note.entry(number))
        known.group.take_back(seq)
        return False
    if not _is_done(request, known, number, tensor) or not known.note.agrees(number):
        work = _work(request, known, number, tensor)
        return work._wait(work._timeout)
    if known.divisor != 1:
        np.divide(array, known.divisor, out=array)
    bump_version(tensor)
    known.note.finish()
    return True


def _is_done(request: Any, known: _Prepared, number: int, tensor: Tensor) -> bool:
    """Asks for a short while."""
    try:
        return spin(request.Test, None)
    except Exception as error:
        raise _work(request, known, number, tensor)._failed(error) from error
    except BaseException:  # an interrupt: the Work keeps the tensor until MPI has ended
        _work(request, known, number, tensor)
        raise


def _work(request: Any, known: _Prepared, number: int, tensor: Tensor) -> Work:
    """What the general way would have made: it waits, notices what goes wrong and names it."""

    def finish() -> None:
        Buffer(tensor, arithmetic=True).finish(known.divisor)

    return Work([request], finish, [tensor], known.note.entry(number), known.group.timeout.total_seconds())

"""Communication under way."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from datetime import timedelta
from functools import cache
from typing import Any

from .._tensor import Tensor
from ..futures import Future
from . import _events, _status
from ._mpi import rank_from_environment

_FIRST = 100  # how often completion is asked for before giving way to others, where each process has a core
_BYTES_PER_ASK = 1024  # of an exchange that goes on in one question, about
_ASKS = 8  # questions after others were given way
_SHORTEST, _LONGEST = 2e-5, 1e-3
_LAZY = 0.05  # seconds of waiting from which on pauses grow: MPI goes on only when it is asked
_PATIENCE, _PATIENCE_PER_BYTE, _MOST_PATIENCE = 2e-3, 4e-9, 0.5  # seconds of asking before the thread sleeps
_LOOK, _GRACE = 0.5, 2.0  # seconds: how often a waiting process looks whether the others live, and what it grants them


class DistError(RuntimeError):
    """Processes could not communicate."""


class DistBackendError(DistError):
    """MPI failed, or other processes did not take part in time."""


class DistNetworkError(DistError):
    """A process cannot be reached."""


class DistStoreError(DistError):
    """A store did not answer."""


_dropped: list[Work] = []  # what nobody waits for any more, but MPI still reads or writes


def sweep() -> None:
    """Lets go of what nobody waited for and has ended since."""
    found, _dropped[:] = _dropped[:], []
    try:
        while found:
            work = found.pop()
            if not work._advance():
                _dropped.append(work)
    finally:
        _dropped.extend(found)


@cache
def _has_core() -> bool:
    """Whether there is a core for each process of this machine."""
    info = rank_from_environment()
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return info is None or info.local_size <= cores


def first_asks(nbytes: int) -> int:
    """How often to ask before giving way, in an exchange of so many bytes: where processes share cores, another one may
    have to go on first."""
    return _FIRST + nbytes // _BYTES_PER_ASK if _has_core() else _ASKS


def patience_s(nbytes: int) -> float:
    """Seconds in which an exchange of so many bytes has mostly ended."""
    return min(_PATIENCE + _PATIENCE_PER_BYTE * nbytes, _MOST_PATIENCE)


def spin(test: Callable[[Any], bool], received: Any, nbytes: int, limit: float) -> bool:
    """Asks again and again whether a request of MPI is done, giving way to others in between, for as long as an
    exchange of so many bytes mostly takes, `limit` seconds at most. Whether it is. `received` is the MPI.Status to
    fill, if any."""
    for _ in range(first_asks(nbytes)):
        if test(received):
            return True
    give_way, end = os.sched_yield, time.monotonic() + min(limit, patience_s(nbytes))
    while time.monotonic() < end:
        give_way()
        for _ in range(_ASKS):
            if test(received):
                return True
    return False


def nothing() -> None:
    """There is nothing to do after a communication."""


class Work:
    """One communication, of this process's part. `wait()` returns when the tensors can be used.

    `finish` is called when MPI's requests are done. It gives None, or where the communication has a further part, its
    requests and what to do when they are done.
    """

    def __init__(
        self,
        requests: list[Any],
        finish: Callable[[], Any],
        result: list[Any],
        entry: _status.Entry,
        timeout: float,
        event: _events.Event | None = None,
        received: Any = None,
    ) -> None:
        self._event = event
        self._received = received  # an MPI.Status to fill, where it is asked from whom something came
        self._requests, self._finish, self._result = requests, finish, result
        self._entry, self._timeout = entry, timeout
        self._error: BaseException | None = None
        self._done = False

    def __del__(self) -> None:
        if not self._done and self._error is None:
            _dropped.append(self)  # MPI goes on with the tensors' memory: they must live until it has ended

    def _advance(self) -> bool:
        """Lets MPI make progress; True when everything has arrived and stands in the tensors."""
        if self._done:
            return True
        try:
            while True:
                while self._requests:
                    if not self._requests[0].Test(self._received):
                        return False
                    del self._requests[0]
                wrong = _status.difference(self._entry)
                if wrong:
                    raise DistBackendError(wrong)
                following = self._finish()
                if following is None:
                    break
                self._requests, self._finish = following
        except Exception as error:  # MPI's own type of error is known only once it is loaded
            if isinstance(error, RuntimeError) and not type(error).__module__.startswith("mpi4py"):
                raise
            raise self._failed(error) from error
        self._done = True
        self._entry.finish()
        if self._event is not None:
            self._event.close()
        return True

    def _failed(self, error: Exception) -> DistBackendError:
        """What to raise for an error of MPI."""
        self._error = error
        return DistBackendError(f"{self._entry.text} failed in MPI: {error}.{_status.others(self._entry)}")

    def wait(self, timeout: timedelta | float | None = None) -> bool:
        """Waits until this process's part is done; DistBackendError, which names who is missing, when time runs out."""
        limit = _seconds(timeout) if timeout is not None else self._timeout
        if self._advance():
            return True
        event = _events.waiting()
        try:
            return self._wait(limit)
        finally:
            if event is not None:
                event.close()

    def _wait(self, limit: float) -> bool:
        """Waits so many seconds at most."""
        end, pause = time.monotonic() + limit, _SHORTEST
        if self._spin(sum(_bytes_of(tensor) for tensor in self._result), limit):
            return True
        look, lost_since, lazy = time.monotonic() + _LOOK, 0.0, time.monotonic() + _LAZY
        while not self._advance():
            now = time.monotonic()
            if now > look:
                look = now + _LOOK
                lost = _status.ended()
                lost_since = (lost_since or now) if lost else 0.0
                if lost and now > lost_since + _GRACE:  # what it sent before it ended would have arrived
                    names = ", ".join(map(str, lost))
                    raise DistBackendError(
                        f"{self._entry.text} cannot finish: the process of rank {names} has ended."
                        f"{_status.others(self._entry)}"
                    )
            if now > end:
                raise DistBackendError(
                    f"{self._entry.text} did not finish within {limit:g} s.{_status.others(self._entry)}"
                )
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST if now > lazy else _SHORTEST)
        return True

    def _spin(self, nbytes: int, limit: float) -> bool:
        """Asks for a while, without sleeping."""
        while not self._advance():
            try:
                if not spin(self._requests[0].Test, self._received, nbytes, limit):
                    return False
            except Exception as error:
                raise self._failed(error) from error
            del self._requests[0]
        return True

    def synchronize(self) -> None:
        """Waits; results on the CPU need nothing else."""
        self.wait()

    def is_completed(self) -> bool:
        """Whether the part of this process is done."""
        return self._advance()

    def is_success(self) -> bool:
        """Whether it is done and nothing failed."""
        return self._done and self._error is None

    def exception(self) -> BaseException | None:
        """What failed, if anything did."""
        return self._error

    def result(self) -> list[Any]:
        """The tensors that were written."""
        return self._result

    def source_rank(self) -> int:
        """The rank in the group that sent what was received; -1 for other communication."""
        return self._received.Get_source() if self._done and self._received is not None else -1

    def get_future(self) -> Future[list[Any]]:
        """A future of the tensors that were written; it waits when it is asked."""
        return _WorkFuture(self)


class _WorkFuture(Future[Any]):
    """The future of a Work, completed by whoever waits for it or asks."""

    def __init__(self, work: Work) -> None:
        super().__init__()
        self._work = work

    def done(self) -> bool:
        if not self._done and self._work.is_completed():
            self.set_result(self._work.result())
        return self._done

    def wait(self) -> Any:
        if not self._done:
            self._work.wait()
            self.set_result(self._work.result())
        return super().wait()

    def then(self, callback: Callable[[Future[Any]], Any]) -> Future[Any]:
        return _Then(self, callback)


class _Then(Future[Any]):
    """What a callback makes of another future, computed when it is waited for: MPI makes progress only when asked."""

    def __init__(self, before: Future[Any], callback: Callable[[Future[Any]], Any]) -> None:
        super().__init__()
        self._before, self._callback = before, callback

    def wait(self) -> Any:
        if not self._done:
            self._before.wait()
            self.set_result(self._callback(self._before))
        return super().wait()

    def done(self) -> bool:
        return self._done

    def then(self, callback: Callable[[Future[Any]], Any]) -> Future[Any]:
        return _Then(self, callback)


def _bytes_of(value: Any) -> int:
    return value._array.nbytes if isinstance(value, Tensor) else 0


def _seconds(timeout: timedelta | float) -> float:
    return timeout.total_seconds() if isinstance(timeout, timedelta) else float(timeout)

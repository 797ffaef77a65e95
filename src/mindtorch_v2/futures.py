"""`torch.futures`: a value that another thread will give."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar

T = TypeVar("T")
S = TypeVar("S")
__all__ = ["Future", "collect_all", "wait_all"]


class Future(Generic[T]):
    """A value or an error to come.

    `wait()` gives the value or raises the error; callbacks run in the thread that completes it.

    >>> future = torch.futures.Future()
    >>> future.set_result(3)
    >>> future.wait()
    3
    """

    def __init__(self, *, devices: list[Any] | None = None) -> None:
        self._lock = threading.Condition()
        self._done = False
        self._value: Any = None
        self._error: BaseException | None = None
        self._callbacks: list[Callable[[Future[T]], Any]] = []

    def done(self) -> bool:
        """Whether there is a value or an error."""
        return self._done

    def wait(self) -> T:
        """Waits for the value; raises the error if there is one instead."""
        with self._lock:
            while not self._done:
                self._lock.wait()
        if self._error is not None:
            raise self._error
        return self._value

    def value(self) -> T:
        """The value of a future that is done."""
        if not self._done:
            raise RuntimeError("value() called on a future that is not completed")
        return self.wait()

    def _complete(self, value: Any, error: BaseException | None) -> None:
        with self._lock:
            if self._done:
                raise RuntimeError(
                    "Attempting to mark a completed Future as complete again. Note that a Future can only be marked "
                    "completed once."
                )
            self._value, self._error, self._done = value, error, True
            callbacks, self._callbacks = self._callbacks, []
            self._lock.notify_all()
        for callback in callbacks:
            callback(self)

    def set_result(self, result: T) -> None:
        """Gives the value; callbacks run now. RuntimeError if there was one already."""
        self._complete(result, None)

    def set_exception(self, result: BaseException) -> None:
        """Gives an error instead, which `wait` raises."""
        if not isinstance(result, Exception):
            raise AssertionError(f"{result} is of type {type(result)}, not an Exception.")
        self._complete(None, result)

    def add_done_callback(self, callback: Callable[[Future[T]], None]) -> None:
        """Calls `callback(self)` when the future is done; at once if it is."""
        with self._lock:
            if not self._done:
                self._callbacks.append(callback)
                return
        callback(self)

    def then(self, callback: Callable[[Future[T]], S]) -> Future[S]:
        """A future of what `callback(self)` returns, which is called when this one is done."""
        made: Future[S] = Future()

        def run(done: Future[T]) -> None:
            try:
                value = callback(done)
            except Exception as error:  # noqa: BLE001 - whatever the callback raises belongs to the future's owner
                made.set_exception(error)
            else:
                made.set_result(value)

        self.add_done_callback(run)
        return made


def collect_all(futures: list[Future[Any]]) -> Future[list[Future[Any]]]:
    """A future of the list, done when all in it are.

    >>> future = torch.futures.Future()
    >>> both = torch.futures.collect_all([future, future])
    >>> future.set_result(3)
    >>> [done.value() for done in both.wait()]
    [3, 3]
    """
    made: Future[list[Future[Any]]] = Future()
    left = len(futures)
    lock = threading.Lock()

    def one_done(_: Future[Any]) -> None:
        nonlocal left
        with lock:
            left -= 1
            last = left == 0
        if last:
            made.set_result(futures)

    if not futures:
        made.set_result([])
    for future in futures:
        future.add_done_callback(one_done)
    return made


def wait_all(futures: list[Future[Any]]) -> list[Any]:
    """The values of all, in order; raises the first error.

    >>> future = torch.futures.Future()
    >>> future.set_result(3)
    >>> torch.futures.wait_all([future])
    [3]
    """
    return [future.wait() for future in collect_all(futures).wait()]

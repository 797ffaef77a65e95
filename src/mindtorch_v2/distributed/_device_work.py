"""Communication that runs in a stream of a device."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from . import _events, _status
from .work import DistBackendError, Work, _seconds

_PAUSE = 2e-4  # seconds between looks at a device, for who waits with a timeout


class DeviceWork(Work):
    """A communication in a stream of a device. `wait()` makes the calling thread's current stream wait for it, not the
    host; with a timeout, and for a barrier (`blocks`), the host waits too.

    `end` is the end of it in its stream: `wait()`, `synchronize()`, `is_done()`. An error of the device is a
    RuntimeError at whatever waits for the device next.
    """

    def __init__(self, end: Any, result: list[Any], entry: _status.Entry, timeout: float, blocks: bool) -> None:
        super().__init__([], lambda: None, result, entry, timeout)
        self._end, self._blocks = end, blocks

    def __del__(self) -> None:
        """The device's allocator keeps memory as long as its streams need it."""

    def _asked(self, question: Callable[[], Any]) -> Any:
        try:
            return question()
        except RuntimeError as error:
            self._error = error
            raise DistBackendError(f"{self._entry.text} failed: {error}.{_status.others(self._entry)}") from error

    def _advance(self) -> bool:
        if not self._done and self._asked(self._end.is_done):
            self._done = True
            self._entry.finish()
            wrong = _status.difference(self._entry)
            if wrong:
                raise DistBackendError(wrong)
        return self._done

    def wait(self, timeout: timedelta | float | None = None) -> bool:
        """The current stream waits; the host as well for a barrier or with a timeout (DistBackendError after it)."""
        if timeout is None and not self._blocks:
            self._asked(self._end.wait)
            return True
        event = _events.waiting()
        try:
            if timeout is None:
                self._asked(self._end.synchronize)
                return self._advance()
            return self._wait(_seconds(timeout))
        finally:
            if event is not None:
                event.close()

    def _wait(self, limit: float) -> bool:
        end = time.monotonic() + limit
        while not self._advance():
            if time.monotonic() > end:
                raise DistBackendError(
                    f"{self._entry.text} did not finish within {limit:g} s.{_status.others(self._entry)}"
                )
            time.sleep(_PAUSE)
        self._asked(self._end.wait)
        return True

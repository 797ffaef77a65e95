"""A callback on every other thread: on those that run already when Python calls begin to be traced, and on those
that start later.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any

from ..._storage import native as _native


class ThreadHook:
    """Calls `callback` once on each other thread, when that next calls a function or returns from one: on threads
    that run already (where the native part was built), and, after `watch_new_threads(True)`, on those that start
    later. Threads that `threading` did not start are left alone.
    """

    def __init__(self, callback: Callable[[], object]) -> None:
        self._callback = callback
        self._watches = False
        self._previous: Any = None

    def start(self) -> None:
        """Has the callback called on the threads that run already; may be called again."""
        if _native is not None:
            here = threading.get_ident()
            idents = [
                t.ident
                for t in threading.enumerate()  # None: it is about to start
                if t.ident not in (None, here) and not isinstance(t, threading._DummyThread)
            ]
            _native.meet_threads(idents, self._callback)

    def watch_new_threads(self, on: bool) -> None:
        """Whether the callback is called on threads that start from now on."""
        if on and not self._watches:
            if threading.getprofile() != self._begin:  # an interrupt may have come before this was noted
                self._previous = threading.getprofile()
            threading.setprofile(self._begin)
        elif not on and threading.getprofile() == self._begin:
            threading.setprofile(self._previous)
        self._watches = on

    def stop(self) -> None:
        self.watch_new_threads(False)
        if _native is not None:
            _native.meet_threads([], None)

    def _begin(self, frame: Any, event: str, arg: Any) -> None:
        """The profile function of a new thread, until its first event."""
        sys.setprofile(self._previous)
        if self._watches:
            self._callback()
        if self._previous is not None:
            self._previous(frame, event, arg)

"""Threads that run already when Python calls begin to be traced, and those that start later."""
from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any

from ..._storage import native as _native


class Meeting:
    """Calls `meet` once on other threads, when they next call a function or return from one: on those that run already (where the
    native part was built), and, with `newcomers`, on those that start later. Threads that `threading` did not start are left alone."""

    def __init__(self, meet: Callable[[], object]) -> None:
        self._meet = meet
        self._newcomers = False
        self._previous: Any = None

    def start(self) -> None:
        """Meets the threads that run already; may be called again."""
        if _native is not None:
            here = threading.get_ident()
            idents = [t.ident for t in threading.enumerate()       # None: it is about to start
                      if t.ident not in (None, here) and not isinstance(t, threading._DummyThread)]
            _native.meet_threads(idents, self._meet)

    def expect(self, newcomers: bool) -> None:
        """Whether threads that start from now on are met."""
        if newcomers and not self._newcomers:
            if threading.getprofile() != self._begin:       # an interrupt may have come before this was noted
                self._previous = threading.getprofile()
            threading.setprofile(self._begin)
        elif not newcomers and threading.getprofile() == self._begin:
            threading.setprofile(self._previous)
        self._newcomers = newcomers

    def stop(self) -> None:
        self.expect(False)
        if _native is not None:
            _native.meet_threads([], None)

    def _begin(self, frame: Any, event: str, arg: Any) -> None:
        """The profile function of a new thread, until its first event."""
        sys.setprofile(self._previous)
        if self._newcomers:
            self._meet()
        if self._previous is not None:
            self._previous(frame, event, arg)

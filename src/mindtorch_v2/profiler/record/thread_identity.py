"""Small ids for threads, in the order in which they first ask."""

from __future__ import annotations

import itertools
import threading

from .descriptions import ThreadInfo

_thread_ids = itertools.count(1)
id_of_ident: dict[int, int] = {}  # Python's identifier of a thread -> its id


class _Identity(threading.local):
    """Who the calling thread is; found out when it first asks, so ids follow the order of first use. Where an
    interrupt comes meanwhile the next question begins anew.
    """

    _info: ThreadInfo | None = None

    @property
    def info(self) -> ThreadInfo:
        found = self._info
        if found is None:
            found = ThreadInfo(next(_thread_ids), threading.get_native_id(), threading.current_thread().name)
            id_of_ident[threading.get_ident()] = found.id
            self._info = found
        return found


identity = _Identity()

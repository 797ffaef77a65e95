"""The last segments on disk, for processes that are killed: each is a profile of its own, and the folder is one as
well."""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections import deque

from ..store import storefile
from ..store.segment_folder import SEGMENTS_SUFFIX
from .segments import Segment, store_of


class SegmentFolder:
    """A folder of segments as files, the oldest of which are removed. Writing takes at most `share` of the time: where
    it would take more, segments are left out. None of the methods raises an OSError: the last one is kept in
    `error`."""

    def __init__(self, path: str, span_ns: int, share: float = 0.005) -> None:
        self.path, self.span_ns, self.share = path, span_ns, share
        self.error: OSError | None = None
        self.written = 0
        self._files: deque[tuple[str, int]] = deque()  # (path, when its recording ended)
        self._not_before = 0

    def create(self) -> None:
        """Makes the folder, empty: what an earlier process of the same id left is removed."""
        try:
            shutil.rmtree(self.path, ignore_errors=True)
            os.makedirs(self.path, mode=0o700)
        except OSError as error:
            self.error = error

    def write(self, segment: Segment, ends: list[tuple[int, int]]) -> None:
        """Writes a segment, unless the time for that is used up."""
        begun, used = time.monotonic_ns(), time.thread_time_ns()
        if self.error is not None or begun < self._not_before or not segment.events:
            return
        path = os.path.join(self.path, f"{self.written:06}.mindprof")
        try:
            storefile.save(store_of([segment], 0, ends), path, sync=False)
        except OSError as error:  # a full disk: what is there stays
            self.error = error
            return
        self.written += 1
        self._files.append((path, segment.stop_ns))
        self._not_before = begun + int((time.thread_time_ns() - used) / self.share)
        self._remove_old(segment.stop_ns - self.span_ns)

    def _remove_old(self, before_ns: int) -> None:
        while len(self._files) > 1 and self._files[0][1] < before_ns:
            with contextlib.suppress(OSError):
                os.remove(self._files.popleft()[0])

    def remove(self) -> None:
        """Nobody needs it any more: the process ends in good order."""
        shutil.rmtree(self.path, ignore_errors=True)


def folder_of(directory: str, pid: int) -> str:
    """Where the segments of a process are."""
    return os.path.join(directory, f"flight-{pid}{SEGMENTS_SUFFIX}")

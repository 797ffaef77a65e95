"""Device times: of kernels from activity records (MSPTI) where the libraries give them, else from timing events; of
copies from timing events always.

Every launch gets an id, whichever thread it comes from. It is pushed as an external correlation id around the
launch, so that records can be traced back to it. Device clocks are aligned with the host's by small kernels whose
launch and end the host brackets.
"""

from __future__ import annotations

import itertools
import json
import threading
from typing import Any, Protocol

from ..device_work import KERNEL, NOTHING, Result
from . import clocks, mspti, native, timeline
from .allocator import _allocators
from .events import EventTimes
from .runtime import NPUError, before_close, connect, runtime
from .streams import Stream


class Host(Protocol):
    """The profiler, as far as this module needs it."""

    def now(self) -> int:
        """Nanoseconds on the profiler's clock."""

    def open(self, name: str, launch_id: int) -> Any:
        """Opens the event of a runtime call that launches under this id."""

    def close(self, handle: Any) -> None:
        """Closes it."""

    # what `open` and `now` go to, for the launcher in C to use directly where it is a native one; None for nothing
    recorder: Any


class Watch:
    """Watches all launches of the process while at least one profile runs."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self.users = 0
        self._next_id = itertools.count(1).__next__ if native.launcher is None else native.launcher.take_id
        self._native = False
        self._open = threading.local()
        self._source: Any = None
        self._began: dict[int, int] = {}  # id -> the host's time at the beginning of that window
        self._lock = threading.RLock()

    # --- around launches
    def watch_natively(self) -> bool:
        """Hands the work over to the launcher in C, where it and the recorder can do it."""
        self._native = self._source.watch_natively()
        return self._native

    def begin(self, name: str, stream: Stream) -> None:
        source = self._source
        if source is None or getattr(source, "is_own", False):
            self._open.source = None
            return
        launch_id = self._next_id()
        self._open.source, self._open.row = source, self.host.open(name, launch_id)
        source.begin(launch_id, name, stream)

    def end(self, name: str, stream: Stream) -> None:
        source = self._open.source
        if source is not None:
            source.end(stream)
            self.host.close(self._open.row)

    def begin_timed(self, name: str, stream: Stream) -> None:
        """The call `name` is about to put a copy or a communication into a stream, which events will time."""
        source = self._open.source = self._source
        if source is None:
            return
        self._open.first = source.marks.mark(stream)
        if self._native:
            self._open.launch_id = native.launcher.watch_begin()
        else:
            self._open.launch_id = self._next_id()
            self._open.row = self.host.open(name, self._open.launch_id)

    def end_timed(self, name: str, stream: Stream, title: str, nbytes: int, kind: int = KERNEL) -> None:
        """It did. `title` is what the device's work is called, `kind` what it is."""
        source, launch_id = self._open.source, getattr(self._open, "launch_id", 0)
        if source is None:
            return
        if self._native:
            native.launcher.watch_end(name, stream.device_index, stream.stream_id)
        else:
            self.host.close(self._open.row)
        if launch_id:
            source.marks.add(launch_id, kind, title, stream, nbytes, self._open.first, source.marks.mark(stream))

    # --- windows
    def start(self) -> int:
        """Begins a window; its launches have at least the id that is given back."""
        with self._lock:
            if not self.users:
                found = mspti.start(self.host)
                self._source = EventTimes(self.host, found.reason) if isinstance(found, mspti.Refused) else found
                timeline.activate(self)
                try:
                    self._source.anchor()
                except BaseException:
                    self._leave()
                    raise
            self.users += 1
            first = self._next_id()
            self._began[first] = self.host.now()
        return first

    def stop(self, first: int) -> Result:
        """Ends the window that `start` gave this id: waits for the devices and collects what they did in it."""
        with self._lock:
            source = self._source
            if source is None:  # the process is ending
                return Result(NOTHING, {"source": "none", "error": "the process was ending"}, "[]")
            last, ended = self._next_id(), self.host.now()
            began = self._began.pop(first, ended)
            self.users -= 1
            work = NOTHING
            try:
                source.anchor()
                if not self.users:
                    timeline.activate(None)
                work, notes = source.collect(first, last, began, ended)
            except NPUError as error:  # a device that has failed: the host's events are still worth having
                notes = {"source": "none", "error": str(error).splitlines()[0]}
            finally:
                if not self.users:
                    self._leave()
        notes["simulated"] = runtime().simulated
        return Result(work, notes, device_properties())

    def close(self) -> None:
        """The process ends while profiles run: nobody asks any more what the devices did."""
        with self._lock:
            if self._source is not None:
                self.users = 0
                self._leave()

    def _leave(self) -> None:
        """Watches no longer."""
        timeline.activate(None)
        source, self._source = self._source, None
        source.close()


def device_properties() -> str:
    """The devices in use, as the head of a trace lists them."""
    rt = runtime()
    name = (rt.aclrtGetSocName() or b"Ascend").decode() + (" (simulated)" if rt.simulated else "")
    return json.dumps(
        [{"id": i, "name": name, "totalGlobalMem": a.device_memory()[1]} for i, a in sorted(_allocators.items())]
    )


_watch: Watch | None = None


def watch(host: Host) -> Watch | None:
    """The process's watch; None where there is no device."""
    global _watch
    if connect() is None:
        return None
    if _watch is None:
        _watch = Watch(host)
        before_close.append(_watch.close)
    return _watch


def describe_source() -> str:
    """Where device times would come from, for a report: the source, its alignment and what a launch under it costs."""

    class Quiet:
        now = staticmethod(clocks.monotonic)
        recorder = None

        def open(self, name: str, launch_id: int) -> None:
            return None

        def close(self, handle: Any) -> None:
            return None

    from ..._dispatch import aten

    x = aten.ones([16], device="npu")
    probe = Watch(Quiet())
    first = probe.start()
    began = clocks.monotonic()
    for _ in range(50):
        x + x  # noqa: B018 - only its launch matters
    took = clocks.monotonic() - began
    result = probe.stop(first)
    ids = result.work.launch_id
    return (
        f"{result.notes}; {len(ids)} records of 50 launches, {(ids >= 0).sum()} linked; {took / 50e3:.1f} us "
        "per launch while watched"
    )

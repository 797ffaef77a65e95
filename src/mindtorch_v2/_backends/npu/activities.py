"""Device times of kernels and copies: from activity records (MSPTI) where the libraries give them, else from timing events.

Every launch gets a number. It is pushed as an external correlation id around the launch, so that records can be traced back
to it. Device clocks are aligned with the host's by small kernels whose launch and end the host brackets.
"""
from __future__ import annotations

import itertools
import json
import threading
from typing import Any, NamedTuple, Protocol

from ..device_work import NOTHING, Work
from . import clocks, mspti, native, timeline
from .allocator import _allocators
from .events import EventTimes
from .runtime import NPUError, connect, runtime
from .streams import Stream


class Host(Protocol):
    """The profiler, as far as this module needs it."""

    def now(self) -> int:
        """Nanoseconds on the profiler's clock."""

    def open(self, name: str, number: int) -> Any:
        """Opens the event of a runtime call that launches under this number."""

    def close(self, handle: Any) -> None:
        """Closes it."""

    recorder: Any     # what `open` and `now` go to, for the launcher in C to use directly where it is a native one; None for nothing


class Result(NamedTuple):
    """What happened on the devices, and how far its times can be trusted."""

    work: Work
    notes: dict[str, Any]        # source of the times, bound of their error
    properties: str              # JSON: a list of devices


class Watch:
    """Watches all launches of the process while at least one profile runs."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self.users = 0
        self._number = itertools.count(1).__next__ if native.launcher is None else native.launcher.take_number
        self._native = False
        self._open = threading.local()
        self._source: Any = None
        self._lock = threading.RLock()

    # --- around launches --------------------------------------------------------------------------------------------------
    def watch_natively(self) -> bool:
        """Hands the work over to the launcher in C, where it and the recorder can do it."""
        self._native = self._source.watch_natively()
        return self._native

    def begin(self, name: str, stream: Stream) -> None:
        if self._native:
            native.launcher.watch_begin()
            return
        number = self._number()
        self._open.last = self.host.open(name, number)
        self._source.begin(number, name, stream)

    def end(self, name: str, stream: Stream) -> None:
        if self._native:
            native.launcher.watch_end(name, stream.device_index, stream.stream_id)
            return
        self._source.end(stream)
        self.host.close(self._open.last)

    # --- windows ----------------------------------------------------------------------------------------------------------
    def start(self) -> int:
        """Begins a window; its launches have at least the number that is given back."""
        with self._lock:
            if not self.users:
                self._source = mspti.start(self.host) or EventTimes(self.host)
                self._source.anchor()
                timeline.activate(self)
            self.users += 1
        return self._number()

    def stop(self, first: int) -> Result:
        """Ends the window that `start` gave this number: waits for the devices and collects what they did in it."""
        with self._lock:
            last = self._number()
            source = self._source
            self.users -= 1
            if not self.users:
                timeline.activate(None)
            work = NOTHING
            try:
                source.anchor()
                work, notes = source.collect(first, last)
            except NPUError as error:      # a device that has failed: the host's events are still worth having
                notes = {"source": "none", "error": str(error).splitlines()[0]}
            if not self.users:
                source.close()
                self._source = None
        notes["simulated"] = runtime().simulated
        return Result(work, notes, device_properties())


def device_properties() -> str:
    """The devices in use, as the head of a trace lists them."""
    rt = runtime()
    name = (rt.aclrtGetSocName() or b"Ascend").decode() + (" (simulated)" if rt.simulated else "")
    return json.dumps([{"id": i, "name": name, "totalGlobalMem": a.device_memory()[1]} for i, a in sorted(_allocators.items())])


_watch: Watch | None = None


def watch(host: Host) -> Watch | None:
    """The process's watch; None where there is no device."""
    global _watch
    if connect() is None:
        return None
    if _watch is None:
        _watch = Watch(host)
    return _watch


def describe_source() -> str:
    """Where device times would come from, for a report: the source, its alignment and what a launch under it costs."""
    class Quiet:
        now = staticmethod(clocks.monotonic)
        recorder = None

        def open(self, name: str, number: int) -> None:
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
    numbers = result.work.number
    return (f"{result.notes}; {len(numbers)} records of 50 launches, {(numbers >= 0).sum()} linked; {took / 50e3:.1f} us per launch "
            "while watched")


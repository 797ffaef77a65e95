"""Device times without activity records: a pair of timing events around every launch.

Times are those of the stream reaching the marks. They include what the device needs to get from one task to the next.
"""
from __future__ import annotations

import ctypes
import threading
from typing import Any

import numpy as np

from ..device_work import KERNEL, MEMCPY, MEMSET, Work
from . import abi, streams
from .clocks import Alignment, Pair
from .runtime import bind, runtime
from .streams import Stream

_ANCHORS = 8
_KINDS = {"aclrtMemcpyAsync": (MEMCPY, "MEMCPY"), "aclrtMemsetAsync": (MEMSET, "MEMSET")}


class EventTimes:
    """The events of one time of watching. Events are kept for reuse: making one is slow."""

    def __init__(self, host: Any) -> None:
        self._host = host
        self._free: dict[int, list[int]] = {}                       # device -> events
        self._pairs: list[tuple[int, str, int, int, int, int]] = [] # number, name, device, stream, first event, last event
        self._pending: dict[Any, tuple[int, str, int]] = {}
        self._bases: dict[int, int] = {}                            # device -> the event that all times are counted from
        self._anchors: dict[int, list[list[tuple[int, int, int]]]] = {}

    def _event(self, index: int) -> int:
        free = self._free.get(index)
        return free.pop() if free else streams.new_event(abi.EVENT_TIME_LINE)

    def _record(self, stream: Stream) -> int:
        event = self._event(stream.device_index)
        rt = runtime()
        rt.check(rt.aclrtRecordEvent(event, stream.handle), "recording an event")
        return event

    def watch_natively(self) -> bool:
        return False

    def begin(self, number: int, name: str, stream: Stream) -> None:
        if stream.device_index not in self._bases:
            self._anchor(stream.device_index)
        self._pending[threading.get_ident()] = number, name, self._record(stream)

    def end(self, stream: Stream) -> None:
        number, name, first = self._pending.pop(threading.get_ident())
        self._pairs.append((number, name, stream.device_index, stream.stream_id, first, self._record(stream)))

    def anchor(self) -> None:
        for index in [*self._bases] or [streams.current_index()]:
            self._anchor(index)

    def _anchor(self, index: int) -> None:
        """Brackets a few recordings."""
        bind(index)
        stream = streams.default_stream(index)
        if index not in self._bases:
            self._bases[index] = self._record(stream)
            stream.synchronize()
        group = []
        for _ in range(_ANCHORS):
            before = self._host.now()
            event = self._record(stream)
            stream.synchronize()
            group.append((event, before, self._host.now()))
        self._anchors.setdefault(index, []).append(group)

    def _elapsed_ns(self, index: int, event: int) -> float:
        rt = runtime()
        milliseconds = ctypes.c_float()
        rt.check(rt.aclrtEventElapsedTime(ctypes.byref(milliseconds), self._bases[index], event), "timing events")
        return milliseconds.value * 1e6

    def collect(self, first: int, last: int) -> tuple[Work, dict[str, Any]]:
        """What the devices did for launches numbered from `first` up to `last`, and what is known about its times."""
        rt = runtime()
        alignments = {}
        for index, groups in self._anchors.items():
            bind(index)
            rt.check(rt.aclrtSynchronizeDevice(), "waiting for the device")
            pairs = [[Pair(before, at := self._elapsed_ns(index, event), at, after) for event, before, after in group] for group in groups]
            alignments[index] = Alignment(pairs)
        names: dict[str, int] = {}
        rows: list[tuple[int, ...]] = []
        for number, name, device, stream, begin, end in self._pairs:
            if first <= number < last:
                bind(device)
                kind, shown = _KINDS.get(name, (KERNEL, name))
                times = alignments[device].host(np.array([self._elapsed_ns(device, e) for e in (begin, end)]))
                rows.append((kind, names.setdefault(shown, len(names)), times[0], times.max(), device, stream, number, 0))
        work = Work([*names], *np.array(rows, np.int64).reshape(-1, 8).T)
        bound = max((a.bound for a in alignments.values()), default=0.0)
        return work, {"source": "events", "clock_error_ns": round(bound)}

    def close(self) -> None:
        for _, _, device, _, begin, end in self._pairs:
            bind(device)
            streams.drop_event(begin)
            streams.drop_event(end)
        for index, groups in self._anchors.items():
            bind(index)
            for event in (self._bases[index], *(e for group in groups for e, _, _ in group)):
                streams.drop_event(event)

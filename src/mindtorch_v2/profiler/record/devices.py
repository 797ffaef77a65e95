"""Watching what devices do.

A backend that can tell device times has a method `watch(host)` (see `_accelerators.Backend`): it is given the
recorder in the form of
`Host` and returns an object with `start() -> id` and `stop(id) -> Result`, or None. A result has `work` (see
`_backends/device_work.py`), `notes` (what is known about its times) and `properties` (JSON, a list of devices).
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Sequence
from typing import Any

from ... import _accelerators
from .kinds import Kind
from .recorder import recorder


class Host:
    """The recorder, as backends see it. `launch_ids` are for launches: those of different devices differ."""

    recorder = recorder
    launch_ids: Iterator[int] = itertools.count(1 << 40)

    @staticmethod
    def now() -> int:
        """Nanoseconds on the profiler's clock."""
        return recorder.now()

    @staticmethod
    def open(name: str, launch_id: int) -> Any:
        """Opens the event of a call into a device's runtime. What it launches carries the same id."""
        return recorder.open(Kind.RUNTIME, name, sequence_nr=launch_id)

    @staticmethod
    def close(handle: Any) -> None:
        recorder.close(handle)


class DeviceResults:
    """What several devices did in a window: (name of the device, its result) each."""

    def __init__(self, parts: Sequence[tuple[str, Any]]) -> None:
        self.parts = tuple(parts)

    @property
    def has_work(self) -> bool:
        return any(len(result.work.launch_id) for _, result in self.parts)

    @property
    def properties(self) -> str:
        """JSON: a list of the devices of all."""
        if len(self.parts) == 1:
            return str(self.parts[0][1].properties)
        return json.dumps([device for _, result in self.parts for device in json.loads(result.properties)])

    def described(self) -> dict[str, str]:
        """What a trace says about its device times, as JSON texts by key."""
        return {f"{name}_times": json.dumps(result.notes) for name, result in self.parts}


class Watches:
    """The watches of several devices, as one."""

    def __init__(self, watches: Sequence[tuple[str, Any]]) -> None:
        self._watches = tuple(watches)
        self._running: list[tuple[str, Any, int]] = []

    def start(self) -> None:
        for name, watch in self._watches:
            self._running.append((name, watch, watch.start()))

    def stop(self) -> DeviceResults:
        """Waits for the devices and collects what they did since `start`; all of them are stopped even if one fails."""
        done: list[tuple[str, Any]] = []
        try:
            while self._running:
                name, watch, first = self._running.pop(0)
                done.append((name, watch.stop(first)))
        finally:
            if self._running:
                self.stop()
        return DeviceResults(done)


def watch_of(devices: Sequence[str]) -> Watches | None:
    """What watches the launches of devices, given by name; None where nothing can."""
    found = []
    for name in devices:
        backend = _accelerators.find(name) if name in _accelerators.names() else None
        watch = None if backend is None else backend.watch(Host)
        if watch is not None:
            found.append((name, watch))
    return Watches(found) if found else None

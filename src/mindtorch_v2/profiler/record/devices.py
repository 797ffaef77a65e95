"""Watching what devices do.

A backend that can tell device times has a module `_backends/<device>/activities.py` with a function `watch(host)`: it is given
the recorder in the form of `Host` and returns an object with `start() -> number` and `stop(number) -> Result`, or None. A result has
`work` (see _backends/device_work.py), `notes` (what is known about its times) and `properties` (JSON, a list of devices).
"""
from __future__ import annotations

import json
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from .kinds import Kind
from .recorder import recorder


class Host:
    """The recorder, as backends see it."""

    recorder = recorder

    @staticmethod
    def now() -> int:
        return recorder.now()

    @staticmethod
    def open(name: str, number: int) -> Any:
        """Opens the event of a call into a device's runtime. What it launches carries the same number."""
        return recorder.open(Kind.RUNTIME, name, sequence_nr=number)

    @staticmethod
    def close(handle: Any) -> None:
        recorder.close(handle)


def watch_of(device: str | None) -> Any:
    """What watches a device's launches; None where nothing can."""
    if device is None:
        return None
    module = f"{__package__.partition('.profiler')[0]}._backends.{device}"
    if find_spec(module) is None or find_spec(f"{module}.activities") is None:
        return None
    return import_module(f"{module}.activities").watch(Host)


def described(result: Any, device: str) -> dict[str, str]:
    """What a trace says about its device times, as JSON texts by key."""
    return {f"{device}_times": json.dumps(result.notes)}



"""What ran on devices, joined with the host's events.

A backend that can tell device times has a module `_backends/<device>/activities.py` with a function `watch(host)`: it is given
the recorder in the form of `Host` and returns an object with `start() -> number` and `stop(number) -> Result`, or None.
"""
from __future__ import annotations

import json
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from ._enums import DeviceType
from ._fields import Kind
from ._recorder import recorder
from ._store import ThreadInfo

_KINDS = {"kernel": Kind.KERNEL, "memcpy": Kind.MEMCPY, "memset": Kind.MEMSET}


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


def add_device_rows(columns: dict[str, np.ndarray], strings: Any, threads: Sequence[ThreadInfo], result: Any,
                    device: str) -> tuple[dict[str, np.ndarray], list[ThreadInfo]]:
    """Appends a row for each thing that a device did, and the streams to the threads. Host rows of runtime calls carry the
    launch's number as their sequence number; here it becomes their correlation."""
    calls = columns["kind"] == Kind.RUNTIME
    number = np.where(calls, columns["sequence_nr"], -1)
    columns = {**columns, "sequence_nr": np.where(calls, -1, columns["sequence_nr"]), "correlation": number}
    row_of = {int(n): int(row) for row, n in zip(np.flatnonzero(calls), number[calls])}
    work = [w for w in result.work if w.number in row_of] if result is not None else []
    streams = {key: len(threads) + i for i, key in enumerate(sorted({(w.device, w.stream) for w in work}))}
    label = device.upper()
    made = [ThreadInfo(len(threads) + i + 1, stream, f"{label} stream {stream}", index)
            for i, (index, stream) in enumerate(streams)]
    launcher = np.array([row_of[w.number] for w in work], np.int64)
    host = len(columns["start_ns"])
    added = {"start_ns": [w.start_ns for w in work], "end_ns": [w.end_ns for w in work], "name": [strings(w.name) for w in work],
             "kind": [int(_KINDS[w.kind]) for w in work], "thread": [streams[w.device, w.stream] for w in work],
             "correlation": [w.number for w in work], "step": columns["step"][launcher] if work else []}
    missing = {"parent": -1, "sequence_nr": -1, "inputs": -1, "stack": -1, "module": -1, "overload": -1}
    whole = {n: np.concatenate([c, np.asarray(added.get(n, np.full(len(work), missing.get(n, 0))), np.int64)])
             for n, c in columns.items()}
    whole["launcher"] = np.concatenate([np.full(host, -1), launcher])
    number_of_device = DeviceType[label].value if label in DeviceType.__members__ else DeviceType.PrivateUse1.value
    whole["device_type"] = np.concatenate([np.zeros(host, np.int64), np.full(len(work), number_of_device)])
    return whole, [*threads, *made]

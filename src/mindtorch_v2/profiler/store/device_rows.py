"""What ran on devices, joined with the host's rows."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..._backends.device_work import KINDS
from ..record.descriptions import ThreadInfo
from ..record.enums import DeviceType
from ..record.kinds import Kind

_KINDS = [{"kernel": Kind.KERNEL, "memcpy": Kind.MEMCPY, "memset": Kind.MEMSET}[name] for name in KINDS]


def add_device_rows(columns: dict[str, np.ndarray], strings: Any, threads: Sequence[ThreadInfo], result: Any, device: str,
                    step_at: Callable[[np.ndarray], np.ndarray]) -> tuple[dict[str, np.ndarray], list[ThreadInfo]]:
    """Appends a row for each thing that a device did, and the streams to the threads. Host rows of runtime calls carry the
    launch's number as their sequence number; here it becomes their correlation. What was launched by threads whose calls are not
    recorded is there too: nothing leads to it, and it belongs to the step in which it began (`step_at` tells it of times)."""
    calls = columns["kind"] == Kind.RUNTIME
    number = np.where(calls, columns["sequence_nr"], -1)
    columns = {**columns, "sequence_nr": np.where(calls, -1, columns["sequence_nr"]), "correlation": number}
    launcher = np.zeros(0, np.int64) if result is None else _rows_of(np.flatnonzero(calls), number[calls], result.work.number)
    work = None if result is None else result.work
    added: dict[str, np.ndarray] = {}
    made: list[ThreadInfo] = []
    label = device.upper()
    if work is not None and len(launcher):
        keys, thread = np.unique(work.device << 32 | work.stream, return_inverse=True)
        made = [ThreadInfo(len(threads) + i + 1, stream, f"{label} stream {stream}", index)
                for i, (index, stream) in enumerate(zip((keys >> 32).tolist(), (keys & 0xFFFFFFFF).tolist()))]
        names = np.array([strings(name) for name in work.names], np.int64)
        step = np.where(launcher >= 0, np.append(columns["step"], 0)[launcher], step_at(work.start_ns))
        added = {"start_ns": work.start_ns, "end_ns": work.end_ns, "name": names[work.name], "thread": len(threads) + thread,
                 "kind": np.array(_KINDS, np.int64)[work.kind], "correlation": work.number, "step": step}
    host = len(columns["start_ns"])
    missing = {"parent": -1, "sequence_nr": -1, "inputs": -1, "stack": -1, "module": -1, "overload": -1}
    whole = {n: np.concatenate([c, added.get(n, np.full(len(launcher), missing.get(n, 0)))])
             for n, c in columns.items()}
    whole["launcher"] = np.concatenate([np.full(host, -1), launcher])
    number_of_device = DeviceType[label].value if label in DeviceType.__members__ else DeviceType.PrivateUse1.value
    whole["device_type"] = np.concatenate([np.zeros(host, np.int64), np.full(len(launcher), number_of_device)])
    return whole, [*threads, *made]


def _rows_of(rows: np.ndarray, numbers: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Of each wanted number the row that has it, or -1."""
    order = np.argsort(numbers, kind="stable")
    rows, numbers = np.append(rows[order], -1), np.append(numbers[order], np.iinfo(np.int64).max)
    place = np.searchsorted(numbers[:-1], wanted)
    return np.where(numbers[place] == wanted, rows[place], -1)

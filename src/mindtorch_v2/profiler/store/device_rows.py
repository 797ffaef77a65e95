"""What ran on devices, joined with the host's rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..._backends.device_work import KINDS, Work
from ..record.descriptions import ThreadInfo
from ..record.kinds import Kind
from ..record.row_format import type_code

_KINDS = [{"kernel": Kind.KERNEL, "memcpy": Kind.MEMCPY, "memset": Kind.MEMSET}[name] for name in KINDS]


_FURTHER = 100  # devices of a second accelerator count from here, those of a third from twice this, and so on


def add_device_rows(
    columns: dict[str, np.ndarray],
    strings: Any,
    threads: Sequence[ThreadInfo],
    results: Sequence[tuple[str, Any]],
    step_at: Callable[[np.ndarray], np.ndarray],
) -> tuple[dict[str, np.ndarray], list[ThreadInfo]]:
    """Appends a row for each thing that devices did, and their streams to the threads. Host rows of runtime calls
    carry the launch's id as their sequence id; here it becomes their correlation. What was launched by
    threads whose calls are not recorded is there too: nothing leads to it, and it belongs to the step in which it
    began (`step_at` tells it of times).
    """
    calls = columns["kind"] == Kind.RUNTIME
    launch_id = np.where(calls, columns["sequence_nr"], -1)
    columns = {**columns, "sequence_nr": np.where(calls, -1, columns["sequence_nr"]), "correlation": launch_id}
    calling = np.flatnonzero(calls), launch_id[calls]
    every, parts = list(threads), []
    for index, (device, result) in enumerate(results):
        rows, streams = _rows_of_device(
            columns,
            strings,
            len(every),
            result.work,
            _rows_of(*calling, result.work.launch_id),
            device,
            _FURTHER * index,
            step_at,
        )
        every += streams
        parts.append(rows)
    missing = {"parent": -1, "sequence_nr": -1, "inputs": -1, "stack": -1, "module": -1, "overload": -1}
    host = len(columns["start_ns"])
    whole = {
        n: np.concatenate([c, *(rows.get(n, np.full(len(rows["launcher"]), missing.get(n, 0))) for rows in parts)])
        for n, c in columns.items()
    }
    whole["launcher"] = np.concatenate([np.full(host, -1), *(rows["launcher"] for rows in parts)])
    whole["device_type"] = np.concatenate([np.zeros(host, np.int64), *(rows["device_type"] for rows in parts)])
    return whole, every


def _rows_of_device(
    columns: dict[str, np.ndarray],
    strings: Any,
    thread_count: int,
    work: Work,
    launcher: np.ndarray,
    device: str,
    shift: int,
    step_at: Callable[[np.ndarray], np.ndarray],
) -> tuple[dict[str, np.ndarray], list[ThreadInfo]]:
    """The columns of one accelerator's rows, and its streams. `shift` keeps its devices apart from those of others."""
    rows = {"launcher": launcher, "device_type": np.full(len(launcher), type_code(device))}
    if not len(launcher):
        return rows, []
    streams_used, thread = np.unique(work.device << 32 | work.stream, return_inverse=True)
    streams = [
        ThreadInfo(thread_count + i + 1, stream, f"{device.upper()} stream {stream}", index + shift)
        for i, (index, stream) in enumerate(zip((streams_used >> 32).tolist(), (streams_used & 0xFFFFFFFF).tolist()))
    ]
    names = np.array([strings(name) for name in work.names], np.int64)
    step = np.where(launcher >= 0, np.append(columns["step"], 0)[launcher], step_at(work.start_ns))
    return {
        **rows,
        "start_ns": work.start_ns,
        "end_ns": work.end_ns,
        "name": names[work.name],
        "thread": thread_count + thread,
        "kind": np.array(_KINDS, np.int64)[work.kind],
        "correlation": work.launch_id,
        "step": step,
    }, streams


def _rows_of(rows: np.ndarray, ids: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Of each wanted id the row that has it, or -1."""
    order = np.argsort(ids, kind="stable")
    rows, ids = np.append(rows[order], -1), np.append(ids[order], np.iinfo(np.int64).max)
    index = np.searchsorted(ids[:-1], wanted)
    return np.where(ids[index] == wanted, rows[index], -1)

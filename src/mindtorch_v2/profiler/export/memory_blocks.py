"""What a trace's `[memory]` records cannot say of memory: which block each is of, kernels' scratch memory, blocks
from before the window.

It stands in the member `memoryBlocks` of the trace, as columns: viewers pass over it, `profiler.load` reads it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from ..store.event_store import EventStore
from ..store.fields import HELD_FIELDS

KEY = "memoryBlocks"
SCRATCH_COLUMNS = ("time_ns", "address", "nbytes", "total", "device_type", "device_index", "block")
_CHUNK = 1 << 14  # numbers that are turned into text at once


def pieces(store: EventStore, shift_ns: int, pids: np.ndarray) -> Iterator[str]:
    """The member's JSON text, in pieces; none where there is nothing to say.

    `pids` are the threads' processes, times are shifted.
    """
    if not (store.memory.block.any() or len(store.held) or len(store.scratch)):
        return
    held = {f.name: store.held.columns[f.name] for f in HELD_FIELDS}
    scratch = {name: store.scratch.columns[name] for name in SCRATCH_COLUMNS}
    held["time_ns"], scratch["time_ns"] = held["time_ns"] + shift_ns, scratch["time_ns"] + shift_ns
    scratch["pid"] = pids[store.scratch.thread]
    scratch["tid"] = np.array([thread.os_id for thread in store.threads] or [0])[store.scratch.thread]
    yield f' "{KEY}": {{"blocks": '
    yield from _column(store.memory.block)
    yield ', "held": '
    yield from _table(held)
    yield ', "scratch": '
    yield from _table(scratch)
    yield "},\n"


def _table(columns: Mapping[str, np.ndarray]) -> Iterator[str]:
    separator = "{"
    for name, values in columns.items():
        yield f'{separator}"{name}": '
        yield from _column(values)
        separator = ", "
    yield "}"


def _column(values: np.ndarray) -> Iterator[str]:
    yield "["
    for first in range(0, len(values), _CHUNK):
        yield ("," if first else "") + ",".join(map(str, values[first : first + _CHUNK].tolist()))
    yield "]"

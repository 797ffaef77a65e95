"""What a trace said, as columns: the form in which its readers hand it on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..record.kinds import DEVICE_KINDS, LAUNCHING_KINDS, PYTHON_KINDS, Kind
from .inputs import InputTable

ROW = (
    "external",
    "sequence_nr",
    "correlation",
    "forward_thread",
    "name",
    "track",
    "inputs",
    "stack",
    "module",
    "kind",
    "unfinished",
)
EXACT_BELOW = 1 << 53  # whole numbers of JSON are exact in a double below this
# By kind: does the event run on a device, is it a Python call, does it launch work on a device?
IS_DEVICE = np.isin(np.arange(256), [int(kind) for kind in DEVICE_KINDS])
IS_PYTHON = np.isin(np.arange(256), [int(kind) for kind in PYTHON_KINDS])
LAUNCHES = np.isin(np.arange(256), [int(kind) for kind in LAUNCHING_KINDS])


@dataclass
class Collected:
    """The columns of a trace in the order of its events. `rows` has the columns ROW, `memory` address, bytes, total,
    device type, device index and track.
    """

    head: dict[str, Any]
    strings: dict[str, int]
    tracks: list[tuple[Any, Any, bool]]
    names: dict[tuple[str, Any, Any], str]
    inputs: InputTable
    stacks: list[str]
    modules: list[str]
    categories: set[str]
    kept: dict[str, Kind]
    start: np.ndarray
    end: np.ndarray
    rows: dict[str, np.ndarray]
    memory: np.ndarray
    memory_time: np.ndarray
    window: np.ndarray
    resolution_ns: int

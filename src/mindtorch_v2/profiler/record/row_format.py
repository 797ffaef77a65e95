"""What a recorded row is made of: the fields of the Python recorder's tables, and codes that both recorders share."""
from __future__ import annotations

from typing import NamedTuple

SHAPES, STACKS, MODULES, LISTENERS = 1, 2, 4, 8   # bits of Recorder.detail: what makes a row cost more than its times

ROW_FIELDS = ("row", "start_ns", "label", "parent", "sequence_nr")
DETAIL_FIELDS = ("row", "forward_thread", "inputs", "stack", "module")   # only for rows that have any of these
END_FIELDS = ("row", "end_ns")
CUT_FIELDS = ("call", "event", "parent")   # a Python call ended before an event that began in it, whose parent is what called it
MEMORY_FIELDS = ("time_ns", "block", "address", "nbytes", "device", "row")   # device: type << 16 | index
DEVICE_NUMBERS = {"cpu": 0, "cuda": 1, "meta": 14, "privateuseone": 20, "npu": 21}
TENSORS = 1 << 30                # beside the device of a beginning: a tensor took the memory


def device_number(device_type: str, device_index: int) -> int:
    """A device as one number."""
    return DEVICE_NUMBERS.get(device_type, 20) << 16 | device_index


class Position(NamedTuple):
    """A moment in a buffer: the number that the next row gets (or a smaller one that none has), how many rows had been
    recorded, and where the next entries of its tables stand."""

    row: int
    recorded: int
    rows_at: int
    details_at: int
    ends_at: int
    memory_at: int
    remembered: int      # memory records so far

"""What a recorded row is made of: the fields of the Python recorder's tables, and codes that both recorders share."""

from __future__ import annotations

from typing import NamedTuple

from ... import _accelerators

SHAPES, STACKS, MODULES, LISTENERS, REFERENCES = (
    1,
    2,
    4,
    8,
    16,
)  # bits of Recorder.detail: what makes a row cost more than its times

ROW_FIELDS = ("row", "start_ns", "label", "parent", "sequence_nr")
DETAIL_FIELDS = ("row", "forward_thread", "inputs", "stack", "module")  # only for rows that have any of these
END_FIELDS = ("row", "end_ns")
# a Python call ended before an event that began in it, whose parent is what called it
CUT_FIELDS = ("call", "event", "parent")
MEMORY_FIELDS = ("time_ns", "block", "address", "nbytes", "device", "row")  # device: type << 16 | index
_RESERVED = 20  # for devices of others: DeviceType.PrivateUse1
# as DeviceType has them
DEVICE_CODES = {"cpu": 0, "cuda": 1, "hpu": 15, "meta": 14, "mtia": 19, "privateuseone": _RESERVED, "xpu": 12}
TENSORS = 1 << 30  # beside the device of a beginning: a tensor took the memory
ARGUMENT_BITS = 8  # of the origin of a reference: the index of the argument; the tensor's device bits stand above


def device_code(device_type: str, device_index: int) -> int:
    """A device as one integer."""
    return type_code(device_type) << 16 | device_index


def type_code(device_type: str) -> int:
    """The code of a device type: its value in `DeviceType`; accelerators tell their own."""
    code = DEVICE_CODES.get(device_type)
    if code is None:
        backend = _accelerators.find(device_type) if device_type in _accelerators.names() else None
        code = _RESERVED if backend is None else backend.type_code
        if backend is not None:
            DEVICE_CODES[device_type] = code
    return code


class Position(NamedTuple):
    """A moment in a buffer: the id that the next row gets (or a smaller one that none has), how many rows had been
    recorded, and where the next entries of its tables stand."""

    row: int
    recorded: int
    rows_at: int
    details_at: int
    ends_at: int
    memory_at: int
    remembered: int  # memory records so far
    references_at: int = 0

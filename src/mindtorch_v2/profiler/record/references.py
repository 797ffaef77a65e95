"""Which tensors events were given, and whose memory those had: one reference per tensor argument, in profiles of
shapes and memory.

A reference holds integers only: the tensor's (no other tensor of the process has it), its block's (0 where that was
not at hand: then the store finds it by address and time), the address of the memory, the event's row, and an origin:
device bits and argument.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from ..._keys import DEVICES, META
from ..._storage import known_block, root_array
from ..._tensor import DEVICE_OF_KEY, Tensor
from .row_format import ARGUMENT_BITS, type_code

REFERENCE = np.dtype(
    [("tensor", "i8"), ("block", "i8"), ("address", "i8"), ("row", "i4"), ("origin", "i4")]
)  # as in recorder.h
WIDTH, ROW_AT = 5, 3  # integers of a reference; which of them is the row


def references_of(row: int, values: Iterable[Any]) -> Iterator[int]:
    """The fields of one reference per tensor among the arguments of an event, one after the other; lists are looked
    into.
    """
    for argument, value in enumerate(values):
        if argument >= 1 << ARGUMENT_BITS:
            return
        for tensor in (value,) if isinstance(value, Tensor) else value if isinstance(value, (list, tuple)) else ():
            if isinstance(tensor, Tensor):
                block, address = memory_of(tensor)
                yield from (tensor._id, block, address, row, (tensor._keys & DEVICES) << ARGUMENT_BITS | argument)


def memory_of(tensor: Tensor) -> tuple[int, int]:
    """The id of a tensor's block (0 where it has none that is at hand) and the address of its memory (0 without
    any).
    """
    if tensor._keys & META:
        return 0, 0
    root = root_array(tensor._array)
    return known_block(root), root.__array_interface__["data"][0] if root.size else 0


def joined_references(parts: list[Any]) -> np.ndarray:
    """The references of parts of a native table."""
    tables = [np.frombuffer(chunk, REFERENCE, count, first * REFERENCE.itemsize) for chunk, first, count in parts]
    return np.concatenate(tables) if tables else np.zeros(0, REFERENCE)


def references_from(flat: list[int]) -> np.ndarray:
    """The references that the Python recorder kept one field after the other."""
    table = np.fromiter(flat, np.int64, len(flat)).reshape(-1, WIDTH)
    made = np.zeros(len(table), REFERENCE)
    for i, name in enumerate(REFERENCE.names or ()):
        made[name] = table[:, i]
    return made


def argument_and_device(origin: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The index of the argument, and the code of its device's type (its value in `DeviceType`), per origin."""
    bits = origin >> ARGUMENT_BITS
    device = np.zeros(len(origin), np.int64)
    for key in np.unique(bits).tolist():
        device[bits == key] = type_code(DEVICE_OF_KEY[key].type)
    return origin & ((1 << ARGUMENT_BITS) - 1), device

"""Names for the memory of tensors in a memory profile, and for what it is used."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any

from .event_fields import _ExtraFields_Allocation, _TensorMetadata


class Category(enum.Enum):
    """What a tensor is for."""

    INPUT = enum.auto()
    TEMPORARY = enum.auto()
    ACTIVATION = enum.auto()
    GRADIENT = enum.auto()
    AUTOGRAD_DETAIL = enum.auto()
    PARAMETER = enum.auto()
    OPTIMIZER_STATE = enum.auto()


@dataclass(frozen=True)
class Key:
    """Something on a device."""

    device: Any


@dataclass(frozen=True)
class _Storage:
    """A block: where it lies, and its id, which no other of the profile has."""

    ptr: int
    allocation_id: int

    def __repr__(self) -> str:
        return f"{hex(self.ptr):>18} ({self.allocation_id})"


@dataclass(frozen=True)
class TensorKey(Key):
    """The memory of a tensor: the tensor's id, as the event tree has it, and its block."""

    id: int
    storage: _Storage

    def __repr__(self) -> str:
        return f"id={self.id}: {self.storage!r} ({self.device})"

    def __lt__(self, other: TensorKey) -> bool:
        return self._as_sortable < other._as_sortable

    @property
    def _as_sortable(self) -> tuple[int, int, str, int]:
        index = self.device.index
        return self.id, self.storage.allocation_id, self.device.type, -1 if index is None else index

    @classmethod
    def from_allocation(cls, allocation: _ExtraFields_Allocation) -> TensorKey | None:
        """The key of a memory record; None where no event was given that memory."""
        if allocation.id is None or allocation.allocation_id is None:
            return None
        return cls(allocation.device, allocation.id, _Storage(allocation.ptr, allocation.allocation_id))

    @classmethod
    def from_tensor(cls, tensor: _TensorMetadata | None) -> TensorKey | None:
        """The key of a tensor in the event tree; None where it has no memory, or which one it was is not known."""
        if tensor is None or tensor.id is None or tensor.allocation_id is None or tensor.storage_data_ptr is None:
            return None
        return cls(tensor.device, tensor.id, _Storage(tensor.storage_data_ptr, tensor.allocation_id))


TensorAndID = tuple[TensorKey, int]

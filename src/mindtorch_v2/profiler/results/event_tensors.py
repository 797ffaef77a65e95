"""The tensors in an event tree: arguments of events, memory records, what modules and optimizers owned."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from ..._device import device
from ..._dtype import ALL as _DTYPES
from ..analysis.values import as_lists
from ..record.descriptions import InputDescription
from ..record.enums import DeviceType
from ..record.kinds import Role
from ..store.event_store import EventStore, Table
from ..store.identities import Identities
from .event_fields import _ExtraFields_Allocation, _NNModuleInfo, _OptimizerInfo, _TensorMetadata

_DTYPE_OF_NAME = {d.cpp_name: d for d in _DTYPES}


class EventTensors:
    """Describes the tensors of a store by PyTorch's names."""

    def __init__(self, store: EventStore) -> None:
        self.store = store

    @cached_property
    def _identities(self) -> Identities:
        return Identities(self.store)

    @cached_property
    def _modules(self) -> dict[str, int]:
        """Where what was seen of a module begins among the owned tensors, by the name of its calls; the first
        counts.
        """
        store, owned = self.store, self.store.owned
        entries = np.flatnonzero((owned.role == Role.OWNER) & (owned.is_optimizer == 0) & (owned.row >= 0))
        return {store.name_of(int(owned.row[entry])): entry for entry in entries.tolist()[::-1]}

    def inputs(self, row: int) -> list[Any]:
        """The arguments of an event: tensors, lists of them, values."""
        described = self.store.inputs_of(row)
        if described is None or not self.store.metadata.options.describes_inputs:
            return []
        given = self._given(row)
        # a foreign trace may name types of arguments without their shapes
        return [self._argument(described, i, given.get(i, [])) for i in range(len(described.shapes))]

    def _given(self, row: int) -> dict[int, list[int]]:
        """The references of an event by argument."""
        references = self.store.references
        first, last = np.searchsorted(references.row, (row, row + 1)).tolist()
        found: dict[int, list[int]] = {}
        for entry in range(first, last):
            found.setdefault(int(references.argument[entry]), []).append(entry)
        return found

    def _argument(self, inputs: InputDescription, i: int, given: list[int]) -> Any:
        shape, strides, name = inputs.shapes[i], inputs.strides[i], inputs.types[i]
        if name == "TensorList":
            entries: list[int | None] = [*given] if len(given) == len(shape) else [None] * len(shape)
            return [self._reference(entry, a, b, "") for entry, a, b in zip(entries, shape, strides)]
        if name in _DTYPE_OF_NAME:
            return self._reference(given[0] if given else None, shape, strides, name)
        return as_lists(inputs.values[i])

    def _reference(self, entry: int | None, shape: Any, strides: Any, name: str) -> _TensorMetadata:
        if entry is None:
            return _TensorMetadata(list(shape), list(strides), _DTYPE_OF_NAME.get(name), device("cpu"))
        known = self._identities
        ids = known.reference_ids[entry], known.reference_allocations[entry]
        return _metadata(self.store.references, entry, shape, strides, name, *map(int, ids))

    def _owned(self, entry: int) -> _TensorMetadata:
        owned, known = self.store.owned, self._identities
        described = self.store.inputs[int(owned.inputs[entry])]
        ids = known.owned_ids[entry], known.owned_allocations[entry]
        look = described.shapes[0], described.strides[0], described.types[0]
        return _metadata(owned, entry, *look, *map(int, ids))

    def _members(self, entry: int) -> list[dict[Role, list[int]]]:
        """What was seen of the owner that begins at an entry: per parameter the entries of its tensors by role."""
        owned = self.store.owned
        found: list[dict[Role, list[int]]] = []
        for at in range(entry + 1, len(owned)):
            role = Role(int(owned.role[at]))
            if role is Role.OWNER:
                break
            if role is Role.PARAMETER:
                found.append({role: [] for role in Role})
            found[-1][role].append(at)
        return found

    def _gradient(self, member: dict[Role, list[int]]) -> _TensorMetadata | None:
        return self._owned(member[Role.GRADIENT][0]) if member[Role.GRADIENT] else None

    def module(self, name: str) -> _NNModuleInfo | None:
        """What was seen of the module whose calls have this name; None where it was not."""
        owned, entry = self.store.owned, self._modules.get(name)
        if entry is None:
            return None
        parameters = [
            (self._name(member[Role.PARAMETER][0]), self._owned(member[Role.PARAMETER][0]), self._gradient(member))
            for member in self._members(entry)
        ]
        class_name = self.store.strings[owned.class_name[entry]]
        return _NNModuleInfo(int(owned.owner[entry]), int(owned.owner_class[entry]), class_name, parameters)

    def optimizer(self, entry: int) -> _OptimizerInfo:
        """What was seen of the optimizer that begins at an entry."""
        parameters = [
            (
                self._owned(member[Role.PARAMETER][0]),
                self._gradient(member),
                [(self._name(state), self._owned(state)) for state in member[Role.STATE]],
            )
            for member in self._members(entry)
        ]
        return _OptimizerInfo(int(self.store.owned.owner[entry]), parameters)

    def _name(self, entry: int) -> str:
        index = int(self.store.owned.name[entry])
        return self.store.strings[index] if index >= 0 else ""

    def allocation(self, record: int) -> _ExtraFields_Allocation:
        """Memory gained or given back."""
        memory, known = self.store.memory, self._identities
        return _ExtraFields_Allocation(
            int(memory.address[record]),
            int(memory.nbytes[record]),
            int(memory.total[record]),
            0,
            _or_none(int(known.memory_allocations[record])),
            _device(memory, record),
            _or_none(int(known.memory_ids[record])),
        )


def _metadata(table: Table, entry: int, shape: Any, strides: Any, name: str, whole: int, block: int) -> _TensorMetadata:
    address = int(table.address[entry])
    return _TensorMetadata(
        list(shape),
        list(strides),
        _DTYPE_OF_NAME.get(name),
        _device(table, entry),
        impl_ptr=int(table.tensor[entry]),
        storage_data_ptr=address or None,
        id=_or_none(whole),
        allocation_id=_or_none(block) if whole >= 0 else None,
    )


def _or_none(index: int) -> int | None:
    return index if index >= 0 else None


def _device(table: Table, entry: int) -> device:
    kind, index = DeviceType(int(table.device_type[entry])).name.lower(), int(table.device_index[entry])
    return device(kind) if index < 0 or kind in ("cpu", "meta") else device(kind, index)

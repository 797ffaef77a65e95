"""Which tensors and blocks of a store are the same: ids from 0 (tensors) and from 1 (blocks), in the order of
their first appearance.

Tensors that ever shared memory, and memory that one tensor had one after the other, belong together: a view and its
base, what
`set_` makes share memory, and what `resize_` moves, have one id.
"""

from __future__ import annotations

import numpy as np

from ..record.enums import DeviceType
from .event_store import EventStore, Table
from .lifetimes import record_keys

_BY_ADDRESS = -(1 << 60)  # keys of memory that is known by its address only lie below
MISSING = -1


class Identities:
    """Per memory record, per reference and per owned tensor of a store: the count of what it belongs to (`ids`),
    and of its block (`allocations`). MISSING where there is none. Memory that no event was given has no id.
    """

    def __init__(self, store: EventStore) -> None:
        tables = (store.memory, store.references, store.owned)
        lengths = np.cumsum([len(table) for table in tables])[:-1]
        block = np.concatenate([record_keys(store.memory), _keys(store.references), _keys(store.owned)])
        time = np.concatenate([store.memory.time_ns, store.start_ns[store.references.row], store.owned.time_ns])
        tensor = np.concatenate([np.zeros(len(store.memory), np.int64), store.references.tensor, store.owned.tensor])
        order = np.argsort(time, kind="stable")
        # what has no elements has no memory; PyTorch counts that as one block more
        empty = np.concatenate([np.zeros(len(store.memory), bool), *map(_is_empty, (store.references, store.owned))])
        allocations = _ids_of(np.where(empty, _BY_ADDRESS, block), empty | (block != 0), order, 1)
        allocations[empty] = MISSING
        whole = _linked_groups(tensor, block)
        known = np.isin(whole, whole[len(store.memory) :][block[len(store.memory) :] != 0]) & (block != 0)
        shapes_and_memory = len(store.references) > 0
        ids = _ids_of(whole, known, order, 0) if shapes_and_memory else np.full(len(block), MISSING)
        self.memory_ids, self.reference_ids, self.owned_ids = np.split(ids, lengths)
        self.memory_allocations, self.reference_allocations, self.owned_allocations = np.split(allocations, lengths)


def _keys(table: Table) -> np.ndarray:
    """Per row: the count of its block; where there is none one made of the address; 0 without memory."""
    block, address = (getattr(table, name).astype(np.int64) for name in ("block", "address"))
    return np.where(block > 0, block, np.where(address > 0, _BY_ADDRESS - address, 0))


def _is_empty(table: Table) -> np.ndarray:
    return (table.block <= 0) & (table.address == 0) & (table.tensor > 0) & (table.device_type != DeviceType.Meta)


def _ids_of(keys: np.ndarray, known: np.ndarray, order: np.ndarray, first: int) -> np.ndarray:
    """Ids for the keys, from `first` on in the given order; MISSING where they are not known."""
    made = np.full(len(keys), MISSING, np.int64)
    ordered = order[known[order]]
    values, first_index, inverse = np.unique(keys[ordered], return_index=True, return_inverse=True)
    rank = np.empty(len(values), np.int64)
    rank[np.argsort(first_index, kind="stable")] = np.arange(first, first + len(values))
    made[ordered] = rank[inverse]
    return made


def _linked_groups(tensor: np.ndarray, block: np.ndarray) -> np.ndarray:
    """Per row a number that rows share which are linked by a tensor or by a block, directly or through others."""
    tensors, blocks = np.unique(tensor, return_inverse=True)[1], np.unique(block, return_inverse=True)[1]
    label = np.arange(len(tensor), dtype=np.int64)
    linked = (tensor > 0, tensors), (block != 0, blocks)
    while True:
        before = label.copy()
        for known, group in linked:
            least = np.full(int(group.max()) + 1 if len(group) else 0, len(label), np.int64)
            np.minimum.at(least, group[known], label[known])
            label[known] = least[group[known]]
        label = label[label]
        if np.array_equal(label, before):
            return label

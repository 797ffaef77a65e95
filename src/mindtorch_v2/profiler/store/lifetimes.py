"""When each block of memory began and ended, from a store's records and from what tensors were seen to hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .distinct import distinct

if TYPE_CHECKING:
    from .event_store import HeldTable, MemoryTable

FOREVER = np.iinfo(np.int64).max


class Lifetimes(NamedTuple):
    """One block per index, in the order in which they began: columns of equal length.

    `died_ns` is FOREVER for what outlived the recording, `record` the memory record of the beginning, or -1 for what
    was there before: that began when it was first seen. `end` is the record of the end, or -1 where there is none.
    `block` is 0 where blocks have no ids (a loaded trace).
    """

    block: np.ndarray
    address: np.ndarray
    nbytes: np.ndarray
    device_type: np.ndarray
    device_index: np.ndarray
    born_ns: np.ndarray
    died_ns: np.ndarray
    record: np.ndarray
    end: np.ndarray


def block_lifetimes(memory: MemoryTable, held: HeldTable) -> Lifetimes:
    """Beginnings and ends belong together by the id of the block, or where there is none by address: of the
    records of one address an end belongs to the beginning before it. What was held when a recording was resumed but
    had ended unseen, ended then.
    """
    seen = np.flatnonzero((held.at_end == 0) & (held.block > 0))
    looks = distinct(held.time_ns[(held.at_end == 0) & (held.block == 0)])
    keys = record_keys(memory)
    births, deaths = np.flatnonzero(memory.nbytes > 0), np.flatnonzero(memory.nbytes < 0)
    key = np.concatenate([keys[births], held.block[seen]])
    time = np.concatenate([memory.time_ns[births], held.time_ns[seen]])
    source = np.concatenate([births, -1 - seen])  # a record, or -1 - index in `held`
    order = np.lexsort((source < 0, time, key))
    key, time, source = key[order], time[order], source[order]
    first = np.append(True, key[1:] != key[:-1]) if len(key) else np.zeros(0, bool)
    last_seen = time[np.append(first[1:], True)] if len(key) else time
    key, born, source = key[first], time[first], source[first]
    end = _first_death(key, keys, deaths)
    lost = np.append(looks, FOREVER)[np.searchsorted(looks, last_seen, "right")]
    died = np.where(end >= 0, np.append(memory.time_ns, 0)[end], np.where(key > 0, lost, FOREVER))
    died = np.maximum(died, born)
    by_time = np.argsort(born, kind="stable")
    source = source[by_time]
    block, address, nbytes, device_type, device_index = [
        _either(memory.columns[n], held.columns[n], source)
        for n in ("block", "address", "nbytes", "device_type", "device_index")
    ]
    return Lifetimes(
        block,
        address,
        nbytes,
        device_type,
        device_index,
        born[by_time],
        died[by_time],
        np.maximum(source, -1),
        end[by_time],
    )


def record_keys(memory: MemoryTable) -> np.ndarray:
    """Per record: the id of its block, or where it has none a negative one that the records of one block share."""
    keys = memory.block.astype(np.int64)
    bare = np.flatnonzero(keys <= 0)
    if len(bare):
        device = memory.device_type.astype(np.int64) << 16 | (memory.device_index.astype(np.int64) & 0xFFFF)
        order = bare[np.lexsort((memory.time_ns[bare], memory.address[bare], device[bare]))]
        begins = memory.nbytes[order] > 0
        begins[1:] |= (memory.address[order[1:]] != memory.address[order[:-1]]) | (
            device[order[1:]] != device[order[:-1]]
        )
        keys[order] = -1 - np.cumsum(begins)
    return keys


def _first_death(key: np.ndarray, keys: np.ndarray, deaths: np.ndarray) -> np.ndarray:
    """For each of the ascending keys the first record among `deaths` (ascending) that has it, or -1."""
    order = deaths[np.argsort(keys[deaths], kind="stable")]
    dead = np.append(keys[order], FOREVER)
    index = np.searchsorted(dead, key, "left")
    return np.where(dead[index] == key, np.append(order, -1)[index], -1)


def _either(recorded: np.ndarray, seen: np.ndarray, source: np.ndarray) -> np.ndarray:
    both = np.concatenate([recorded, seen[::-1]]).astype(np.int64)  # -1 - index counts from the end
    return both[source] if len(both) else np.zeros(0, np.int64)

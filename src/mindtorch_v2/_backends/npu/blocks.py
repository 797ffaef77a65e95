"""Blocks of device memory at hand: the form in Python of what `_native/npu/memory.c` does."""

from __future__ import annotations

import ctypes
from typing import Any

GRAIN = 512
# operators may touch so many bytes after the end of their operands, which blocks inside a segment must allow for
PADDING = 32
# what is counted, each for small, large and all blocks
COUNTED = ("allocation", "allocated_bytes", "requested_bytes")
_WORDS = 4  # current, peak, allocated, freed
_ALL = 2


class DeviceMemory(ctypes.c_char * (1 << 46)):  # type: ignore[misc]
    """Owns a block while any array over it lives. The type is only a way to give numpy an address: nothing is read."""

    block: Any
    cache: BlockCache
    address: int
    nbytes: int
    stream: int
    shared: bool  # other streams used it

    def __del__(self) -> None:
        self.block.requested = self.nbytes
        self.cache.give_back(self.block)


_at = DeviceMemory.from_address


class BlockCache:
    """Idle blocks by size and stream, and what is counted about blocks in use."""

    def __init__(self, index: int, give_back: Any) -> None:
        self.give_back = give_back
        self.busy = False
        self.lost = False  # the device was reset: what lay in its memory is gone
        self.idle = 0
        self._shelves: dict[tuple[int, int], list[Any]] = {}
        self._counts = [0] * (len(COUNTED) * (_ALL + 1) * _WORDS)

    def take(self, nbytes: int, stream: int) -> DeviceMemory | None:
        """Memory for a stream, or None where no block is at hand."""
        size = (nbytes + PADDING + GRAIN - 1) & -GRAIN
        shelf = self._shelves.get((size, stream))
        if not shelf:
            return None
        self.idle -= 1
        block = shelf.pop()
        return self.wrap(block, block.address, size, block.pool, stream, nbytes)

    def wrap(self, block: Any, address: int, size: int, pool: int, stream: int, nbytes: int) -> DeviceMemory:
        """Memory over a block that the allocator found."""
        memory = _at(address)
        memory.block, memory.cache, memory.address, memory.nbytes, memory.stream = block, self, address, nbytes, stream
        memory.shared = False
        counts = self._counts
        for group, amount in enumerate((1, size, nbytes)):
            for row in (12 * group + 4 * pool, 12 * group + 4 * _ALL):
                counts[row] += amount
                counts[row + 2] += amount
                if counts[row] > counts[row + 1]:
                    counts[row + 1] = counts[row]
        return memory

    def put(self, block: Any, address: int, size: int, pool: int, stream: int) -> None:
        """A block is at hand again."""
        self._shelves.setdefault((size, stream), []).append(block)
        self.idle += 1

    def count_returned(self, pool: int, size: int, requested: int) -> None:
        """Counts a block that was given back."""
        for group, amount in enumerate((1, size, requested)):
            for row in (12 * group + 4 * pool, 12 * group + 4 * _ALL):
                self._counts[row] -= amount
                self._counts[row + 3] += amount

    def drain(self) -> list[Any]:
        """All blocks at hand, which are no longer."""
        shelves, self._shelves, self.idle = self._shelves, {}, 0
        return [block for shelf in shelves.values() for block in shelf]

    def counts(self) -> list[int]:
        """Current, peak, allocated and freed of each pool of each quantity."""
        return list(self._counts)

    def set_counts(self, counts: list[int]) -> None:
        self._counts = counts

"""Device memory: a caching allocator that knows streams.

A block belongs to the stream it was taken for. When its last view dies it is at once available to that stream again,
whose order makes this safe. A block that other streams used (`record_stream`) waits until they have passed the point
of its death.
"""

from __future__ import annotations

import ctypes
import threading
from bisect import bisect_left, insort
from collections import deque
from math import prod
from typing import Any

import numpy as np

from ..._errors import OutOfMemoryError
from . import abi, blocks, native, streams
from .runtime import bind, is_closed, runtime
from .statistics import LARGE, SMALL, Statistics
from .streams import Stream

_GRAIN = blocks.GRAIN
_PADDING = blocks.PADDING
_SMALL_LIMIT = 1 << 20
_SMALL_SEGMENT = 2 << 20
_LARGE_SEGMENT = 20 << 20
_LARGE_LIMIT = 10 << 20
_ROUNDING = 2 << 20


class Block:
    """A piece of a segment of device memory; its neighbours in the segment are linked."""

    __slots__ = ("address", "size", "requested", "pool", "stream", "before", "after", "free", "used_by", "waiting")

    def __init__(self, address: int, size: int, pool: int, stream: int) -> None:
        self.address, self.size, self.pool, self.stream = address, size, pool, stream
        self.requested = 0
        self.before: Block | None = None
        self.after: Block | None = None
        self.free = True
        self.used_by: set[Stream] | None = None
        self.waiting = 0  # events that must pass before it can be used again


DeviceMemory: Any = blocks.DeviceMemory if native.launcher is None else native.launcher.Memory
_ndarray = np.ndarray


class Allocator:
    """The memory of one device."""

    def __init__(self, index: int) -> None:
        self.index = index
        self._blocks: Any = (blocks.BlockCache if native.launcher is None else native.launcher.Cache)(
            index, self.give_back
        )
        self.statistics = Statistics(self._blocks)
        self.limit: float | None = None
        self._free: dict[tuple[int, int], list[tuple[int, int, Block]]] = {}  # (pool, stream) -> by size and address
        self._segments: dict[int, int] = {}  # address -> size
        self._dead: deque[Block] = deque()  # given back, not yet sorted in; appending needs no lock
        self._deferred_blocks: deque[tuple[int, Block]] = deque()  # (event, block) of blocks that other streams used
        self._events: list[int] = []  # events for reuse
        self._lock = threading.Lock()

    # --- taking
    def take(self, nbytes: int, stream: Stream) -> Any:
        """Memory for use in a stream. OutOfMemoryError if there is none, even after giving the cached memory back."""
        handle = stream.handle
        with self._lock:
            if self._dead:
                self._sort_in()
            if self._deferred_blocks:
                self._finish_deferred(wait=False)
            self._blocks.busy = bool(self._deferred_blocks)
            return self._blocks.take(nbytes, handle) or self._found(nbytes, handle)

    def _found(self, nbytes: int, stream: int) -> Any:
        """Memory over a block that is not at hand."""
        size = (nbytes + _PADDING + _GRAIN - 1) & -_GRAIN
        pool = SMALL if size <= _SMALL_LIMIT else LARGE
        block = (
            self._find(pool, stream, size)
            or self._find_joined(pool, stream, size)
            or self._grow(pool, stream, size, nbytes)
        )
        self._split(block, size)
        block.free = False
        return self._blocks.wrap(block, block.address, block.size, pool, stream, nbytes)

    def _find(self, pool: int, stream: int, size: int) -> Block | None:
        free = self._free.get((pool, stream))
        if not free:
            return None
        position = bisect_left(free, (size,))
        if position == len(free):
            return None
        return free.pop(position)[2]

    def _find_joined(self, pool: int, stream: int, size: int) -> Block | None:
        """Looks again after joining idle blocks."""
        if not self._blocks.idle:
            return None
        self._join_idle()
        return self._find(pool, stream, size)

    def _join_idle(self) -> None:
        for block in self._blocks.drain():
            self._make_free(block)

    def _split(self, block: Block, size: int) -> None:
        rest = block.size - size
        if rest < _GRAIN or (block.pool == LARGE and rest <= _SMALL_LIMIT):
            return
        tail = Block(block.address + size, rest, block.pool, block.stream)
        tail.before, tail.after = block, block.after
        if block.after is not None:
            block.after.before = tail
        block.after, block.size = tail, size
        insort(self._free.setdefault((block.pool, block.stream), []), (tail.size, tail.address, tail))

    def _grow(self, pool: int, stream: int, size: int, nbytes: int) -> Block:
        """A fresh segment, taken after giving back cached ones if the device is full."""
        wanted = (
            _SMALL_SEGMENT
            if pool == SMALL
            else _LARGE_SEGMENT
            if size < _LARGE_LIMIT
            else (size + _ROUNDING - 1) & -_ROUNDING
        )
        address, code = self._malloc(wanted)
        if not address and code in abi.OUT_OF_MEMORY:
            self.statistics.retries += 1
            runtime().recent_error()
            self._release_cached()
            address, code = self._malloc(wanted)
            if not address and code in abi.OUT_OF_MEMORY:
                self.statistics.ooms += 1
                raise self._out_of_memory(nbytes)
        if not address:
            raise runtime().error(code, f"allocating {wanted} bytes")
        self._segments[address] = wanted
        self.statistics.device_allocs += 1
        self.statistics.add("segment", pool, 1)
        self.statistics.add("reserved_bytes", pool, wanted)
        return Block(address, wanted, pool, stream)

    def _malloc(self, size: int) -> tuple[int, int]:
        if (
            self.limit is not None
            and self.statistics.current("reserved_bytes") + size > self.limit * self.device_memory()[1]
        ):
            return 0, abi.OUT_OF_MEMORY[0]
        bind(self.index)
        made = ctypes.c_void_p()
        code = runtime().aclrtMalloc(ctypes.byref(made), size, abi.MALLOC_HUGE_FIRST)
        return (0 if code else made.value or 0), code

    def device_memory(self) -> tuple[int, int]:
        """Free and total bytes of the device, as the driver sees them."""
        bind(self.index)
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        rt = runtime()
        rt.check(rt.aclrtGetMemInfo(abi.MEMORY_HBM, ctypes.byref(free), ctypes.byref(total)), "aclrtGetMemInfo")
        return free.value, total.value

    def _out_of_memory(self, nbytes: int) -> OutOfMemoryError:
        free, total = self.device_memory()
        runtime().recent_error()
        s = self.statistics
        return OutOfMemoryError(
            f"NPU out of memory. Tried to allocate {_human(nbytes)} (NPU {self.index}; {_human(total)} total capacity; "
            f"{_human(s.current('allocated_bytes'))} already allocated; {_human(s.current('active_bytes'))} current "
            f"active; {_human(free)} free; {_human(s.current('reserved_bytes'))} reserved in total by mindtorch_v2)"
        )

    # --- giving back
    def give_back(self, block: Block) -> None:
        """Takes a block back. May be called by a finaliser at any moment, even while this thread holds the lock."""
        self._dead.append(block)
        self._blocks.busy = True  # until somebody has looked after it
        if self._lock.acquire(blocking=False):
            try:
                self._sort_in()
            finally:
                self._lock.release()

    def abandon(self) -> None:
        """The device was reset: nothing of its memory is there any more, and nothing comes back."""
        with self._lock:
            self._blocks.lost = True
            self._dead.clear()
            self._deferred_blocks.clear()

    def _sort_in(self) -> None:
        """Sorts blocks in that were given back since the last time. The lock is held."""
        dead = self._dead
        if self._blocks.lost:
            dead.clear()
        while dead:
            block = dead.popleft()
            self._blocks.count_returned(block.pool, block.size, block.requested)
            if block.used_by is None:
                self._blocks.put(block, block.address, block.size, block.pool, block.stream)
            elif not is_closed():
                self._defer(block)
        self._blocks.busy = bool(self._deferred_blocks)

    def _defer(self, block: Block) -> None:
        bind(self.index)
        rt = runtime()
        for stream in block.used_by or ():
            event = self._events.pop() if self._events else streams.new_event(abi.EVENT_PROGRESS)
            rt.check(rt.aclrtRecordEvent(event, stream.handle), "recording an event")
            block.waiting += 1
            self._deferred_blocks.append((event, block))
        block.used_by = None
        self.statistics.deferred(block.pool, block.size, 1)

    def _finish_deferred(self, wait: bool) -> None:
        """Frees blocks whose streams have passed; with `wait`, all of them."""
        still: deque[tuple[int, Block]] = deque()
        rt = runtime()
        while self._deferred_blocks:
            event, block = self._deferred_blocks.popleft()
            if wait:
                rt.check(rt.aclrtSynchronizeEvent(event), "waiting for an event")
            elif not streams.event_done(event, self.index):
                still.append((event, block))
                continue
            self._events.append(event)
            block.waiting -= 1
            if not block.waiting:
                self.statistics.deferred(block.pool, block.size, -1)
                self._make_free(block)
        self._deferred_blocks = still
        self._blocks.busy = bool(still)

    def _make_free(self, block: Block) -> None:
        free = self._free.setdefault((block.pool, block.stream), [])
        for other in (block.before, block.after):
            if other is not None and other.free:
                free.pop(bisect_left(free, (other.size, other.address)))
                block = _merge(block, other)
        block.free = True
        insort(free, (block.size, block.address, block))

    def release_cached(self) -> None:
        """Gives memory that nobody uses back to the device."""
        with self._lock:
            self._sort_in()
            self._release_cached()

    def _release_cached(self) -> None:
        bind(self.index)
        rt = runtime()
        if self._deferred_blocks:
            self._finish_deferred(wait=True)
        self._join_idle()
        if any(self._free.values()):  # kernels that still run may use what is about to go
            self.statistics.all_stream_syncs += 1
            rt.check(rt.aclrtSynchronizeDevice(), "waiting for the device")
        for (pool, _), free in self._free.items():
            whole = [entry for entry in free if entry[2].before is None and entry[2].after is None]
            for entry in whole:
                free.remove(entry)
                rt.check(rt.aclrtFree(entry[1]), "freeing device memory")
                del self._segments[entry[1]]
                self.statistics.device_frees += 1
                self.statistics.add("segment", pool, -1)
                self.statistics.add("reserved_bytes", pool, -entry[0])

    def settle(self) -> None:
        """Brings the statistics up to date."""
        with self._lock:
            self._sort_in()
            self._finish_deferred(wait=False)
            self._join_idle()
            rests = [
                [b.size for (p, _), free in self._free.items() if p == pool for _, _, b in free if b.before or b.after]
                for pool in (SMALL, LARGE)
            ]
            self.statistics.set_splits([len(r) for r in rests], [sum(r) for r in rests])


def _merge(block: Block, other: Block) -> Block:
    """Two neighbours as one block: the one with the lower address."""
    low, high = (other, block) if other.address < block.address else (block, other)
    low.size += high.size
    low.after = high.after
    if high.after is not None:
        high.after.before = low
    return low


def _human(nbytes: int) -> str:
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if nbytes >= size:
            return f"{nbytes / size:.2f} {unit}"
    return f"{nbytes} bytes"


_allocators: dict[int, Allocator] = {}


def allocator_of(index: int) -> Allocator:
    """The allocator of a device."""
    found = _allocators.get(index)
    if found is None:
        bind(index)  # refuses devices that are not there
        found = _allocators.setdefault(index, Allocator(index))
    return found


def device_array(
    shape: tuple[int, ...], kind: np.dtype[Any], index: int, strides: Any = None, extent: int | None = None
) -> np.ndarray:
    """An array over fresh memory of a device for its current stream. It must never be read on the host."""
    items = prod(shape) if extent is None else extent
    if not items:
        return np.ndarray(shape, kind, strides=None if 0 in shape else strides)
    memory = (_allocators.get(index) or allocator_of(index)).take(items * kind.itemsize, streams.stream_at(index))
    return _ndarray(shape, kind, memory, 0, strides)


def memory_of(array: np.ndarray) -> Any:
    """The memory that an array views; None for one without elements."""
    base = array.base
    while base is not None and base.__class__ is not DeviceMemory:
        base = base.base
    return base


def check_kept(memory: Any) -> None:
    """RuntimeError for memory of a device that was reset."""
    if memory is not None and memory.cache.lost:
        raise RuntimeError("the tensor is lost: its device was reset after it was made")


def address_of(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]


def record_use(array: np.ndarray, stream: Stream) -> None:
    """Keeps the memory from being reused before `stream` has passed the point where its last view dies."""
    memory = memory_of(array)
    if memory is not None and memory.stream != stream.handle:
        if memory.block.used_by is None:
            memory.block.used_by = set()
        memory.shared = True
        memory.block.used_by.add(stream)

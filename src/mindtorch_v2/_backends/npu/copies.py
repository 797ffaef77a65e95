"""Copies between host and device, and within a device."""

from __future__ import annotations

import ctypes
import threading
from collections import deque
from typing import Any

import numpy as np

from ... import _dtype as dt
from ..._accelerators import key_of
from ..._keys import META
from ..._ops.movement_shapes import storage_extent
from ..._quiet import cast as cast_array
from ..._shape import broadcast_shapes
from ..._tensor import Tensor, bump_version, wrap
from ..device_work import MEMCPY
from . import abi, streams, timeline
from .allocator import address_of, check_kept, device_array, memory_of
from .events import COPY_NAMES
from .launcher import Rejected, entry_of, launch
from .runtime import bind, is_closed, runtime
from .streams import Stream

# --- pinned host memory

NPU = key_of("npu")


class PinnedMemory(ctypes.c_char * (1 << 46)):  # type: ignore[misc]
    """Owns a piece of host memory that devices reach directly, while any array over it lives."""

    address: int
    size: int
    used: set[Stream]  # streams whose copies may still read or write it

    def __del__(self) -> None:
        _pinned.give_back(self)


class PinnedPool:
    """Pinned memory for reuse, by size: taking it from the system is slow. Memory that streams used is free again
    once they have passed the moment at which its death was noticed. Events exist from then until they have passed,
    and are kept for reuse.
    """

    def __init__(self) -> None:
        self._free: dict[int, list[int]] = {}
        self._dead: deque[tuple[int, int, set[Stream]]] = deque()  # given back; appending needs no lock
        # address, size, (event, device) that must pass
        self._waiting: list[tuple[int, int, list[tuple[int, int]]]] = []
        self._events: dict[int, list[int]] = {}  # device -> events for reuse
        self._lock = threading.RLock()

    def take(self, nbytes: int) -> PinnedMemory:
        size = 1 << max(9, (nbytes - 1).bit_length())
        with self._lock:
            self._settle()
            free = self._free.get(size)
            address = free.pop() if free else 0
        if not address:
            bind(streams.current_index())
            made = ctypes.c_void_p()
            rt = runtime()
            rt.check(rt.aclrtMallocHost(ctypes.byref(made), size), "allocating pinned memory")
            address = made.value or 0
        memory = PinnedMemory.from_address(address)
        memory.address, memory.size, memory.used = address, size, set()
        return memory

    def give_back(self, memory: PinnedMemory) -> None:
        """May be called by a finaliser at any moment: the libraries are not asked here."""
        if not is_closed():
            self._dead.append((memory.address, memory.size, memory.used))

    def forget_device(self, index: int) -> None:
        """The device was reset: its streams have nothing left to do, and its events are gone."""
        with self._lock:
            self._waiting = [
                (address, size, [m for m in marks if m[1] != index]) for address, size, marks in self._waiting
            ]
            self._events.pop(index, None)

    def _settle(self) -> None:
        """Makes memory available that nobody uses any more."""
        while self._dead:
            address, size, used = self._dead[0]
            self._waiting.append((address, size, [self._mark(stream) for stream in used if not stream.is_lost]))
            self._dead.popleft()
        still = []
        for address, size, marks in self._waiting:
            left = [mark for mark in marks if not streams.event_done(*mark)]
            for event, index in marks:
                if (event, index) not in left:
                    self._events.setdefault(index, []).append(event)
            if left:
                still.append((address, size, left))
            else:
                self._free.setdefault(size, []).append(address)
        self._waiting = still

    def _mark(self, stream: Stream) -> tuple[int, int]:
        """An event at the present end of a stream, and its device."""
        index = stream.device_index
        bind(index)
        rt = runtime()
        events = self._events.get(index)
        event = events.pop() if events else streams.new_event(abi.EVENT_PROGRESS)
        rt.check(rt.aclrtRecordEvent(event, stream.handle), "recording an event")
        return event, index


_pinned = PinnedPool()


def pinned_of(array: np.ndarray) -> PinnedMemory | None:
    """The pinned memory that an array views, or None."""
    base = array.base
    while base is not None and base.__class__ is not PinnedMemory:
        base = getattr(base, "base", None)
    return base


def pinned_like(array: np.ndarray) -> np.ndarray:
    """A copy in pinned memory, with the same strides."""
    item = array.itemsize
    extent = storage_extent(array.shape, [s // item for s in array.strides])
    made = np.ndarray(array.shape, array.dtype, _pinned.take(max(extent, 1) * item), 0, array.strides)
    np.copyto(made, array)
    return made


# --- bytes
def _transfer(target: np.ndarray, source: np.ndarray, kind: int, index: int, host: np.ndarray, wait: bool) -> None:
    """Copies contiguous memory in the current stream of a device. Without `wait` the host's side must be pinned."""
    stream = streams.stream_at(index)
    _put_copy(target, source, kind, stream)
    if wait:
        stream.synchronize()
    else:
        _note_use(host, stream)


_COPY = "aclrtMemcpyAsync"


def _put_copy(target: np.ndarray, source: np.ndarray, kind: int, stream: Stream) -> None:
    """Puts a copy of contiguous memory into a stream."""
    if kind != abi.HOST_TO_DEVICE:
        check_kept(memory_of(source))
    if kind != abi.DEVICE_TO_HOST:
        check_kept(memory_of(target))
    bind(stream.device_index)
    rt = runtime()
    watcher = timeline.active
    if watcher is not None:
        watcher.begin_timed(_COPY, stream)
    code = rt.aclrtMemcpyAsync(
        address_of(target), target.nbytes, address_of(source), source.nbytes, kind, stream.handle
    )
    if watcher is not None:
        watcher.end_timed(_COPY, stream, COPY_NAMES[kind], source.nbytes, MEMCPY)
    rt.check(code, "copying memory")


def _note_use(host: np.ndarray, stream: Stream) -> None:
    memory = pinned_of(host)
    assert memory is not None
    memory.used.add(stream)


def _is_dense(array: np.ndarray) -> bool:
    return bool(array.flags.c_contiguous)


# --- tensors
def new_tensor(shape: tuple[int, ...], kind: dt.dtype, device: Any) -> Tensor:
    """An uninitialised tensor on a device."""
    return wrap(device_array(tuple(shape), kind.np, device.index), kind, NPU, device)


def to_host(t: Tensor) -> Tensor:
    """A copy of a device tensor in host memory."""
    if not t._array.size:
        return wrap(np.empty(t._array.shape, t.dtype.np), t.dtype)
    source = t if _is_dense(t._array) else dense(t)
    out = np.empty(t._array.shape, t.dtype.np)
    _transfer(out, source._array, abi.DEVICE_TO_HOST, t.device.index or 0, out, wait=True)
    return wrap(out, t.dtype)


def to_device(array: np.ndarray, kind: dt.dtype, device: Any, non_blocking: bool = False) -> Tensor:
    """A copy of a host array on a device."""
    out = new_tensor(array.shape, kind, device)
    if array.size:
        wait = not (non_blocking and pinned_of(array) is not None)
        array = np.ascontiguousarray(array)
        _transfer(out._array, array, abi.HOST_TO_DEVICE, device.index, array, wait)
    return out


def dense(t: Tensor) -> Tensor:
    """A contiguous copy on the same device."""
    out = new_tensor(t._array.shape, t.dtype, t.device)
    _within_device(out, t)
    return out


def cast(t: Tensor, kind: dt.dtype) -> Tensor:
    """The tensor in another type, on its device."""
    out = new_tensor(t._array.shape, kind, t.device)
    if t._array.size:
        entry = entry_of("Cast")
        try:
            if entry is None:
                raise Rejected("aclnnCast is missing")
            launch(entry, (t, kind, out), t.device.index or 0)
        except Rejected:
            return to_device(cast_array(to_host(t)._array, kind.np), kind, t.device)
    return out


def _within_device(target: Tensor, source: Tensor) -> None:
    """Copies with conversion and broadcasting inside one device."""
    entry = entry_of("InplaceCopy")
    index = target.device.index or 0
    try:
        if entry is None:
            raise Rejected("aclnnInplaceCopy is missing")
        launch(entry, (target, source), index)
    except Rejected:
        alike = target.dtype is source.dtype and target._array.shape == source._array.shape
        if alike and _is_dense(target._array) and _is_dense(source._array):
            _put_copy(target._array, source._array, abi.DEVICE_TO_DEVICE, streams.stream_at(index))
        else:
            raise


def _to_device_tensor(target: Tensor, source: Tensor, non_blocking: bool) -> None:
    """From the host: converted and put in order there, copied as a whole."""
    array = source._array
    if array.shape != target._array.shape:
        array = np.broadcast_to(array, target._array.shape)
    if source.dtype is not target.dtype:
        array = cast_array(array, target.dtype.np)
    if _is_dense(target._array) and _is_dense(array):
        wait = not (non_blocking and pinned_of(array) is not None)
        _transfer(target._array, array, abi.HOST_TO_DEVICE, target.device.index or 0, array, wait)
    else:
        _within_device(target, to_device(np.ascontiguousarray(array), target.dtype, target.device))


def _to_host_tensor(target: Tensor, source: Tensor, non_blocking: bool) -> None:
    """To the host: converted on the device, so that fewer or equally many bytes travel in one piece."""
    if source.dtype is not target.dtype:
        source = cast(source, target.dtype)
    if not _is_dense(source._array):
        source = dense(source)
    same = source._array.shape == target._array.shape and _is_dense(target._array)
    if same and target._array.flags.writeable:
        wait = not (non_blocking and pinned_of(target._array) is not None)
        _transfer(target._array, source._array, abi.DEVICE_TO_HOST, source.device.index or 0, target._array, wait)
    else:
        np.copyto(target._array, to_host(source)._array)


def copy_(self: Tensor, src: Tensor, non_blocking: bool) -> Tensor:
    """Writes `src` into `self`, wherever the two lie."""
    if self._keys & META or src._keys & META:
        if not self._keys & META:
            raise NotImplementedError("Cannot copy out of meta tensor; no data!")
    else:
        whole = broadcast_shapes(self._array.shape, src._array.shape)
        if whole != self._array.shape:
            raise RuntimeError(
                f"output with shape {list(self._array.shape)} doesn't match the broadcast shape {list(whole)}"
            )
        if not self._array.size:
            pass
        elif not src._keys & NPU:
            _to_device_tensor(self, src, non_blocking)
        elif not self._keys & NPU:
            _to_host_tensor(self, src, non_blocking)
        elif self.device.index == src.device.index:
            _within_device(self, src)
        else:
            _to_device_tensor(self, to_host(src), False)
    bump_version(self)
    return self

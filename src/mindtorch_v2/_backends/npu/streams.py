"""Streams and events."""

from __future__ import annotations

import ctypes
import threading
from typing import Any

from ... import _device
from . import abi, native
from .runtime import bind, current_index, is_closed, runtime, thread

_POOL_SIZE = 32  # streams per device and priority
# priorities under which default streams, the backend's own and those of communicators are kept apart
_DEFAULT, _SIDE, _COMMUNICATION = 1 << 16, 1 << 17, 1 << 18
_lock = threading.Lock()
_by_index: dict[int, Stream] = {}  # default streams
_sides: dict[int, Stream] = {}  # the backend's own
_resets: dict[int, int] = {}  # device -> how often it was reset
_pools: dict[tuple[int, int], list[tuple[int, int]]] = {}
_turns: dict[tuple[int, int], int] = {}


class Stream:
    """A queue of work on a device: what is put into it runs in order, and not in order with other streams."""

    __slots__ = ("handle", "device_index", "stream_id", "priority", "_resets", "__weakref__")

    def __init__(self, device: Any = None, priority: int = 0, **options: Any) -> None:
        index = index_of(device)
        apart = priority if priority in (_DEFAULT, _SIDE, _COMMUNICATION) else None
        self.device_index, self.priority = index, 0 if apart else _clamp_priority(index, priority)
        self.handle, self.stream_id = _from_pool(index, self.priority, apart)
        self._resets = _resets.get(index, 0)

    @staticmethod
    def priority_range() -> tuple[int, int]:
        """The least and the greatest priority that streams of the current device can have.

        A lower number is a greater priority.
        """
        return _priority_range(current_index())

    @property
    def is_lost(self) -> bool:
        """Whether the device was reset since the stream was made."""
        return self._resets != _resets.get(self.device_index, 0)

    @property
    def npu_stream(self) -> int:
        return self.handle

    @property
    def device(self) -> _device.device:
        return _device.device("npu", self.device_index)

    @property
    def device_type(self) -> int:
        return 20

    def query(self) -> bool:
        """Whether all work put into the stream is done."""
        bind(self.device_index)
        status = ctypes.c_int32()
        rt = runtime()
        rt.check(rt.aclrtStreamQuery(self.handle, ctypes.byref(status)), "aclrtStreamQuery")
        return status.value == abi.STREAM_COMPLETE

    def synchronize(self) -> None:
        """Waits until all work put into the stream is done. Errors of that work surface here."""
        bind(self.device_index)
        rt = runtime()
        rt.check(rt.aclrtSynchronizeStream(self.handle), "waiting for a stream")

    def record_event(self, event: Event | None = None) -> Event:
        """Records an event (a new one by default) at the present end of the stream."""
        event = Event() if event is None else event
        event.record(self)
        return event

    def wait_event(self, event: Event) -> None:
        """What is put into the stream from now on waits for the event's latest recording."""
        event.wait(self)

    def wait_stream(self, stream: Stream) -> None:
        """What is put into this stream from now on waits for what `stream` holds now."""
        self.wait_event(stream.record_event())

    def __enter__(self) -> Stream:
        _entered_streams().append((thread.device, current_stream(self.device_index)))
        set_current(self)
        thread.device = self.device_index
        return self

    def __exit__(self, *exc: object) -> None:
        index, before = _entered_streams().pop()
        set_current(before)
        thread.device = index

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and other.handle == self.handle and other.device_index == self.device_index

    def __hash__(self) -> int:
        return hash((self.handle, self.device_index))

    def __repr__(self) -> str:
        note = " (simulated)" if runtime().simulated else ""
        return f"<torch.npu.Stream device=npu:{self.device_index} stream={self.handle:#x}{note}>"


def _priority_range(index: int) -> tuple[int, int]:
    rt = runtime()
    least, greatest = ctypes.c_int32(), ctypes.c_int32()
    bind(index)
    if rt.libraries.find("aclrtDeviceGetStreamPriorityRange") is None or rt.aclrtDeviceGetStreamPriorityRange(
        ctypes.byref(least), ctypes.byref(greatest)
    ):
        return abi.PRIORITIES[1], abi.PRIORITIES[0]
    return least.value, greatest.value


def _clamp_priority(index: int, priority: int) -> int:
    """The priority that a stream gets: numbers outside of the device's range mean its ends."""
    if priority == 0:
        return 0
    least, greatest = _priority_range(index)
    return max(greatest, min(priority, least))


def _from_pool(index: int, priority: int, apart: int | None) -> tuple[int, int]:
    """A stream's handle and id. Streams are a scarce resource of the device: the first ones made are handed out
    again in turn, and none is ever destroyed, so that memory can belong to a stream for good.
    """
    key = index, priority if apart is None else apart
    pool = _pools.setdefault(key, [])
    turn = _turns[key] = _turns.get(key, -1) + 1
    if turn >= _POOL_SIZE:
        return pool[turn % _POOL_SIZE]
    bind(index)
    rt = runtime()
    made, stream_id = ctypes.c_void_p(), ctypes.c_int32()
    rt.check(rt.aclrtCreateStreamWithConfig(ctypes.byref(made), priority, abi.STREAM_FAST), "creating a stream")
    rt.check(rt.aclrtStreamGetId(made, ctypes.byref(stream_id)), "aclrtStreamGetId")
    pool.append((made.value or 0, stream_id.value))
    return pool[-1]


def forget_device(index: int) -> None:
    """The device was reset: streams of it that programs still hold are refused by the libraries."""
    with _lock:
        _resets[index] = _resets.get(index, 0) + 1
        _by_index.pop(index, None)
        _sides.pop(index, None)
        for key in [k for k in _pools if k[0] == index]:
            del _pools[key], _turns[key]
    if thread.streams is not None:
        thread.streams.pop(index, None)
    if native.launcher is not None:
        for is_default in (True, False):
            native.launcher.set_stream(index, 0, 0, is_default)


def _entered_streams() -> list[Any]:
    if not hasattr(thread, "entered"):
        thread.entered = []
    return thread.entered


def index_of(device: Any) -> int:
    """The index that None, an index, a string or a device stands for."""
    if device is None:
        return current_index()
    if isinstance(device, int):
        return current_index() if device < 0 else device
    if isinstance(device, (Stream, Event)):
        return device.device_index
    where = _device.device(device)
    if where.type != "npu":
        raise ValueError(f"Expected a npu device, but got: {where}")
    return current_index() if where.index is None else where.index


def default_stream(device: Any = None) -> Stream:
    """The stream that a device's work goes to unless another one is chosen."""
    index = index_of(device)
    with _lock:
        found = _by_index.get(index)
        if found is None:
            found = _by_index[index] = Stream(index, _DEFAULT)
            if native.launcher is not None:
                native.launcher.set_stream(index, found.handle, found.stream_id, True)
    return found


def side_stream(index: int) -> Stream:
    """A stream that only the backend itself uses: no other work stands before its own."""
    with _lock:
        found = _sides.get(index)
        if found is None:
            found = _sides[index] = Stream(index, _SIDE)
    return found


def communication_stream(index: int) -> Stream:
    """A stream for a communicator: programs get none of these for themselves."""
    with _lock:
        return Stream(index, _COMMUNICATION)


def current_stream(device: Any = None) -> Stream:
    """The stream that the calling thread's work on a device goes to."""
    return stream_at(index_of(device))


def stream_at(index: int) -> Stream:
    chosen = thread.streams
    if chosen is not None:
        found = chosen.get(index)
        if found is not None:
            return found
    return _by_index.get(index) or default_stream(index)


def set_current(stream: Stream) -> None:
    """Makes a stream the one on which this thread's operations run."""
    if thread.streams is None:
        thread.streams = {}
    thread.streams[stream.device_index] = stream
    if native.launcher is not None:
        native.launcher.set_stream(stream.device_index, stream.handle, stream.stream_id, False)


class Event:
    """A mark in a stream that can be waited for, and timed if made with `enable_timing`."""

    def __init__(
        self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False, **options: Any
    ) -> None:
        self._flags = abi.EVENT_SYNC | (abi.EVENT_TIME_LINE if enable_timing else 0)
        self.handle = 0
        self.device_index = -1

    @property
    def npu_event(self) -> int:
        return self.handle

    @property
    def device(self) -> _device.device | None:
        return None if self.device_index < 0 else _device.device("npu", self.device_index)

    def record(self, stream: Stream | None = None) -> None:
        """Marks the present end of a stream, the current one by default."""
        stream = stream_at(current_index()) if stream is None else stream
        if self.handle and stream.device_index != self.device_index:
            raise RuntimeError(
                f"Event device {self.device_index} does not match recording stream's device {stream.device_index}."
            )
        bind(stream.device_index)
        rt = runtime()
        if not self.handle:
            self.handle, self.device_index = new_event(self._flags), stream.device_index
        rt.check(rt.aclrtRecordEvent(self.handle, stream.handle), "recording an event")

    def wait(self, stream: Stream | None = None) -> None:
        """What is put into the stream from now on waits for this event's latest recording."""
        if self.handle:
            stream = stream_at(current_index()) if stream is None else stream
            bind(stream.device_index)
            rt = runtime()
            rt.check(rt.aclrtStreamWaitEvent(stream.handle, self.handle), "making a stream wait")

    def query(self) -> bool:
        """Whether the work before the latest recording is done; true for an event that was never recorded."""
        return not self.handle or event_done(self.handle, self.device_index)

    def synchronize(self) -> None:
        """Waits for the work before the latest recording."""
        if self.handle:
            bind(self.device_index)
            rt = runtime()
            rt.check(rt.aclrtSynchronizeEvent(self.handle), "waiting for an event")

    def elapsed_time(self, end_event: Event) -> float:
        """Milliseconds between two recordings."""
        if not self.handle or not end_event.handle:
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        bind(self.device_index)
        rt = runtime()
        milliseconds = ctypes.c_float()
        rt.check(rt.aclrtEventElapsedTime(ctypes.byref(milliseconds), self.handle, end_event.handle), "timing events")
        return milliseconds.value

    def __repr__(self) -> str:
        return f"<torch.npu.Event {self.handle:#x}>" if self.handle else "<torch.npu.Event uninitialized>"

    def __del__(self) -> None:
        if getattr(self, "handle", 0) and not is_closed():
            drop_event(self.handle)


def new_event(flags: int) -> int:
    """A fresh event of the calling thread's device."""
    rt = runtime()
    made = ctypes.c_void_p()
    create = (
        rt.aclrtCreateEventExWithFlag
        if rt.libraries.find("aclrtCreateEventExWithFlag")
        else rt.aclrtCreateEventWithFlag
    )
    rt.check(create(ctypes.byref(made), flags), "creating an event")
    return made.value or 0


def drop_event(handle: int) -> None:
    runtime().aclrtDestroyEvent(handle)


def event_done(handle: int, index: int) -> bool:
    bind(index)
    rt = runtime()
    status = ctypes.c_int32()
    rt.check(rt.aclrtQueryEventStatus(handle, ctypes.byref(status)), "aclrtQueryEventStatus")
    return status.value == abi.EVENT_COMPLETE

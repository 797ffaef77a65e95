"""The device's runtime, which is also `torch.toy`: streams, events, pinned memory, generators, memory in use.

A stream is a thread that does work in order, each piece at least `DELAY` seconds after it was put in. The host waits
for it only where it must: in `synchronize`, and in copies that somebody reads at once.
"""

from __future__ import annotations

import contextlib
import functools
import math
import queue
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from mindtorch_v2.utils.backend_toolkit import Generator, resolve

DELAY = 0.0002
watcher: Any = None  # of the profiler, while it watches (see timeline.py)


class Stream:
    """Work in order, on a thread of its own that starts with the first piece."""

    ids = iter(range(1 << 30))

    def __init__(self) -> None:
        self.stream_id = next(Stream.ids)
        self._work: queue.SimpleQueue[tuple[float, Callable[[], Any], threading.Event | None]] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None

    def put(self, work: Callable[[], Any], done: threading.Event | None = None) -> None:
        """Adds a piece of work; `done` is set when it is done. Errors surface at the next `synchronize`."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, daemon=True)
            self._thread.start()
        self._work.put((time.perf_counter() + DELAY, work, done))

    def _run(self) -> None:
        while True:
            due, work, done = self._work.get()
            time.sleep(max(0.0, due - time.perf_counter()))
            try:
                work()
            except BaseException as error:  # noqa: BLE001 - it belongs to whoever waits for the stream
                self._error = self._error or error
            if done is not None:
                done.set()

    def synchronize(self) -> None:
        """Waits for all work; raises the first error since the last time."""
        if self._thread is not None:
            done = threading.Event()
            self.put(lambda: None, done)
            done.wait()
        error, self._error = self._error, None
        if error is not None:
            raise error

    def wait_event(self, event: Event) -> None:
        """Work that is put in from now on waits for an event of another stream."""
        self.put(event.synchronize)


class Event:
    """A mark in a stream."""

    def __init__(self, enable_timing: bool = False) -> None:
        self._done, self._time = threading.Event(), 0

    def record(self, stream: Stream | None = None) -> None:
        """Puts the mark behind the work that the stream has now."""
        self._done = done = threading.Event()
        (stream or current_stream()).put(self._note, done)

    def _note(self) -> None:
        self._time = time.perf_counter_ns()

    def query(self) -> bool:
        return self._done.is_set()

    def synchronize(self) -> None:
        self._done.wait()

    def elapsed_time(self, end_event: Event) -> float:
        """Milliseconds between two marks."""
        return (end_event._time - self._time) / 1e6


_streams = [Stream()]
_local = threading.local()


def current_stream(device: Any = None) -> Stream:
    return getattr(_local, "stream", _streams[0])


def set_stream(stream: Stream) -> None:
    if stream not in _streams:
        _streams.append(stream)
    _local.stream = stream


@contextlib.contextmanager
def stream(stream: Stream) -> Iterator[None]:
    """A block whose work goes to a stream."""
    before = current_stream()
    set_stream(stream)
    try:
        yield
    finally:
        set_stream(before)


def is_available() -> bool:
    return True


def device_count() -> int:
    return 1


def current_device() -> int:
    return 0


def synchronize(device: Any = None) -> None:
    """Waits for all streams."""
    for each in list(_streams):
        each.synchronize()


class Pinned(np.ndarray):
    """Host memory that copies may read and write later."""


class Memory(np.ndarray):
    """A piece of device memory, which only streams may touch; it counts while it lives."""

    allocated = 0

    def __array_finalize__(self, viewed: Any) -> None:
        Memory.allocated += self.nbytes if viewed is None else 0

    def __del__(self) -> None:
        Memory.allocated -= self.nbytes if self.base is None else 0


def memory_allocated(device: Any = None) -> int:
    """Bytes that tensors occupy."""
    return Memory.allocated


def allocate(shape: tuple[int, ...], dtype: Any, strides: Any = None, owner: type[np.ndarray] = Memory) -> np.ndarray:
    """An array over fresh memory; strides in bytes."""
    kind = np.dtype(dtype)
    if strides is None or 0 in shape:
        strides, nbytes = None, kind.itemsize * math.prod(shape)
    else:
        nbytes = kind.itemsize + sum((n - 1) * s for n, s in zip(shape, strides))
    made: np.ndarray = np.ndarray(shape, kind, owner((max(nbytes, 1),), np.uint8), 0, strides)
    return made


@functools.cache
def generator() -> Generator:
    """The device's own."""
    return Generator(resolve("toy"))


def manual_seed(seed: int) -> None:
    synchronize()
    generator().manual_seed(seed)


manual_seed_all = manual_seed

"""`torch.cpu`: the processor, seen as a device. Work on it is done when a call returns."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from .._lazy_parts import lazy_parts as _lazy_parts


def is_available() -> bool:
    """True: there is always a processor."""
    return True


def is_initialized() -> bool:
    return True


def device_count() -> int:
    """1: all processors together are one device."""
    return 1


def current_device() -> str:
    return "cpu"


def set_device(device: Any) -> None:
    """There is one processor to choose."""


def synchronize(device: Any = None) -> None:
    """Nothing to wait for."""


def _is_avx2_supported() -> bool:
    return "AVX2" in _features()


def _is_avx512_supported() -> bool:
    return "AVX512F" in _features()


def _features() -> set[str]:
    """The vector extensions that numpy found."""
    from numpy._core._multiarray_umath import __cpu_features__

    return {name for name, found in __cpu_features__.items() if found}


class Stream:
    """The one queue of the processor: work is done in order.

    >>> torch.cpu.Stream() is not None
    True
    """

    def __init__(self, priority: int = -1) -> None:
        self.priority = priority

    def wait_stream(self, stream: Any) -> None:
        """Nothing to wait for."""

    def record_event(self) -> None:
        """Nothing to wait for later."""

    def wait_event(self, event: Any) -> None:
        """Nothing to wait for."""


class Event:
    """A moment in the queue: it has always come already.

    >>> torch.Event().query()
    True
    """

    def query(self) -> bool:
        return True

    def record(self, stream: Stream | None = None) -> None:
        """Nothing to note."""

    def synchronize(self) -> None:
        """Nothing to wait for."""

    def wait(self, stream: Stream | None = None) -> None:
        """Nothing to wait for."""


_default_stream = Stream()
_current_stream = _default_stream


def current_stream(device: Any = None) -> Stream:
    """The stream that work goes to."""
    return _current_stream


class StreamContext(AbstractContextManager[None]):
    """A block whose work goes to a stream."""

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream
        self.prev_stream: Stream = _default_stream

    def __enter__(self) -> None:
        global _current_stream
        if self.stream is not None:
            self.prev_stream, _current_stream = _current_stream, self.stream

    def __exit__(self, *exc: object) -> None:
        global _current_stream
        if self.stream is not None:
            _current_stream = self.prev_stream


def stream(stream: Stream) -> StreamContext:
    """A block whose work goes to a stream."""
    return StreamContext(stream)


__getattr__, __dir__ = _lazy_parts(__name__, ("amp",))

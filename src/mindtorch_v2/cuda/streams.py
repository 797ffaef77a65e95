"""Streams and events of CUDA devices: they cannot be made."""

from __future__ import annotations

from typing import Any, NoReturn

from .. import _absent

_refuse = _absent.Refuser(__name__, AssertionError, "Torch not compiled with CUDA enabled")
current_stream = _refuse("current_stream")
default_stream = _refuse("default_stream")
Event = _refuse.dummy("Event")


class Stream:
    """A queue of work on a device: RuntimeError, there is no device."""

    def __new__(cls, device: Any = None, priority: int = 0, **kwargs: Any) -> NoReturn:
        raise RuntimeError("torch.cuda.Stream requires CUDA support")


class ExternalStream(Stream):
    """A queue that another library made: RuntimeError, there is no device."""


class StreamContext:
    """A block whose work goes to a stream. Without a stream it changes nothing."""

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        return None

    def __exit__(self, type: Any, value: Any, traceback: Any) -> None:
        return None


def stream(stream: Stream | None) -> StreamContext:
    """The block for a stream; `None`, the only one there can be, leaves all as it is."""
    return StreamContext(stream)


def set_stream(stream: Stream | None) -> None:
    """`None` leaves all as it is."""

"""A communicator of HCCL: the processes of a group, each with one device, and the stream in which they communicate."""

from __future__ import annotations

import ctypes
import math
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from ..._tensor import Tensor
from . import abi_hccl as abi
from . import runtime as npu_runtime
from . import streams, timeline
from .allocator import address_of, check_kept, memory_of, record_use
from .runtime import NPUError, bind, runtime

_LISTED = 4  # communications that an error lists
_under_way: deque[tuple[str, streams.Event]] = deque(maxlen=64)


def is_available() -> bool:
    """Whether the libraries have HCCL."""
    rt = npu_runtime.connect()
    return rt is not None and rt.libraries.find("HcclCommInitRootInfo") is not None


def check(code: int, what: str) -> None:
    """Raises the error that a HcclResult tells unless it is zero."""
    if code:
        text = runtime().recent_error()
        note = " (simulated)" if runtime().simulated else ""
        reason = f"{what} failed with code {code}, {abi.explain(code)}"
        raise NPUError(f"HCCL error{note}: {reason}" + (f"\n{text}" if text else "") + describe_under_way())


def describe_under_way() -> str:
    """The communications that were begun and are not known to be done, for the end of an error message."""
    if not _under_way:
        return ""
    lines = "".join(f"\n  {text}" for text, _ in list(_under_way)[:_LISTED])
    more = f"\n  and {len(_under_way) - _LISTED} more" if len(_under_way) > _LISTED else ""
    return f"\nCommunications that had begun:{lines}{more}"


npu_runtime.error_notes.append(describe_under_way)


class Communicator:
    """Puts communications into a stream of its own.

    `share` gives every process what its first one passes: called once, when all take part. `timeout` in seconds bounds
    each communication where the libraries let one choose it (else HCCL_EXEC_TIMEOUT does).
    """

    def __init__(
        self, share: Callable[[bytes | None], bytes], rank: int, size: int, index: int, timeout: float, name: str
    ) -> None:
        self.rank, self.size, self.index = rank, size, index
        self.stream = streams.communication_stream(index)
        bind(index)
        rt = runtime()
        info = ctypes.create_string_buffer(abi.ROOT_INFO_BYTES)
        failure: NPUError | None = None
        if rank == 0:
            try:
                check(rt.HcclGetRootInfo(info), "HcclGetRootInfo")
            except NPUError as error:  # the others wait for an answer
                failure = error
        shared = share((b"" if failure else info.raw) if rank == 0 else None)
        if failure is not None:
            raise failure
        if not shared:
            raise NPUError("HCCL error: the first process of the group could not begin (HcclGetRootInfo)")
        handle = ctypes.c_void_p()
        if _takes_timeout():
            config = abi.new_config(max(1, math.ceil(timeout)), name)
            what, code = (
                "HcclCommInitRootInfoConfig",
                rt.HcclCommInitRootInfoConfig(size, shared, rank, ctypes.byref(config), ctypes.byref(handle)),
            )
        else:
            what = "HcclCommInitRootInfo"
            code = rt.HcclCommInitRootInfo(size, shared, rank, ctypes.byref(handle))
        check(code, f"{what}(rank {rank} of {size}, npu:{index})")
        self.handle = handle.value

    def launch(self, name: str, *arguments: Any, nbytes: int = 0) -> None:
        """Puts `name(*arguments, communicator, stream)` into the stream, which waits for nothing but what is in it."""
        bind(self.index)
        rt = runtime()
        watcher = timeline.active
        if watcher is not None:
            watcher.begin_timed(name, self.stream)
        code = getattr(rt, name)(*arguments, self.handle, self.stream.handle)
        if watcher is not None:
            watcher.end_timed(name, self.stream, abi.KERNEL_NAMES[name], nbytes)
        check(code, name)

    def error(self) -> int:
        """The HcclResult of a communication that failed after its call; 0 for none."""
        found = ctypes.c_int32()
        rt = runtime()
        check(rt.HcclGetCommAsyncError(self.handle, ctypes.byref(found)), "HcclGetCommAsyncError")
        return found.value

    def close(self) -> None:
        """Waits for what is in the stream and dissolves the communicator."""
        if self.handle and not npu_runtime.is_closed():
            handle, self.handle = self.handle, None
            bind(self.index)
            runtime().aclrtSynchronizeStream(self.stream.handle)  # its errors were told where they were waited for
            runtime().HcclCommDestroy(handle)


def _takes_timeout() -> bool:
    rt = runtime()
    names = ("HcclCommInitRootInfoConfig", "HcclGetCommConfigCapability")
    known = all(rt.libraries.find(name) is not None for name in names)
    return known and rt.HcclGetCommConfigCapability() > abi.CAPABILITY_EXEC_TIMEOUT


class Completion:
    """The end of what a call put into a communicator's stream."""

    def __init__(self, communicator: Communicator, text: str) -> None:
        self._communicator = communicator
        self._event = communicator.stream.record_event()
        _forget_done()
        _under_way.append((text, self._event))

    def wait(self) -> None:
        """The calling thread's current stream waits; the host does not."""
        self._event.wait(streams.stream_at(self._communicator.index))

    def synchronize(self) -> None:
        """The host waits. NPUError where the communication failed."""
        self._event.synchronize()
        bind(self._communicator.index)
        self.is_done()

    def is_done(self) -> bool:
        """Whether it is done. NPUError where it failed."""
        done = self._event.query()
        code = self._communicator.error()
        if code:
            check(code, "a communication")
        return done


def _forget_done() -> None:
    while _under_way and _is_done(_under_way[0][1]):
        _under_way.popleft()


def _is_done(event: streams.Event) -> bool:
    try:
        return event.query()
    except NPUError:
        return False


# --- tensors as memory
def dense_of(tensor: Tensor) -> Tensor:
    """The tensor itself where its memory is contiguous, else a copy in the current stream."""
    plain = tensor.detach()
    return plain if plain._array.flags.c_contiguous else plain.contiguous()


def pointer(tensor: Tensor, stream: streams.Stream) -> int:
    """The address of a dense tensor, whose memory is kept until `stream` has passed; 0 for one without elements."""
    array: np.ndarray = tensor._array
    if not array.size:
        return 0
    check_kept(memory_of(array))
    record_use(array, stream)
    return address_of(array)

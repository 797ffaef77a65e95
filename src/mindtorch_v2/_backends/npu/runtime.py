"""The runtime: one process-wide connection to the libraries, the devices, and the calling thread's device and
streams.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import threading
import warnings
from collections.abc import Callable
from typing import Any

from . import abi, native
from .loader import Libraries, open_libraries

SIMULATED = (
    "The Ascend libraries in use are a simulator: device 'npu' is simulated on this machine's processor. Results are "
    "those of the simulated operators; times say nothing about hardware."
)
_FORKED = (
    "Cannot re-initialize NPU in forked subprocess. To use NPU with multiprocessing, you must use the 'spawn' "
    "start method"
)


class NPUError(RuntimeError):
    """A call of the device's libraries failed."""


# what else is known when a call fails: functions that give the end of the message
error_notes: list[Callable[[], str]] = []


class Runtime:
    """Functions of the runtime with their prototypes, as attributes: `rt.aclrtMalloc(...)`. Made by `connect`."""

    def __init__(self, libraries: Libraries, device_count: int) -> None:
        self.libraries = libraries
        self.simulated = libraries.simulated
        self.device_count = device_count
        self.pid = os.getpid()

    def __getattr__(self, name: str) -> Any:
        if not name.startswith(("acl", "mspti", "Hccl")):
            raise AttributeError(name)
        found = self.libraries.function(name)
        setattr(self, name, found)
        return found

    def recent_error(self) -> str:
        """What the libraries have to say about the last failure of this thread; read once."""
        text = self.aclGetRecentErrMsg()
        return text.decode("utf-8", "replace").strip() if text else ""

    def check(self, code: int, what: str) -> None:
        """Raises the error that a status tells unless it is zero."""
        if code:
            raise self.error(code, what)

    def error(self, code: int, what: str) -> NPUError:
        text = self.recent_error()
        mark = " (simulated)" if self.simulated else ""
        return NPUError(
            f"NPU error{mark}: {what} failed with code {code}, {abi.explain(code)}"
            + (f"\n{text}" if text else "")
            + "".join(note() for note in error_notes)
        )


class _Thread(threading.local):
    device = 0  # the device that the program chose on this thread
    bound = -1  # the device that the libraries know of
    streams: dict[int, Any] | None = None


thread = _Thread()
_lock = threading.Lock()
_runtime: Runtime | None = None
_reason: str | None = None  # why there is none; None while nobody has asked
_forked = False


def connect() -> Runtime | None:
    """The runtime, or None where no NPU can be used; `reason` then says why."""
    global _runtime, _reason
    if _runtime is not None and not _forked:
        return _runtime
    if _forked or _reason is not None:
        return None
    with _lock:
        if _runtime is None and _reason is None:
            _runtime, _reason = _start()
    return _runtime


def reason() -> str:
    """Why no NPU can be used."""
    return _FORKED if _forked else _reason or ""


def _start() -> tuple[Runtime | None, str | None]:
    libraries, why = open_libraries()
    if libraries is None:
        return None, why
    missing = [
        n for n in ("aclInit", "aclrtGetDeviceCount", "aclrtSetDevice", "aclrtMalloc") if libraries.find(n) is None
    ]
    if missing:
        return None, f"{libraries.describe()} lacks {', '.join(missing)}"
    code = libraries.function("aclInit")(None)
    if code not in (0, abi.REPEAT_INIT):
        return None, f"aclInit failed with code {code}, {abi.explain(code)}"
    count = ctypes.c_uint32()
    code = libraries.function("aclrtGetDeviceCount")(ctypes.byref(count))
    if code or not count.value:
        return None, "the libraries are there, but no device is" + (
            f" (code {code}, {abi.explain(code)})" if code else ""
        )
    atexit.register(_close)
    if libraries.simulated:
        warnings.warn(SIMULATED, stacklevel=2)
    return Runtime(libraries, count.value), None


def runtime() -> Runtime:
    """The runtime; RuntimeError where there is none."""
    found = _runtime
    if found is None or _forked:
        found = connect()
        if found is None:
            raise RuntimeError(_FORKED if _forked else f"No NPU can be used: {reason()}")
    return found


def bind(index: int) -> None:
    """Makes `index` the device that calls of this thread go to."""
    if thread.bound != index:
        rt = runtime()
        if not 0 <= index < rt.device_count:
            raise RuntimeError(f"Invalid NPU device index {index}: there are {rt.device_count} devices")
        rt.check(rt.aclrtSetDevice(index), f"aclrtSetDevice({index})")
        thread.bound = index
        if native.launcher is not None:
            native.launcher.set_bound(index)


def unbind() -> None:
    """The libraries are told the device of this thread again at its next use."""
    thread.bound = -1
    if native.launcher is not None:
        native.launcher.set_bound(-1)


def current_index() -> int:
    """The calling thread's device."""
    return thread.device


def set_index(index: int) -> None:
    """Makes a device the one on which this thread's operations run."""
    unbind()  # another thread may have reset the device since
    bind(index)
    thread.device = index


def is_closed() -> bool:
    """Whether the process is ending or has been forked: device memory is then no longer given back."""
    return _closed or _forked


_closed = False
# what else is to end when the process does, while the libraries can still be called
before_close: list[Callable[[], None]] = []


def _close() -> None:
    """Waits for the devices when the process ends; what lies in their memory goes with the process."""
    global _closed
    rt = _runtime
    if rt is not None and not _forked and thread.bound >= 0:
        for end in before_close:
            end()
        rt.aclrtSynchronizeDevice()
    _closed = True


def _after_fork_in_child() -> None:
    """The child shares no threads with the parent: the libraries must not be called from it."""
    global _forked, _lock
    _lock = threading.Lock()
    if _runtime is not None:
        _forked = True
        thread.bound = -1  # the next use asks for the runtime, and learns why there is none


os.register_at_fork(after_in_child=_after_fork_in_child)

"""What kernels allocate for themselves, as the Python recorder sees it without the native core.

tracemalloc knows the most memory that was in use since a moment. It is asked for each kernel: what a kernel took at
most beyond the tensors that it returns is its scratch memory, noted as one block that lives as long as the kernel
runs. Where the user traces memory too, his own peak is left as it would have been. tracemalloc sees the whole process:
kernels of several threads at once are not told apart, and then none is noted.
"""

from __future__ import annotations

import sys
import tracemalloc

# bytes: Python's own objects, which tracemalloc counts too, are not taken for scratch memory
FLOOR = 4096


class KernelMemory:
    """The memory of one kernel, measured between `begin` and `end`."""

    __slots__ = (
        "start_ns",
        "end_ns",
        "_row",
        "_taken_bytes",
        "_claimed_bytes",
        "_is_alone",
        "_base",
        "_peak_before",
        "_modules",
    )

    def __init__(self, now: int, row: int) -> None:
        self.start_ns = self.end_ns = now
        self._row = row  # of the event that the kernel runs in
        self._taken_bytes = self._claimed_bytes = 0  # bytes at most, and those of them that tensors hold
        self._is_alone = True  # no other thread ran a kernel meanwhile
        self._base, self._peak_before = 0, -1  # the peak of the user's own tracing
        self._modules = len(sys.modules)

    def begin(self) -> None:
        """Starts to measure, unless another thread does."""
        global _current, _is_ours
        if _current is not None:
            _current._is_alone = self._is_alone = False
            return
        _current = self
        if tracemalloc.is_tracing():
            self._peak_before = tracemalloc.get_traced_memory()[1]
            tracemalloc.reset_peak()
        else:
            _is_ours = True
            tracemalloc.start()
        self._base = tracemalloc.get_traced_memory()[0]

    def end(self, now: int) -> None:
        """Stops to measure."""
        global _current
        self.end_ns = now
        if _current is not self:
            return
        peak = tracemalloc.get_traced_memory()[1]
        # what is imported at a kernel's first call is not its scratch memory
        if self._is_alone and len(sys.modules) == self._modules:
            self._taken_bytes = peak - self._base
        if self._peak_before > peak:
            _raise_peak(self._peak_before)
        stop_tracing()
        _current = None

    def claim(self, nbytes: int, row: int, now: int) -> int:
        """A tensor of the event `row` took memory that the kernel allocated; when that was, at the earliest within
        this event."""
        self._claimed_bytes += nbytes
        return self.start_ns if row == self._row else now

    @property
    def scratch(self) -> int:
        """The bytes that the kernel took for itself; 0 where they are too few to tell."""
        own = self._taken_bytes - self._claimed_bytes
        return own if own >= FLOOR else 0


_current: KernelMemory | None = None  # of the one kernel that is measured
_is_ours = False  # whether tracing began for it


def stop_tracing() -> None:
    """Ends tracing that began for a kernel; also where an interrupt came before the kernel's end."""
    global _is_ours
    if _is_ours:
        tracemalloc.stop()
        _is_ours = False


def forget() -> None:
    """Nothing is measured any more."""
    global _current
    _current = None
    stop_tracing()


def _raise_peak(wanted: int) -> None:
    """Makes tracemalloc's peak what it was: by memory that nobody touches and that is given back at once."""
    missing = wanted - tracemalloc.get_traced_memory()[0] - sys.getsizeof(b"")
    if missing > 0:
        bytes(missing)

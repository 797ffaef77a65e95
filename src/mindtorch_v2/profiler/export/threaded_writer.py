"""Output in blocks, which other threads compress and write while the next lines are being made. The system's calls
and the compression run without Python's lock, so this takes the time of whichever is slower instead of both.
"""

from __future__ import annotations

import os
import struct
from collections import deque
from collections.abc import Callable, Sequence
from typing import IO, TYPE_CHECKING, Any

from ..store.files import DEFLATE

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

_BLOCK = 1 << 19  # bytes: enough to compress well on its own, little enough to stay in the processor's cache
_LEVEL = 1


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Blocks:
    """Takes bytes of any size and passes on blocks of them. What is still under way is bounded, so memory is too."""

    workers = 1

    def __init__(self, out: IO[bytes]) -> None:
        self._out = out
        self._parts: list[bytes] = []
        self._size = 0
        self._pool: ThreadPoolExecutor | None = None
        self._pending: deque[Future[Any]] = deque()

    def write(self, data: bytes, /) -> int:
        self._parts.append(data)
        self._size += len(data)
        if self._size >= _BLOCK:
            self._start()
        return len(data)

    def _start(self) -> None:
        """Hands the block to a thread. Errors of earlier ones are raised here."""
        parts, self._parts, self._size = self._parts, [], 0
        workers = min(self.workers, _processors())
        if self._pool is None:
            from concurrent.futures import ThreadPoolExecutor  # small files need no thread

            self._pool = ThreadPoolExecutor(workers, "export")
        work = self._work(parts)
        try:
            self._pending.append(self._pool.submit(work, parts))
        except RuntimeError:  # the interpreter is ending (a function of atexit exports): there are no threads any more
            while self._pending:
                self._finish(self._pending.popleft().result())
            self._finish(work(parts))
        while len(self._pending) > workers + 1:
            self._finish(self._pending.popleft().result())

    def close(self) -> None:
        """Finishes what is under way. To be called when all has been written."""
        while self._pending:
            self._finish(self._pending.popleft().result())
        if self._parts:
            self._finish(self._work(self._parts)(self._parts))

    def abandon(self) -> None:
        """Ends the threads. Harmless when there are none; to be called in any case."""
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)

    def _work(self, parts: Sequence[bytes]) -> Callable[[Sequence[bytes]], Any]:
        """What a thread does with a block."""
        return self._out.writelines

    def _finish(self, result: Any) -> None:
        """What is then done with it, in the order of blocks."""


class GzipBlocks(Blocks):
    """The same, compressed: one gzip member, whose blocks do not refer to each other, so that several are made at
    once. The header has no time in it, so that equal contents are equal files.
    """

    workers = 2

    def __init__(self, out: IO[bytes], name: str) -> None:
        super().__init__(out)
        self._crc = self._length = 0
        label = name.removesuffix(".gz").encode("latin-1", "ignore")
        out.write(struct.pack("<3sBIBB", b"\x1f\x8b\x08", 8, 0, 4, 255) + label.replace(b"\0", b"") + b"\0")

    def close(self) -> None:
        super().close()
        # an empty last block, and the sums
        self._out.write(b"\x03\x00" + struct.pack("<II", self._crc, self._length & 0xFFFFFFFF))

    def _work(self, parts: Sequence[bytes]) -> Callable[[Sequence[bytes]], Any]:
        for part in parts:
            self._crc = DEFLATE.crc32(part, self._crc)
            self._length += len(part)
        return _deflate

    def _finish(self, result: bytes) -> None:
        self._out.write(result)


def _deflate(parts: Sequence[bytes]) -> bytes:
    """A block that ends at a whole byte, so that another may follow."""
    packer = DEFLATE.compressobj(_LEVEL, DEFLATE.DEFLATED, -15)
    made = [packer.compress(part) for part in parts]
    return b"".join([*made, packer.flush(DEFLATE.Z_FULL_FLUSH)])

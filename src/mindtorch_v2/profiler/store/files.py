"""What all files of the profiler share: compression, and what reading may fail with."""

from __future__ import annotations

import contextlib
import gc
import gzip
import io
import os
import zlib
from collections.abc import Iterator
from typing import IO, Any

try:  # makes and reads the same files, several times faster
    from isal import isal_zlib
    from isal.igzip import IGzipFile
except ImportError:
    DEFLATE: Any = zlib
    GzipFile: Any = gzip.GzipFile
    GZIP_ERRORS: tuple[type[Exception], ...] = (EOFError, zlib.error, gzip.BadGzipFile)
else:
    DEFLATE = isal_zlib
    GzipFile = IGzipFile
    GZIP_ERRORS = (EOFError, zlib.error, gzip.BadGzipFile, isal_zlib.error)

GZIP_MAGIC = b"\x1f\x8b"
# A trace compresses 10 to 50 times. What grows more than this is made to fill memory.
_MAX_RATIO = 200
_HARMLESS = 1 << 28
# bytes of one value in a compressed trace; in a plain one the file is as large as its values
_LONGEST_PACKED = 1 << 25


class ProfileFileError(ValueError):
    """A file that is damaged, incomplete, or not a profile. The message begins with its name."""

    def __init__(self, path: str | os.PathLike[str], problem: str) -> None:
        super().__init__(f"{os.fspath(path)!r}: {problem}")
        self.path, self.problem = os.fspath(path), problem

    def __reduce__(self) -> tuple[type, tuple[str, str]]:
        return type(self), (self.path, self.problem)


@contextlib.contextmanager
def collector_paused() -> Iterator[None]:
    """Making many objects that all stay alive sets off collections that find nothing and take most of the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


class Contents(io.BufferedIOBase):
    """The bytes of a file that may be compressed. `longest` is how long one value in it may be, in bytes."""

    def __init__(self, path: str | os.PathLike[str], raw: IO[bytes]) -> None:
        self._path = path
        packed = raw.read(len(GZIP_MAGIC)) == GZIP_MAGIC
        raw.seek(0)
        self._source: Any = GzipFile(fileobj=raw, mode="rb") if packed else raw
        self._left = max(_HARMLESS, _MAX_RATIO * os.fstat(raw.fileno()).st_size) if packed else None
        self.longest = _LONGEST_PACKED if packed else os.fstat(raw.fileno()).st_size + 1

    def readable(self) -> bool:
        return True

    def read(self, size: int | None = -1, /) -> bytes:
        data = self._source.read(size)
        if self._left is not None:
            self._left -= len(data)
            if self._left < 0:
                raise ProfileFileError(
                    self._path,
                    f"its compressed data grows more than {_MAX_RATIO} times, which no trace does; "
                    "unpack it if it is to be trusted",
                )
        return data

    read1 = read

    def next_piece(self, kept: int, least: int) -> int:
        """How much to read where so much of a value has been kept: as much again, but not far beyond the longest."""
        return max(least, min(kept, self.longest - kept))

    def too_long(self, size: int) -> ProfileFileError | None:
        """The error for a value of which so much has been read, if it is too much."""
        if size <= self.longest:
            return None
        return ProfileFileError(
            self._path,
            f"a single value in it is longer than {self.longest} bytes, which none of a trace is; unpack "
            "the file if it is to be trusted",
        )

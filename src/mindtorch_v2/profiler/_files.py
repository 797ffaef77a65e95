"""What all files of the profiler share: compression, and what reading may fail with."""
from __future__ import annotations

import gzip
import os
import zlib
from typing import Any

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


class ProfileFileError(ValueError):
    """A file that is damaged, incomplete, or not a profile. The message begins with its name."""

    def __init__(self, path: str | os.PathLike[str], problem: str) -> None:
        super().__init__(f"{os.fspath(path)!r}: {problem}")
        self.path, self.problem = os.fspath(path), problem

    def __reduce__(self) -> tuple[type, tuple[str, str]]:
        return type(self), (self.path, self.problem)

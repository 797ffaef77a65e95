"""The zip archive of a checkpoint: `data.pkl`, one record per storage, version and byte order."""

from __future__ import annotations

import mmap
import os
import pathlib
import struct
import sys
import zipfile
import zlib
from functools import cached_property
from typing import Any

import numpy as np

# What zipfile raises on damaged archives.
_FAULTS = (zipfile.BadZipFile, EOFError, ValueError, NotImplementedError, struct.error, zlib.error, OverflowError)
# Records are written uncompressed. One that was compressed later may grow so much on reading, so that a small file
# stays one.
_MAX_RATIO = 100
_HARMLESS = 1 << 24
ALIGNMENT = 64  # PyTorch maps storages from the file; they begin at multiples of this


class ArchiveWriter:
    """Writes records, uncompressed and aligned, under one folder name."""

    def __init__(self, file: Any, folder: str) -> None:
        self.zip = zipfile.ZipFile(file, "w", zipfile.ZIP_STORED)
        self.folder = folder

    def write(self, name: str, data: bytes | memoryview) -> None:
        info = zipfile.ZipInfo(f"{self.folder}/{name}", (1980, 1, 1, 0, 0, 0))
        assert self.zip.fp is not None
        header = 30 + len(info.filename.encode()) + 4  # local header, name, and the tag and length of the padding field
        padding = -(self.zip.fp.tell() + header) % ALIGNMENT
        info.extra = b"FB" + padding.to_bytes(2, "little") + b"Z" * padding
        with self.zip.open(info, "w") as out:
            out.write(data)

    def close(self) -> None:
        self.zip.close()


class ArchiveReader:
    """Reads records; RuntimeError for a file that is not a checkpoint or is damaged."""

    def __init__(self, file: Any, name: str) -> None:
        self.name = name
        self._map: mmap.mmap | None = None
        try:
            self.zip = zipfile.ZipFile(file)
        except _FAULTS as error:
            raise RuntimeError(
                f"{name} is not a PyTorch checkpoint: it is neither a zip archive nor a file of the format "
                f"before PyTorch 1.6, or it is damaged ({error})."
            ) from None
        self._check_sizes()
        found = [n for n in self.zip.namelist() if n.endswith("/data.pkl")]
        if len(found) != 1:
            raise RuntimeError(
                f"{name} is not a PyTorch checkpoint: it holds no data.pkl"
                + (
                    "; it looks like a TorchScript archive"
                    if any("constants.pkl" in n for n in self.zip.namelist())
                    else ""
                )
            )
        self.folder = found[0].removesuffix("/data.pkl")

    def _check_sizes(self) -> None:
        """The records together hold no more than the file, but for what compression saves."""
        assert self.zip.fp is not None
        length = self.zip.fp.seek(0, os.SEEK_END)
        if sum(info.compress_size for info in self.zip.infolist()) > length:
            raise RuntimeError(f"{self.name} is damaged: its records are larger than the file")
        for info in self.zip.infolist():
            stored = info.compress_type == zipfile.ZIP_STORED
            if stored and info.file_size != info.compress_size:
                raise RuntimeError(f"{self.name} is damaged: the sizes of the record {info.filename!r} differ")
            if not stored and info.file_size > max(_HARMLESS, _MAX_RATIO * info.compress_size):
                raise RuntimeError(
                    f"{self.name}: the record {info.filename!r} would grow from {info.compress_size} bytes to "
                    f"{info.file_size}, more than {_MAX_RATIO} times, and is not read. Checkpoints are written "
                    "uncompressed; if this one is to be trusted, unpack the archive and pack it again without "
                    "compression."
                )

    def has(self, name: str) -> bool:
        return f"{self.folder}/{name}" in self.zip.NameToInfo

    def read(self, name: str) -> bytes:
        try:
            return self.zip.read(f"{self.folder}/{name}")
        except KeyError:
            raise RuntimeError(f"{self.name} is damaged: the record {name!r} is missing") from None
        except (*_FAULTS, OSError, RuntimeError) as error:
            raise RuntimeError(f"{self.name} is damaged: the record {name!r} cannot be read ({error})") from None

    def size(self, name: str) -> int:
        info = self.zip.NameToInfo.get(f"{self.folder}/{name}")
        if info is None:
            raise RuntimeError(f"{self.name} is damaged: the record {name!r} is missing")
        return info.file_size

    def map_file(self) -> None:
        """From now on storages are windows of the file: pages come when they are touched, writes stay in memory."""
        assert self.zip.fp is not None
        self._map = mmap.mmap(self.zip.fp.fileno(), 0, access=mmap.ACCESS_COPY)

    def mapped(self, name: str) -> np.ndarray | None:
        """A record in the mapped file; None where nothing is mapped, or the record is compressed or empty."""
        info = self.zip.NameToInfo.get(f"{self.folder}/{name}")
        if self._map is None or info is None or info.compress_type != zipfile.ZIP_STORED or not info.file_size:
            return None
        names, extra = struct.unpack_from("<HH", self._map, info.header_offset + 26)
        start = info.header_offset + 30 + names + extra
        if start + info.file_size > len(self._map):
            raise RuntimeError(f"{self.name} is damaged: the record {name!r} ends after the end of the file")
        return np.frombuffer(self._map, np.uint8, info.file_size, start)

    @cached_property
    def byteorder(self) -> str:
        found = self.read("byteorder") if self.has("byteorder") else sys.byteorder.encode()
        if found not in (b"little", b"big"):
            raise RuntimeError(f"{self.name} is damaged: unknown byte order {found[:20]!r}")
        return found.decode()

    def close(self) -> None:
        self.zip.close()


def folder_name(file: Any) -> str:
    """The folder inside the archive: the file's stem, or "archive" for buffers."""
    return pathlib.Path(os.fspath(file)).stem if isinstance(file, (str, os.PathLike)) else "archive"

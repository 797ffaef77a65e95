"""`torch.distributed.checkpoint.filesystem`: checkpoints in folders."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ._entries import Entry
from .metadata import Metadata

__all__ = ["FileSystemReader", "FileSystemWriter"]


@dataclass
class _StorageInfo:
    """Where a chunk or value is: a file of the folder, and the bytes in it."""

    relative_path: str
    offset: int
    length: int
    transform_descriptors: Sequence[str] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if value is not None}


class FileSystemWriter:
    """Where a checkpoint is written: a folder. The options of PyTorch's (threads, `sync_files`, ...) are accepted;
    files are always on the disk before the checkpoint is complete."""

    def __init__(self, path: str | os.PathLike[str], *args: Any, **options: Any) -> None:
        self.path = os.fspath(path)


class FileSystemReader:
    """Where a checkpoint is read: a folder."""

    def __init__(self, path: str | os.PathLike[str], *args: Any, **options: Any) -> None:
        self.path = os.fspath(path)

    def entries(self) -> dict[str, Entry]:
        """What the checkpoint holds, by name, as this package keeps it."""
        from ._files import read_entries

        return read_entries(self.path)

    def read_metadata(self, *args: Any, **options: Any) -> Metadata:
        """What the checkpoint holds."""
        from ._pickled import metadata_of

        return metadata_of(self.path, self.entries(), "")

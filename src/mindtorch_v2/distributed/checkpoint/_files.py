"""What a checkpoint is on disk: a folder with one file for each process that wrote, and `.metadata`, which says what is
where.

`.metadata` is JSON and appears last, by a rename. Files have names that no earlier checkpoint of the folder used, and
those of earlier ones are removed after that. So whenever a writer is killed, the folder holds the earlier checkpoint,
whole, or the new one, whole.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field
from typing import Any

from ..._files import atomic_file

METADATA = ".metadata"
_FORMAT = 1


class CheckpointException(RuntimeError):
    """A checkpoint that cannot be written or read; the message names the rank or the key."""


@dataclass
class Piece:
    """Some rows of a tensor, or the bytes of a value: where they are."""

    file: str
    at: int
    nbytes: int
    first: int = 0
    rows: int = 0


@dataclass
class Entry:
    """One value of a checkpoint. `dtype` is "" for what is no tensor; `path` are the keys and indices that lead to
    it."""

    path: list[str | int]
    dtype: str = ""
    shape: list[int] = field(default_factory=list)
    spread: bool = False  # each process wrote some rows
    lists: list[int] = field(default_factory=list)  # which parts of the path are indices of lists
    pieces: list[Piece] = field(default_factory=list)


class FileSystemWriter:
    """Where a checkpoint is written: a folder."""

    def __init__(self, path: str | os.PathLike[str], **options: Any) -> None:
        self.path = os.fspath(path)


class FileSystemReader(FileSystemWriter):
    """Where a checkpoint is read: a folder."""

    def read_metadata(self) -> dict[str, Entry]:
        """What the checkpoint holds, by name."""
        return read_metadata(self.path)


def name_of(path: list[str | int]) -> str:
    """The name of a value: the keys and indices that lead to it, with dots between."""
    return ".".join(str(part) for part in path)


def as_json(entries: dict[str, Entry]) -> dict[str, Any]:
    """Entries as JSON has them."""
    return {name: asdict(entry) for name, entry in entries.items()}


def from_json(found: dict[str, Any]) -> dict[str, Entry]:
    """Entries again."""
    return {
        name: Entry(
            e["path"],
            e["dtype"],
            e["shape"],
            e["spread"],
            e.get("lists", []),
            [Piece(**piece) for piece in e["pieces"]],
        )
        for name, e in found.items()
    }


def write_metadata(folder: str, entries: dict[str, Entry]) -> None:
    """Makes the new checkpoint the one that the folder holds, and removes the files of earlier ones."""
    text = json.dumps({"format": _FORMAT, "entries": as_json(entries)})
    with atomic_file(os.path.join(folder, METADATA), sync=True) as out:
        out.write(text.encode())
    used = {piece.file for entry in entries.values() for piece in entry.pieces}
    for name in os.listdir(folder):
        if name.endswith(".distcp") and name not in used:
            os.unlink(os.path.join(folder, name))


def read_metadata(folder: str) -> dict[str, Entry]:
    """What the checkpoint of a folder holds, by name; CheckpointException where there is none that is whole."""
    try:
        with open(os.path.join(folder, METADATA), "rb") as file:
            found = json.loads(file.read())
        if found["format"] != _FORMAT:
            raise CheckpointException(f"{folder!r}: the checkpoint's format is {found['format']}, not {_FORMAT}")
        return from_json(found["entries"])
    except FileNotFoundError:
        raise CheckpointException(f"{folder!r} holds no checkpoint (no {METADATA})") from None
    except (ValueError, KeyError, TypeError) as error:
        raise CheckpointException(
            f"{folder!r}: its {METADATA} was not written by this package, or is damaged ({error})"
        ) from error

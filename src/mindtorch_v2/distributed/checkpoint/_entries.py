"""What a checkpoint holds, as saving and loading see it: named values, and where their pieces are."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any


class CheckpointException(RuntimeError):
    """A checkpoint that cannot be written or read; the message names the rank or the key."""


@dataclass
class Piece:
    """A box of a tensor, or a value: where it is. `raw` are the bare elements, as earlier versions wrote them; else
    the bytes are a file of `torch.save`."""

    file: str
    at: int
    nbytes: int
    offsets: list[int] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    raw: bool = False


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


def from_first_format(found: dict[str, Any]) -> dict[str, Entry]:
    """Entries of a `.metadata` in JSON, the first format of this package: pieces are rows of bare elements."""

    def piece(entry: dict[str, Any], rows: dict[str, Any]) -> dict[str, Any]:
        is_box = bool(entry["dtype"] and entry["shape"])
        return {
            **{key: rows[key] for key in ("file", "at", "nbytes")},
            "offsets": [rows["first"], *[0] * (len(entry["shape"]) - 1)] if is_box else [],
            "sizes": [rows["rows"], *entry["shape"][1:]] if is_box else [],
            "raw": bool(entry["dtype"]),
        }

    return from_json({name: {**e, "pieces": [piece(e, rows) for rows in e["pieces"]]} for name, e in found.items()})

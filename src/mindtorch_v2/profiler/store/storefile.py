"""Stores as files: columns as they are in memory, so that loading maps them instead of reading them.

The format is described in docs/store-format.md. A file is a header, sections, and a directory of the sections; each
part has a checksum, which is verified on loading, so a damaged file is an error and never a wrong answer.
"""

from __future__ import annotations

import dataclasses
import json
import mmap
import os
import struct
import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import IO, Any

import numpy as np

from ..._files import atomic_file
from ..record.enums import DeviceType
from ..record.kinds import Category, Kind, Role
from .checks import checked_amounts, checked_inputs, checked_metadata, checked_module, checked_thread
from .event_store import EventStore, HeldTable, MemoryTable, OwnedTable, ReferenceTable, StackTable, Table
from .fields import EVENT_FIELDS, HELD_FIELDS, MEMORY_FIELDS, OWNED_FIELDS, REFERENCE_FIELDS, STACK_FIELDS, Field
from .files import ProfileFileError, collector_paused

MAGIC = b"\x89MTPROF\r\n\x1a\n"  # not text, and broken by anything that converts line ends
VERSION = (1, 2)  # readers refuse another first number and accept any second one
# magic, version, length of the file, offset and length of the directory, its checksum
_HEADER = struct.Struct("<11sxHHQQQI")
_CHECKSUM = struct.Struct("<I")
_HEADER_SIZE = _HEADER.size + _CHECKSUM.size
_ALIGNMENT = 64
# a table of more rows than this has a column that differs, and so a file of at least so many bytes
_MAX_CONSTANT = 1 << 20
_TABLES: dict[str, tuple[Field, ...]] = {
    "events": EVENT_FIELDS,
    "memory": MEMORY_FIELDS,
    "scratch": MEMORY_FIELDS,
    "held": HELD_FIELDS,
    "references": REFERENCE_FIELDS,
    "owned": OWNED_FIELDS,
    "stacks": STACK_FIELDS,
}


# ---- writing
# ----------------------------------------------------------------------------------------------------------


def save(store: EventStore, path: str | os.PathLike[str], sync: bool = True) -> None:
    """Write a store to a file, which appears when it is complete; with `sync` also where the machine fails right
    after."""
    with atomic_file(path, sync=sync, seekable=True) as out:
        out.write(bytes(_HEADER_SIZE))
        directory = [_write_part(out, *section) for section in _sections(store)]
        text = json.dumps({"sections": directory}, separators=(",", ":")).encode()
        at = _pad(out)
        out.write(text)
        header = _HEADER.pack(MAGIC, *VERSION, at + len(text), at, len(text), zlib.crc32(text))
        out.seek(0)
        out.write(header + _CHECKSUM.pack(zlib.crc32(header)))


def _pad(out: IO[bytes]) -> int:
    """Fills up to the next section's offset and gives it."""
    out.write(bytes(-out.tell() % _ALIGNMENT))
    return out.tell()


def _write_part(out: IO[bytes], name: str, data: memoryview | bytes, description: dict[str, Any]) -> dict[str, Any]:
    at = _pad(out)
    out.write(data)
    return {"name": name, "offset": at, "bytes": len(data), "crc32": zlib.crc32(data), **description}


def _sections(store: EventStore) -> Iterator[tuple[str, memoryview | bytes, dict[str, Any]]]:
    """(name, contents, what the directory says about them)."""
    yield _json_section("metadata", dataclasses.asdict(store.metadata))
    tables: dict[str, Table] = {
        "events": store,
        "memory": store.memory,
        "scratch": store.scratch,
        "held": store.held,
        "references": store.references,
        "owned": store.owned,
        "stacks": store.stacks,
    }
    for name, table in tables.items():
        for field in _TABLES[name]:
            yield _column_section(f"{name}.{field.name}", table.columns[field.name])
    yield from _string_sections(store.strings)
    for name, values in (("inputs", store.inputs), ("threads", store.threads), ("modules", store.modules)):
        yield _json_section(name, [list(value) for value in values])


def _json_section(name: str, value: Any) -> tuple[str, bytes, dict[str, Any]]:
    return name, json.dumps(value, default=_plain, separators=(",", ":")).encode("ascii"), {}


def _plain(value: Any) -> Any:
    """What JSON has no form for."""
    if isinstance(value, complex):
        return {"complex": [value.real, value.imag]}
    return value.item() if isinstance(value, np.generic) else str(value)


def _column_section(name: str, column: np.ndarray) -> tuple[str, memoryview, dict[str, Any]]:
    """A column whose values are all the same is stored as one of them."""
    little = column.dtype.newbyteorder("<")
    constant = len(column) > 0 and (column.strides == (0,) or bool((column == column[0]).all()))
    data = np.ascontiguousarray(column[:1] if constant else column, little)
    description = {"type": little.str, "length": len(column)} | ({"constant": True} if constant else {})
    return name, data.data.cast("B") if len(data) else memoryview(b""), description


def _string_sections(strings: Sequence[str]) -> Iterator[tuple[str, memoryview | bytes, dict[str, Any]]]:
    encoded = [text.encode("utf-8", "surrogatepass") for text in strings]
    ends = np.cumsum([len(text) for text in encoded], dtype=np.int64)
    yield "strings.text", b"".join(encoded), {}
    yield _column_section("strings.end", ends)


# ---- reading
# ----------------------------------------------------------------------------------------------------------


def is_store_file(start: bytes) -> bool:
    """Whether a file that begins so is one of these, even if it is damaged."""
    return start[:8] == MAGIC[:8]


def load(path: str | os.PathLike[str]) -> EventStore:
    """The store in a file. Its columns are read from the file when they are used, so it should not be changed meanwhile
    (replacing it by another file is harmless). ProfileFileError if the file is not what was saved."""
    with open(path, "rb") as file:
        if os.fstat(file.fileno()).st_size < _HEADER_SIZE:
            raise ProfileFileError(path, "is too short to be a saved profile")
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    try:
        with collector_paused():
            return _Reader(path, data).store()
    except (
        KeyError,
        TypeError,
        ValueError,
        AttributeError,
        IndexError,
        OverflowError,
        RecursionError,
        SyntaxError,
        MemoryError,
    ) as error:
        # Checksums hold, so this is not damage: another writer made a file with contents that make no sense.
        if isinstance(error, ProfileFileError):
            raise
        raise ProfileFileError(path, f"its contents make no sense ({type(error).__name__}: {error})") from error


class _Reader:
    """A mapped file whose checksums have been verified."""

    def __init__(self, path: str | os.PathLike[str], data: mmap.mmap) -> None:
        self.path, self.data = path, data
        self.view = memoryview(data)
        self.sections: dict[str, dict[str, Any]] = {}
        end = _HEADER_SIZE
        for section in self._directory():
            self._verify(section)
            self._verify_gap(end, section["offset"])
            end = section["offset"] + section["bytes"]
            self.sections[section["name"]] = section

    def _directory(self) -> Iterable[dict[str, Any]]:
        header = self.view[: _HEADER.size]
        magic, major, minor, length, at, size, checksum = _HEADER.unpack(header)
        if magic != MAGIC:
            raise ProfileFileError(self.path, "its first bytes are damaged (was it transferred as text?)")
        if zlib.crc32(header) != _CHECKSUM.unpack(self.view[_HEADER.size : _HEADER_SIZE])[0]:
            raise ProfileFileError(self.path, "its header is damaged")
        if major != VERSION[0]:
            raise ProfileFileError(self.path, f"has version {major}.{minor} of the format; this reads {VERSION[0]}.x")
        if length != len(self.view) or at + size != length:
            raise ProfileFileError(
                self.path, f"has {len(self.view)} bytes, expected {length}: it is incomplete or was changed"
            )
        if zlib.crc32(self.view[at : at + size]) != checksum:
            raise ProfileFileError(self.path, "its directory is damaged")
        sections = json.loads(bytes(self.view[at : at + size]))["sections"]
        self._verify_gap(sections[-1]["offset"] + sections[-1]["bytes"], at)
        return sections

    def _verify(self, section: dict[str, Any]) -> None:
        at, size = section["offset"], section["bytes"]
        if not (isinstance(at, int) and isinstance(size, int) and _HEADER_SIZE <= at <= at + size <= len(self.view)):
            raise ProfileFileError(self.path, f"its section {section['name']} lies outside the file")
        if zlib.crc32(self.view[at : at + size]) != section["crc32"]:
            raise ProfileFileError(self.path, f"its section {section['name']} is damaged")

    def _verify_gap(self, start: int, end: int) -> None:
        """Sections follow each other; what is between them is empty, so that a change anywhere in the file is
        noticed.
        """
        if not 0 <= end - start < _ALIGNMENT or any(self.view[start:end]):
            raise ProfileFileError(self.path, f"is damaged between bytes {start} and {end}")

    def _bytes(self, name: str) -> memoryview:
        section = self.sections[name]
        return self.view[section["offset"] : section["offset"] + section["bytes"]]

    def _json(self, name: str) -> Any:
        return json.loads(bytes(self._bytes(name)))

    def _list(self, name: str) -> list[Any]:
        made = self._json(name)
        if not isinstance(made, list):
            raise TypeError(f"{name} are not a list")
        return made

    def _column(self, name: str) -> np.ndarray:
        section = self.sections[name]
        dtype, length = np.dtype(section["type"]), int(section["length"])
        if dtype.kind not in "iu" or length < 0:
            raise ValueError(f"column {name} has type {section['type']}")
        if section.get("constant") and length > max(_MAX_CONSTANT, len(self.view)):
            raise ValueError(f"column {name} has {length} values, more than the file can hold rows")
        count = min(length, 1) if section.get("constant") else length
        if dtype.itemsize * count != section["bytes"]:
            raise ValueError(f"column {name} has {section['bytes']} bytes")
        values = np.frombuffer(self.data, dtype, count, section["offset"]) if count else np.zeros(0, dtype)
        return np.broadcast_to(values, (length,)) if section.get("constant") else values

    def _columns(self, table: str) -> dict[str, np.ndarray] | None:
        """The columns that both the file and this version know."""
        made = {
            f.name: self._column(f"{table}.{f.name}") for f in _TABLES[table] if f"{table}.{f.name}" in self.sections
        }
        for field in _TABLES[table]:
            if field.name in made and made[field.name].dtype != np.dtype(field.dtype):
                made[field.name] = _narrow(made[field.name], field)
        return made or None

    def _strings(self) -> list[str]:
        text, ends = bytes(self._bytes("strings.text")), [0, *self._column("strings.end").tolist()]
        if ends != sorted(ends) or ends[-1] != len(text):
            raise ValueError("the ends of strings are not in order")
        return [text[start:end].decode("utf-8", "surrogatepass") for start, end in zip(ends, ends[1:])]

    def store(self) -> EventStore:
        store = EventStore(
            self._columns("events"),
            strings=self._strings(),
            inputs=[checked_inputs(item) for item in self._list("inputs")],
            threads=[checked_thread(item) for item in self._list("threads")],
            modules=[checked_module(item) for item in self._list("modules")],
            stacks=StackTable(self._columns("stacks")),
            memory=MemoryTable(self._columns("memory")),
            scratch=MemoryTable(self._columns("scratch")),
            held=HeldTable(self._columns("held")),
            references=ReferenceTable(self._columns("references")),
            owned=OwnedTable(self._columns("owned")),
            metadata=checked_metadata(self._json("metadata")),
        )
        problem = dangling_reference(store)
        if problem:
            raise ValueError(problem)
        return checked_amounts(store)


def _narrow(column: np.ndarray, field: Field) -> np.ndarray:
    """A column that was saved with another type."""
    made = column.astype(field.dtype)
    if not np.array_equal(made, column):
        raise ValueError(f"column {field.name} does not fit into {field.dtype}")
    return made


def dangling_reference(store: EventStore) -> str:
    """What refers to something that is not there, or "": all that reading a store could trip over."""
    limits = {
        "string": len(store.strings),
        "row": len(store),
        "thread": len(store.threads),
        "inputs": len(store.inputs),
        "stack": len(store.stacks),
        "module": len(store.modules),
        "DeviceType": len(DeviceType),
        "Kind": len(Kind),
        "Category": len(Category),
        "Role": len(Role),
    }
    for label, table in (
        ("an event", store),
        ("a memory record", store.memory),
        ("a scratch record", store.scratch),
        ("a held block", store.held),
        ("a reference", store.references),
        ("an owned tensor", store.owned),
        ("a stack", store.stacks),
    ):
        for field in table.FIELDS:
            column, limit = table.columns[field.name], limits.get(field.unit)
            if limit is not None and len(column):
                lowest = 0 if field.missing is None else -1
                if int(column.min()) < lowest or int(column.max()) >= limit:
                    return f"{label}'s {field.name} refers to nothing"
    if (np.diff(store.references.row) < 0).any():
        return "references do not stand in the order of rows"
    for table in (store, store.stacks):
        if (table.columns["parent"] >= np.arange(len(table))).any():
            return "a parent does not stand before its child"
    if any(not -1 <= module.parent < i for i, module in enumerate(store.modules)):
        return "a module's caller does not stand before it"
    return ""

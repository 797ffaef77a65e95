"""Checkpoints of the format before PyTorch 1.6: one pickle after the other in a plain file, then the bytes of the
storages.

The parts are a magic number, a version, facts of the machine that wrote the file, the object, the keys of its
storages, and for each key its number of elements (8 bytes) and the elements. How long an element is stands only in the
object's references, so these are read from its opcodes first. Nothing is built or called for that.
"""

from __future__ import annotations

import io
import os
import pickle
import pickletools
import struct
from typing import Any, Literal

from .names import STORAGE_DTYPES
from .restricted import RestrictedMachine, short_text

MAGIC = pickle.dumps(0x1950A86A20F9469CFC6C, protocol=2)
_VERSION = 1001
_UNKNOWN = object()
# What damaged pickles raise.
_FAULTS = (pickle.UnpicklingError, EOFError, LookupError, ValueError, TypeError, AttributeError, struct.error) + (
    AssertionError,
    OverflowError,
    MemoryError,
    RecursionError,
)
_VALUES = frozenset({"BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8", "UNICODE", "BININT", "BININT1", "BININT2"}) | {
    "LONG1",
    "LONG4",
    "INT",
    "LONG",
    "NONE",
    "SHORT_BINSTRING",
    "BINSTRING",
    "STRING",
}


def is_legacy(head: bytes) -> bool:
    """Whether a file that begins so is of this format."""
    return head.startswith(MAGIC)


class _References:
    """The references to storages in a pickle: what stands on the stack at each of them, as far as it is plain."""

    def __init__(self, data: bytes) -> None:
        self.found: list[Any] = []
        self._stack: list[Any] = []
        self._marks: list[int] = []
        self._memo: dict[int, Any] = {}
        for opcode, argument, _ in pickletools.genops(data):
            self._step(opcode, argument)

    def _step(self, opcode: Any, argument: Any) -> None:
        name, stack = opcode.name, self._stack
        if name == "MARK":
            self._marks.append(len(stack))
        elif name in _VALUES:
            stack.append(argument)
        elif name == "GLOBAL":
            stack.append(argument.replace(" ", "."))
        elif "PUT" in name or name == "MEMOIZE":
            self._memo[len(self._memo) if name == "MEMOIZE" else argument] = stack[-1]
        elif "GET" in name:
            stack.append(self._memo.get(argument, _UNKNOWN))
        elif name == "TUPLE":
            start = self._marks.pop()
            stack[start:] = [tuple(stack[start:])]
        elif name in ("TUPLE1", "TUPLE2", "TUPLE3"):
            stack[-int(name[-1]) :] = [tuple(stack[-int(name[-1]) :])]
        elif name == "BINPERSID":
            self.found.append(stack[-1])
            stack[-1] = _UNKNOWN
        else:
            self._other(opcode)

    def _other(self, opcode: Any) -> None:
        """Takes from the stack and puts on it what the opcode does, without knowing what."""
        before = list(opcode.stack_before)
        if pickletools.markobject in before:
            del self._stack[self._marks.pop() :]
            before = before[: before.index(pickletools.markobject)]
        if before:
            del self._stack[-len(before) :]
        self._stack.extend(_UNKNOWN for _ in opcode.stack_after)


def _end(file: Any, name: str) -> bytes:
    """The bytes of the pickle at which the file stands; the file stands after it then."""
    start = file.tell()
    try:
        for _ in pickletools.genops(file):
            pass
    except (ValueError, EOFError, struct.error) as error:
        raise RuntimeError(f"{name} is damaged: a pickle of the old format cannot be read ({error})") from None
    stop = file.tell()
    file.seek(start)
    return bytes(file.read(stop - start))


def _plain(data: bytes) -> Any:
    """The value of a pickle of numbers, texts and containers."""
    return RestrictedMachine(data, lambda kind: False).load()


class LegacyReader:
    """Gives the records of an old file under the names that they have in an archive."""

    byteorder: Literal["little", "big"] = "little"

    def __init__(self, file: Any, name: str) -> None:
        self.name = name
        self._own_file = open(file, "rb") if isinstance(file, (str, os.PathLike)) else None  # noqa: SIM115 - see `close`
        self._file = self._own_file or file
        try:
            self._read_parts()
        except _FAULTS as error:
            self.close()
            raise RuntimeError(f"{name} is damaged: {type(error).__name__}: {error}") from None
        except BaseException:
            self.close()
            raise

    def _read_parts(self) -> None:
        _plain(_end(self._file, self.name))  # the magic number
        version, facts = (_plain(_end(self._file, self.name)) for _ in range(2))
        if version != _VERSION:
            raise RuntimeError(f"Invalid protocol version: {version}")
        if isinstance(facts, dict) and facts.get("little_endian") is False:
            self.byteorder = "big"
        self._object = _end(self._file, self.name)
        keys = _plain(_end(self._file, self.name))
        if not isinstance(keys, list) or not all(isinstance(k, str) for k in keys):
            raise RuntimeError(f"{self.name} is damaged: the list of storages cannot be read")
        self._places = self._find(keys, self._sizes())

    def _sizes(self) -> dict[str, tuple[int, int]]:
        """Number of elements and bytes of each storage, by its key."""
        sizes: dict[str, tuple[int, int]] = {}
        for found in _References(self._object).found:
            if not (isinstance(found, tuple) and len(found) >= 5 and found[0] == "storage"):
                continue
            _, kind, key, _, count = found[:5]
            dtype = STORAGE_DTYPES.get(str(kind).removeprefix("torch.").removeprefix("storage."))
            if dtype is not None and isinstance(key, str) and isinstance(count, int) and count >= 0:
                sizes[key] = (count, count * dtype.itemsize)
        return sizes

    def _find(self, keys: list[str], sizes: dict[str, tuple[int, int]]) -> dict[str, tuple[int, int]]:
        """Where each storage begins, and its length."""
        start = self._file.tell()
        end = self._file.seek(0, io.SEEK_END)
        extents: dict[str, tuple[int, int]] = {}
        for key in keys:
            self._file.seek(start)
            head = self._file.read(8)
            count, length = sizes.get(key, (-1, 0))
            if len(head) != 8 or int.from_bytes(head, self.byteorder) != count or start + 8 + length > end:
                raise RuntimeError(f"{self.name} is damaged: storage {short_text(key)} is not whole")
            extents[key] = (start + 8, length)
            start += 8 + length
        self._file.seek(start)
        self._stop = start
        return extents

    def _place(self, name: str) -> tuple[int, int]:
        found = self._places.get(name.removeprefix("data/"))
        if found is None:
            raise RuntimeError(f"{self.name} is damaged: the record {name!r} is missing")
        return found

    def size(self, name: str) -> int:
        """Bytes of a storage."""
        return self._place(name)[1]

    def read(self, name: str) -> bytes:
        """The object's pickle, or the bytes of a storage."""
        if name == "data.pkl":
            return self._object
        start, length = self._place(name)
        self._file.seek(start)
        return bytes(self._file.read(length))

    def close(self) -> None:
        """The file of the caller stands after the checkpoint, where another may follow."""
        if self._own_file is not None:
            self._own_file.close()
        elif hasattr(self, "_stop"):
            self._file.seek(self._stop)


def write(out: Any, pickled: bytes, storages: dict[str, Any], protocol: int) -> None:
    """Writes an object's pickle and its storages (bytes by key, with their number of elements) in this format."""
    sizes = {"short": 2, "int": 4, "long": 4}
    facts = {"protocol_version": _VERSION, "little_endian": True, "type_sizes": sizes}
    out.write(MAGIC)
    for part in (_VERSION, facts):
        out.write(pickle.dumps(part, protocol=protocol))
    out.write(pickled)
    keys = sorted(storages)
    out.write(pickle.dumps(keys, protocol=protocol))
    for key in keys:
        count, data = storages[key]
        out.write(count.to_bytes(8, "little"))
        out.write(data)

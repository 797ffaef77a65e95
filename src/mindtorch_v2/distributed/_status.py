"""What every process of a job is communicating, so that an error can name who is missing and who does something else.

The launcher gives all processes of one machine a directory in MINDTORCH_DISTRIBUTED_STATUS. Each process keeps one
small file there, mapped into memory by all: its newest communication, and the last collectives of its groups. When a
collective is done here, the other processes of the group have begun it too, so that their notes tell whether it was the
same: MPI itself may take different ones for each other. Writing a note costs a copy of some bytes, comparing some
reads.
"""

from __future__ import annotations

import atexit
import contextlib
import mmap
import os
import struct
import sys
from functools import lru_cache
from typing import NamedTuple
from zlib import crc32

from . import _supervisor

_SLOT, _HISTORY = 384, 32  # bytes of a note; notes that are kept of collectives
_HEAD = struct.Struct("<qIii")  # key of the collective, checksum of what it is, 1 if done, length of the text
_KEY, _DONE = struct.Struct("<qI"), 12  # the beginning of a note, and where it says that it is done
_COUNT_BITS = 28  # of a key: which collective of its group it is; above them stands the group's id
_SIZE = _SLOT * (1 + _HISTORY)
_PID = "process-"  # of the names of files that hold a rank's process id
LAST = "What the processes did last:"
_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


class Entry(NamedTuple):
    """One communication of this process. `key` is the same for a collective in all processes of its group, 0 for
    communication between two."""

    text: str
    signature: int
    key: int
    of: str  # the group, where it is not of all processes

    def finish(self) -> None:
        """Notes that it is done."""
        if _board is not None:
            _board[_DONE] = 1  # the least byte of a number that was 0


_board: mmap.mmap | None = None
_own_rank = -1
_counts: dict[int, int] = {}  # collectives so far, by the number of their group
_others: dict[int, mmap.mmap] = {}


def directory() -> str:
    """The directory of the job's notes; '' where there is none."""
    return os.environ.get("MINDTORCH_DISTRIBUTED_STATUS", "")


def open_board(rank: int) -> None:
    """Begins to keep this process's file, where there is a directory for it."""
    global _board, _own_rank
    folder = directory()
    if not folder or not os.path.isdir(folder):
        return
    # A file that is there already (a second group of the process) never gets shorter: others read it through a mapping,
    # and are ended by the system (SIGBUS) where that reaches beyond the file's end.
    descriptor = os.open(os.path.join(folder, f"rank{rank}"), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        os.ftruncate(descriptor, _SIZE)
        _board = mmap.mmap(descriptor, _SIZE)
    finally:
        os.close(descriptor)
    _board[:] = bytes(_SIZE)
    _own_rank = rank
    _counts.clear()
    if process_ids(folder).get(rank) == str(os.getpid()):  # the launcher's own, which ends as a program ends
        with open(_supervisor.inside(folder, os.getpid()), "w", encoding="ascii"):
            atexit.register(leave)
    note_process(rank)


def leave() -> None:
    """Notes that this process ends, or is in no group any more: others do not need it."""
    with contextlib.suppress(FileNotFoundError):
        os.remove(_supervisor.inside(directory(), os.getpid()))


def note_process(rank: int) -> None:
    """Notes which process a rank is, where there is a directory for it."""
    folder = directory()
    if folder and os.path.isdir(folder):
        draft = os.path.join(folder, f"draft-{rank}")
        with open(draft, "w", encoding="ascii") as file:
            file.write(str(os.getpid()))
        os.replace(draft, os.path.join(folder, f"{_PID}{rank}"))


def group_id(ranks: list[int], before: int) -> int:
    """A number for a group that all its processes find by themselves: from its ranks, and how many groups of these
    ranks were formed before it. The group of all processes has 0."""
    return crc32(f"{ranks} {before}".encode())


def begin(description: str, same_for_all: str, group: int = -1, of: str = "") -> Entry:
    """Notes that this process begins a communication; the line of the program that asks for it is added.

    `same_for_all` is what must be equal in all processes of the group with the id `group`, which is -1 for
    communication between two processes; `of` is how errors name the group.
    """
    frame = sys._getframe(1)
    while frame.f_back is not None and is_own(frame.f_code.co_filename):
        frame = frame.f_back
    text, signature, encoded = _described(description, same_for_all, frame.f_code.co_filename, frame.f_lineno)
    key = _next_key(group) if group >= 0 else 0
    if _board is not None:
        note = _HEAD.pack(key, signature, 0, len(encoded)) + encoded
        _board[: len(note)] = note
        if key:
            at = _slot_offset(key)
            _board[at : at + len(note)] = note
    return Entry(text, signature, key, of)


def _next_key(group: int) -> int:
    """The key of the next collective of a group."""
    _counts[group] = count = _counts.get(group, 0) + 1
    return group << _COUNT_BITS | count & (1 << _COUNT_BITS) - 1


class Note:
    """The note of a collective that a line of the program asks for again and again, ready to be written.

    It is for those in which nobody ends before all have begun: unlike `begin`, it writes the parts of a note one after
    the other, and nobody may compare them meanwhile. `key` is what `begin()` gave.
    """

    __slots__ = ("_text", "_signature", "_group", "_of", "_encoded", "_pack")

    def __init__(self, description: str, file: str, line: int, group: int, of: str) -> None:
        self._text, self._signature, self._encoded = _described(description, description, file, line)
        self._group, self._of = group, of
        self._pack = struct.Struct(f"{_HEAD.format}{len(self._encoded)}s").pack_into

    def next_key(self) -> int:
        """The key of the next collective of its group, for who writes the note itself."""
        return _next_key(self._group)

    def parts(self) -> tuple[bytes, mmap.mmap | None, tuple[mmap.mmap, ...]]:
        """A note without its key, the file of this process, and those of all: what who writes it needs."""
        note = _HEAD.pack(0, self._signature, 0, len(self._encoded)) + self._encoded
        return note, _board, tuple(_boards().values())

    def begin(self) -> int:
        """Notes that this process begins it; gives the key."""
        key = _next_key(self._group)
        if _board is not None:
            encoded = self._encoded
            self._pack(_board, 0, key, self._signature, 0, len(encoded), encoded)
            self._pack(_board, _slot_offset(key), key, self._signature, 0, len(encoded), encoded)
        return key

    def entry(self, key: int) -> Entry:
        """The same as `begin` gives it for any communication."""
        return Entry(self._text, self._signature, key, self._of)

    def agrees(self, key: int) -> bool:
        """Whether no other process took something else for it (`difference` says what)."""
        at, own = _slot_offset(key), self._signature
        for board in (_others or _boards()).values():
            noted, signature = _KEY.unpack_from(board, at)
            if noted == key and signature != own:
                return False
        return True

    def finish(self) -> None:
        """Notes that it is done."""
        if _board is not None:
            _board[_DONE] = 1


def withdraw(entry: Entry) -> None:
    """Takes back what was noted last: its arguments were refused, so that nothing has begun."""
    if entry.key:
        _counts[entry.key >> _COUNT_BITS] -= 1
        if _board is not None:
            at = _slot_offset(entry.key)
            _board[at : at + 8] = bytes(8)
    entry.finish()


def _slot_offset(key: int) -> int:
    """Where the note of a collective stands in a file."""
    return _SLOT * (1 + key % 2**_COUNT_BITS % _HISTORY)


@lru_cache(4096)
def is_own(file: str) -> bool:
    """Whether a source file is of this package."""
    return file.startswith(_PACKAGE)


@lru_cache(4096)
def _described(description: str, same_for_all: str, file: str, line: int) -> tuple[str, int, bytes]:
    """What a note says, its checksum, and as much of the text as a note holds. Loops ask for the same again."""
    text = f"{description} at {file}:{line}"
    return text, crc32(same_for_all.encode()), text.encode()[: _SLOT - _HEAD.size]


def _boards() -> dict[int, mmap.mmap]:
    """The files of the other processes on this machine, by rank."""
    if not _others and _board is not None:
        _others.update(_open_boards(directory()))  # this process's own too: what was looked for once is there
    return _others


def _open_boards(folder: str) -> dict[int, mmap.mmap]:
    found = {}
    for name in os.listdir(folder):
        if name.startswith("rank"):
            with open(os.path.join(folder, name), "rb") as file:
                if os.fstat(file.fileno()).st_size == _SIZE:
                    found[int(name[4:])] = mmap.mmap(file.fileno(), _SIZE, access=mmap.ACCESS_READ)
    return dict(sorted(found.items()))


def _note(board: mmap.mmap, at: int) -> tuple[int, int, bool, str]:
    key, signature, done, length = _HEAD.unpack_from(board, at)
    return key, signature, bool(done), _text(board, at, length)


def _text(board: mmap.mmap, at: int, length: int) -> str:
    return board[at + _HEAD.size : at + _HEAD.size + length].decode(errors="replace")


def process_ids(folder: str) -> dict[int, str]:
    """The process ids of the ranks of this machine, as far as they have come."""
    found = {}
    for name in os.listdir(folder):
        if name.startswith(_PID):
            with open(os.path.join(folder, name), encoding="ascii") as file:
                found[int(name[len(_PID) :])] = file.read()
    return found


def ended() -> list[int]:
    """The ranks of this machine whose processes have ended."""
    if _board is None or not os.path.isdir(directory()):
        return []
    return sorted(rank for rank, pid in process_ids(directory()).items() if rank != _own_rank and not runs(pid))


def runs(pid: str) -> bool:
    """Whether a process is there and does something: one that ended and that nobody has waited for is there too."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] not in ("Z", "X")
    except OSError:
        return not os.path.isdir("/proc/self")  # without /proc nothing is known


def difference(entry: Entry) -> str:
    """What another process took for this collective, where that is known and not the same; else ''."""
    if entry.key == 0:
        return ""
    at = _slot_offset(entry.key)
    for rank, board in _boards().items():
        key, signature, _, length = _HEAD.unpack_from(board, at)
        if key == entry.key and signature != entry.signature:
            text = _text(board, at, length)
            mine = f"communication {key % 2**_COUNT_BITS}{entry.of} is {entry.text} on rank {_own_rank}"
            return f"Processes called different collectives: {mine}, and {text} on rank {rank}"
    return ""


def others(entry: Entry) -> str:
    """What the processes of this machine did last, for the end of a message."""
    if _board is None:
        return (
            " Start the program with `python -m mindtorch_v2.distributed.run` to be told what the other processes do."
        )
    wrong = difference(entry)
    return f" {wrong + '. ' if wrong else ''}{_last(_boards())}"


def summary(folder: str) -> str:
    """What the processes of a job whose notes are in a directory did last; '' where none formed a group."""
    boards = _open_boards(folder)
    return _last(boards) if boards else ""


def _last(boards: dict[int, mmap.mmap]) -> str:
    lines = [
        f"\n  rank {rank}: {text or 'nothing so far'}{' (done)' if done else ''}"
        for rank, (_, _, done, text) in sorted((rank, _note(board, 0)) for rank, board in boards.items())
    ]
    return LAST + "".join(lines)

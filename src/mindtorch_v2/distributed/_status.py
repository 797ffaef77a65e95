"""What every process of a job is communicating, so that an error can name who is missing.

The launcher gives all processes of one machine a directory in MINDTORCH_DISTRIBUTED_STATUS. Each keeps one small file there, mapped into
memory: the number and the description of its newest communication, and whether it is done. Writing it costs a copy of some bytes.
"""
from __future__ import annotations

import mmap
import os
import struct
import sys
from dataclasses import dataclass
from typing import ClassVar

_SIZE = 512
_HEAD = struct.Struct("<qqi")       # sequence number, 1 if done, length of the text
_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


@dataclass
class Entry:
    """One communication of this process."""

    sequence: int
    text: str
    board: ClassVar[mmap.mmap | None] = None

    def finish(self) -> None:
        """Notes that it is done."""
        if Entry.board is not None:
            Entry.board[8:16] = (1).to_bytes(8, "little")


_sequence = 0


def _directory() -> str:
    return os.environ.get("MINDTORCH_DISTRIBUTED_STATUS", "")


def open_board(rank: int) -> None:
    """Begins to keep this process's file, where there is a directory for it."""
    directory = _directory()
    if not directory or not os.path.isdir(directory):
        return
    with open(os.path.join(directory, f"rank{rank}"), "w+b") as file:
        file.truncate(_SIZE)
        Entry.board = mmap.mmap(file.fileno(), _SIZE)


def begin(description: str) -> Entry:
    """Notes that this process begins a communication; the line of the program that asks for it is added."""
    global _sequence
    _sequence += 1
    entry = Entry(_sequence, f"{description} at {_caller()}")
    if Entry.board is not None:
        text = entry.text.encode()[:_SIZE - _HEAD.size]
        Entry.board[:_HEAD.size + len(text)] = _HEAD.pack(entry.sequence, 0, len(text)) + text
    return entry


def _caller() -> str:
    """File and line of the innermost frame outside this package."""
    frame = sys._getframe(2)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def others(entry: Entry) -> str:
    """One line for each process whose newest communication is another one, or that says nothing; for the end of a message."""
    directory = _directory()
    if not directory:
        return " Start the program with `python -m mindtorch_v2.distributed.run` to be told what the other processes do."
    lines = []
    for name in sorted(os.listdir(directory), key=lambda n: int(n[4:]) if n[4:].isdigit() else -1):
        with open(os.path.join(directory, name), "rb") as file:
            data = file.read(_SIZE)
        sequence, done, length = _HEAD.unpack_from(data)
        text = data[_HEAD.size:_HEAD.size + length].decode(errors="replace") or "nothing so far"
        lines.append(f"\n  rank {name[4:]}: communication {sequence}, {text}{' (done)' if done else ''}")
    return f" This was communication {entry.sequence} of this process. What the processes did last:{''.join(lines)}"

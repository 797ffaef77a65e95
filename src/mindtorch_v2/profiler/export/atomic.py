"""Text files that appear whole or not at all, compressed where their names say so."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import IO, Protocol

from ..._files import atomic_file
from .threaded_writer import Blocks, GzipBlocks


class TextOut(Protocol):
    """What an exporter needs of a file."""

    def write(self, text: str, /) -> int: ...

    def write_bytes(self, data: bytes, /) -> int: ...


@contextlib.contextmanager
def atomic_writer(path: str | os.PathLike[str], *, compressed: bool | None = None) -> Iterator[TextOut]:
    """Open `path` for text; what was written replaces it when the block ends without an error: see `_files`.
    A name ending in ".gz" is compressed unless `compressed` says otherwise."""
    name = os.path.basename(os.path.realpath(os.fsdecode(os.fspath(path))))
    gz = name.endswith(".gz") if compressed is None else compressed
    with atomic_file(path) as raw, _text(raw, name, gz) as out:
        yield out


@contextlib.contextmanager
def _text(raw: IO[bytes], name: str, gz: bool) -> Iterator[TextOut]:
    """A text layer over `raw`."""
    blocks = GzipBlocks(raw, name) if gz else Blocks(raw)
    try:
        yield _Encoder(blocks)
        blocks.close()
    finally:
        blocks.abandon()


class _Encoder:
    """`write` for text over bytes; a lone surrogate (a name made from undecodable bytes) is written escaped."""

    def __init__(self, out: Blocks) -> None:
        self._out = out

    def write(self, text: str, /) -> int:
        return self._out.write(text.encode("utf-8", "backslashreplace"))

    def write_bytes(self, data: bytes, /) -> int:
        return self._out.write(data)

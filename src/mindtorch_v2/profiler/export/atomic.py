"""Files that appear whole or not at all."""
from __future__ import annotations

import contextlib
import os
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Protocol

from .behind import Blocks, GzipBlocks


class TextOut(Protocol):
    """What an exporter needs of a file."""

    def write(self, text: str, /) -> int: ...

    def write_bytes(self, data: bytes, /) -> int: ...


@contextlib.contextmanager
def atomic_writer(path: str | os.PathLike[str], *, compressed: bool | None = None) -> Iterator[TextOut]:
    """Open `path` for text; what was written takes its place when the block ends without an error: see `atomic_file`.
    A name ending in ".gz" is compressed unless `compressed` says otherwise."""
    target = Path(os.path.realpath(os.fsdecode(os.fspath(path))))
    gz = target.name.endswith(".gz") if compressed is None else compressed
    with atomic_file(path) as raw, _text(raw, target.name, gz) as out:
        yield out


@contextlib.contextmanager
def atomic_file(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open `path` for bytes; what was written takes its place when the block ends without an error.

    They go to a temporary file in the same directory, which is then renamed. When anything fails (the block,
    a full disk, a missing directory) the temporary file is removed, an earlier file at `path` stays as it was, and
    the error is raised with the name of `path`. A link is followed; devices and pipes are written to directly, since a
    rename would replace them.
    """
    target = Path(os.path.realpath(os.fsdecode(os.fspath(path))))
    in_place = target.exists() and not target.is_file() and not target.is_dir()
    temporary = target if in_place else target.parent / f".{target.name[:40]}.{os.getpid()}.{uuid.uuid4().hex[:12]}.tmp"
    try:
        with open(temporary, "wb" if in_place else "xb") as raw:
            yield raw
        if not in_place:
            os.replace(temporary, target)
    except BaseException as error:
        if not in_place:
            with contextlib.suppress(OSError):  # what is reported is why the export failed, not that cleaning up did
                temporary.unlink()
        if isinstance(error, OSError) and error.errno is not None:
            raise type(error)(error.errno, error.strerror, os.fspath(path)) from error
        raise


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

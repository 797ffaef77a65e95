"""Folders of segments that a flight recorder left on disk, as one store."""

from __future__ import annotations

import os

from . import storefile
from .event_store import EventStore
from .files import ProfileFileError
from .join import concat

SEGMENTS_SUFFIX = ".segments"
_ENDING = ".mindprof"


def is_segment_folder(path: str | os.PathLike[str]) -> bool:
    """Whether a path is a folder of segments."""
    return os.fspath(path).rstrip(os.sep).endswith(SEGMENTS_SUFFIX) and os.path.isdir(path)


def load_segments(path: str | os.PathLike[str]) -> tuple[EventStore, list[str]]:
    """The events of all segments, and what could not be read: a process that is killed may leave its last file
    unfinished. ProfileFileError where there is none that can be read."""
    folder = os.fspath(path)
    stores, problems = [], []
    for name in sorted(n for n in os.listdir(folder) if n.endswith(_ENDING) and not n.startswith(".")):
        try:
            stores.append(storefile.load(os.path.join(folder, name)))
        except ProfileFileError as error:
            problems.append(f"{name}: {error.problem}")
    if not stores:
        raise ProfileFileError(
            folder, "; ".join(problems) or "has no segments: the process ended before the first was written"
        )
    return concat(stores), problems

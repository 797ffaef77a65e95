"""Profiles from what a command line names: files, traces that need repair, torch_npu's folders."""

from __future__ import annotations

import os

from ..load.reader import load_trace
from ..load.repair import Repaired, find_trace, load_repaired
from ..store import storefile
from ..store.event_store import EventStore
from ..store.files import ProfileFileError
from ..store.segment_folder import is_segment_folder, load_segments
from .terminal import warn


def open_profile(path: str, quiet: bool = False) -> EventStore:
    """The store of a file or folder.

    What had to be repaired is said on stderr. OSError or ProfileFileError if it cannot be read.
    """
    found = read_profile(path)
    if not quiet:
        for repair in found.repairs:
            warn(f"{path}: {repair}")
    return found.store


def read_profile(path: str) -> Repaired:
    """The store of a file or folder, and what had to be repaired to read it."""
    if is_segment_folder(path):
        return Repaired(*load_segments(path))
    file = find_trace(path) if os.path.isdir(path) else path
    with open(file, "rb") as opened:
        start = opened.read(len(storefile.MAGIC))
    if not start:
        raise ProfileFileError(path, "is empty")
    if storefile.is_store_file(start):
        return Repaired(storefile.load(file), [])
    try:
        return Repaired(load_trace(file), [])
    except ProfileFileError as error:
        return load_repaired(file, error)

"""`load`: profiles from files, with what can be read from a profile that has just been recorded."""

from __future__ import annotations

import json
import os
from functools import cached_property
from typing import Any

from ..store import storefile
from ..store.event_store import EventStore
from ..store.files import ProfileFileError
from ..store.segment_folder import is_segment_folder, load_segments
from .results import Results

Path = str | os.PathLike[str]


def load(path: Path) -> LoadedProfile:
    """A profile from a file that `prof.save` wrote, from a trace (".json", ".json.gz") that this profiler or PyTorch
    wrote, or from the folder of segments that a flight recorder left.

    The events, tables and exports are those of a profile that has just been recorded; what ran on a GPU is
    attributed to the operators that launched it. OSError where there is no such file, ProfileFileError (a
    ValueError) where it is damaged, incomplete or something else.

    >>> import os, tempfile
    >>> with torch.profiler.profile() as prof:
    ...     y = torch.ones(2) + 1
    >>> path = os.path.join(tempfile.mkdtemp(), "trace.json")
    >>> prof.export_chrome_trace(path)
    >>> len(torch.profiler.load(path).events()) == len(prof.events())
    True
    """
    if is_segment_folder(path):
        return LoadedProfile(load_segments(path)[0], path)
    with open(path, "rb") as file:
        start = file.read(len(storefile.MAGIC))
    if not start:
        raise ProfileFileError(path, "is empty")
    if storefile.is_store_file(start):
        return LoadedProfile(storefile.load(path), path)
    from ..load.reader import load_trace

    return LoadedProfile(load_trace(path), path)


class LoadedProfile(Results):
    """The results of a profile, from a file. `store` holds the events, `path` is where they came from, `metadata`
    what was added to the profile (`add_metadata_json`, distributedInfo and the like).
    """

    def __init__(self, store: EventStore, path: Path | None = None) -> None:
        super().__init__(store)
        self.path = path
        options = store.metadata.options
        self.record_shapes, self.profile_memory = options.record_shapes, options.profile_memory
        self.with_stack, self.with_flops, self.with_modules = (
            options.with_stack,
            options.with_flops,
            options.with_modules,
        )
        self.use_device = store.metadata.use_device

    @cached_property
    def metadata(self) -> dict[str, Any]:
        return {key: _parse(text) for key, text in self.store.metadata.user.items()}

    def __str__(self) -> str:
        return self.table()

    def __repr__(self) -> str:
        source = "" if self.path is None else f" from {os.fspath(self.path)!r}"
        return f"<LoadedProfile of {len(self.store)} rows{source}>"


def _parse(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text

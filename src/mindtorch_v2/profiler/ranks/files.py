"""The files of a job: one profile or trace for each rank."""

from __future__ import annotations

import os
from pathlib import Path

from ..store.files import ProfileFileError
from ..store.segment_folder import is_segment_folder

_ENDINGS = (".json", ".json.gz", ".mindprof", ".mtprof")
_NO_PROFILES = ("memory_timeline", "execution_trace", "profiler_info", "profiler_metadata")


def rank_files(folder: str | os.PathLike[str]) -> list[str]:
    """The profiles and traces in a folder, in the order of their names; of torch_npu's one trace from each of its
    folders.

    ProfileFileError where there are none.
    """
    root = Path(folder)
    found = [
        path
        for path in sorted(root.iterdir())
        if path.is_file() and path.name.endswith(_ENDINGS) and not path.name.startswith(_NO_PROFILES)
    ]
    found = found or sorted(root.glob("*/ASCEND_PROFILER_OUTPUT/trace_view.json"))
    if not found:
        raise ProfileFileError(folder, f"is a folder without profiles or traces ({', '.join(_ENDINGS)})")
    return [str(path) for path in found]


def is_job(folder: str | os.PathLike[str]) -> bool:
    """Whether a folder holds the files of several ranks."""
    if not os.path.isdir(folder) or is_segment_folder(folder):
        return False
    try:
        return len(rank_files(folder)) > 1
    except ProfileFileError:
        return False

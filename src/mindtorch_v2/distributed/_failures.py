"""Errors that ended processes of a job, kept as files in the launcher's directory.

A file is complete or absent, whatever happens to its process afterwards. Processes on other machines do not see the
directory and print their errors themselves.
"""

from __future__ import annotations

import os
import time

from ._mpi import rank_from_environment
from ._status import directory

_PREFIX = "failure-"


def save(text: str) -> bool:
    """Saves the error of this process; False where there is no directory for it."""
    folder, info = directory(), rank_from_environment()
    if info is None or not os.path.isdir(folder):
        return False
    name = f"{time.time_ns():020d}-{info.rank}"
    draft = os.path.join(folder, name)
    with open(draft, "w", encoding="utf-8", errors="backslashreplace") as file:
        file.write(text)
    os.replace(draft, os.path.join(folder, _PREFIX + name))
    return True


def read(folder: str) -> list[tuple[int, str]]:
    """Rank and error of every process that saved one, the first failure first."""
    found = []
    for name in sorted(os.listdir(folder)):
        if name.startswith(_PREFIX):
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                found.append((int(name.rpartition("-")[2]), file.read()))
    return found

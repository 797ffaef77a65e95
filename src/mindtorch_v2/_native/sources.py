"""What a native module was built of, so that a build that is older than the C files beside it is noticed and not used.

setup.py compiles `description(...)` into every module, as its constant SOURCES. In a checkout the C files lie in this
folder; whoever pulls a newer version has Python that expects newer modules. An installed wheel has no C files, and its
modules fit.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cache

FOLDER = os.path.dirname(os.path.abspath(__file__))


@cache
def _change_time(path: str) -> int:
    """When a file was changed last: headers belong to several modules."""
    return os.stat(path).st_mtime_ns


def _digest(folder: str, names: Sequence[str]) -> str:
    from hashlib import sha256  # seldom: only where a file is newer than the module

    found = sha256()
    for name in names:
        with open(os.path.join(folder, name), "rb") as file:
            found.update(b"%b\0%d\0" % (name.encode(), os.fstat(file.fileno()).st_size) + file.read())
    return found.hexdigest()


def description(names: Sequence[str], folder: str = FOLDER) -> str:
    """The digest of C files and their names (relative to the folder, with "/"), a line each."""
    return "\n".join([_digest(folder, names), *names])


def is_stale(module_path: str, described: str | None, folder: str = FOLDER) -> bool:
    """Whether a module was built of other C files than those in the folder. `described` is its constant SOURCES, None
    where it has none because it is older than the constant.
    """
    if described is None:
        return True
    names = described.split("\n")[1:]
    built = os.stat(module_path).st_mtime_ns
    try:
        if not any(_change_time(f"{folder}/{name}") > built for name in names):
            return False
        return description(names, folder) != described  # a file that was only touched, or changed and changed back
    except FileNotFoundError:
        # Nothing to compare with in an installed wheel; in a checkout a file was deleted.
        return any(os.path.exists(os.path.join(folder, name)) for name in names)

"""Finding the library: the one that the environment names, that of the installed package, or the system's.

`MINDTORCH_ONEDNN` in the environment is a path of the library, or 0 to leave it unused.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from importlib import metadata
from typing import Any

from ..._native import get_num_threads, native_module, on_thread_count

VARIABLE = "MINDTORCH_ONEDNN"
NAME = "libdnnl.so.3"
DISTRIBUTIONS = ("onednn-cpu-gomp", "onednn-cpu-iomp")

native: Any = native_module("_onednn")
_version: tuple[int, int, int] | None = None
_path = ""
_why = ""  # why there is none, once it was looked for


def version() -> tuple[int, int, int] | None:
    """The version of the library that is in use; None where there is none. Looks for it if nobody has."""
    if _version is None and not _why:
        load()
    return _version


def path() -> str:
    """The file of the library that is in use; empty where there is none."""
    return _path if version() is not None else ""


def why_missing() -> str:
    """Why oneDNN is not used; empty where it is."""
    return "" if version() is not None else _why


def load() -> bool:
    """Opens the library, once; whether it can be used. If the environment names a file, it must be one that can."""
    global _version, _path, _why
    if _version is not None or _why:
        return _version is not None
    asked = os.environ.get(VARIABLE, "")
    if asked == "0":
        _why = f"{VARIABLE}=0"
    elif native is None:
        _why = "the native part of mindtorch_v2 is not there"
    else:
        reasons = []
        for candidate in [asked] if asked else _candidates():
            try:
                _version, _path = native.load(candidate), candidate
                on_thread_count(native.set_threads)
                native.set_threads(get_num_threads())
                return True
            except OSError as error:
                reasons.append(str(error))
        _why = "; ".join(reasons)
        if asked:
            raise RuntimeError(f"{VARIABLE} names a library that cannot be used: {_why}")
    return False


def _candidates() -> list[str]:
    """Paths of the library in the order in which they are tried; the last is a name for the system's loader."""
    beside = [os.path.join(prefix, "lib", NAME) for prefix in (sys.prefix, sysconfig.get_config_var("userbase") or "")]
    found = [path for path in beside if os.path.exists(path)]
    return [*found, *(() if found else _of_distributions()), NAME]


def _of_distributions() -> list[str]:
    """The library of an installed package that lies elsewhere, as with `pip install --target`."""
    paths = []
    for name in DISTRIBUTIONS:
        try:
            files = metadata.files(name) or []
        except metadata.PackageNotFoundError:
            continue
        paths += [os.path.realpath(file.locate()) for file in files if file.name == NAME]
    return paths

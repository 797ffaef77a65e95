"""Builds the simulator's library from its C source, once per version of the source, with the system's compiler."""

from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import os
import pathlib
import shutil
import subprocess
import tempfile
from typing import Any

NAME = "libascend_sim"
_ELSEWHERE = (
    "this installation does not contain it; install a wheel of mindtorch_v2, or check out its source and set "
    "MINDTORCH_NPU_SIM_SOURCE to the folder ascend_sim/"
)


def source_folder() -> pathlib.Path | None:
    """Where the simulator's source lies: in an installed package, beside it in a checkout, or where
    MINDTORCH_NPU_SIM_SOURCE says.
    """
    given = os.environ.get("MINDTORCH_NPU_SIM_SOURCE")
    candidates = (
        [pathlib.Path(given)] if given else [p / "ascend_sim" for p in pathlib.Path(__file__).resolve().parents[2:5]]
    )
    return next((c for c in candidates if (c / "build.py").is_file()), None)


def how_to_get() -> str:
    """The end of a message to somebody without an NPU: what to do for the simulator, if anything is left to do."""
    if os.environ.get("MINDTORCH_NPU_SIM") == "1":
        return ""
    if source_folder() is not None:
        return ", or set MINDTORCH_NPU_SIM=1 before the first use to run on the simulator"
    return f", or run on the simulator: {_ELSEWHERE}, and MINDTORCH_NPU_SIM=1"


def given_library() -> tuple[pathlib.Path, str] | None:
    """A library that is already built (with a sanitizer, say), where MINDTORCH_NPU_LIB names one."""
    given = pathlib.Path(os.environ.get("MINDTORCH_NPU_LIB", ""))
    return (given, "") if given.name.startswith(NAME) and given.is_file() else None


def _cache_folder() -> pathlib.Path:
    """A folder of the user's that can be written."""
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    wanted = pathlib.Path(home) / "mindtorch_v2"
    try:
        wanted.mkdir(parents=True, exist_ok=True)
    except OSError:
        wanted = pathlib.Path(tempfile.gettempdir()) / f"mindtorch_v2-{os.getuid()}"
        wanted.mkdir(mode=0o700, exist_ok=True)
    return wanted


def _builder(folder: pathlib.Path) -> Any:
    """The simulator's own build script."""
    spec = importlib.util.spec_from_file_location("ascend_sim_build", folder / "build.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def build() -> tuple[pathlib.Path | None, str]:
    """The library's path, or None and the reason."""
    folder = source_folder()
    if folder is None:
        given = os.environ.get("MINDTORCH_NPU_SIM_SOURCE")
        where = f"MINDTORCH_NPU_SIM_SOURCE={given} has no build.py" if given else _ELSEWHERE
        return None, f"MINDTORCH_NPU_SIM=1, but the source of the simulator is not there: {where}"
    digest = hashlib.sha256(os.environ.get("CC", "").encode())
    for path in sorted([*folder.glob("*.[ch]"), folder / "build.py"]):
        digest.update(path.name.encode() + path.read_bytes())
    target = _cache_folder() / f"{NAME}-{digest.hexdigest()[:16]}.so"
    if target.is_file():
        return target, ""
    if shutil.which(os.environ.get("CC", "gcc")) is None:
        return None, "MINDTORCH_NPU_SIM=1, but there is no C compiler to build the simulator with"
    with open(target.with_suffix(".lock"), "w") as lock, tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        fcntl.flock(lock, fcntl.LOCK_EX)  # of several processes one builds
        if target.is_file():
            return target, ""
        try:
            made = _builder(folder).build(pathlib.Path(scratch))
        except subprocess.CalledProcessError as error:
            return None, f"the simulator could not be built: {error}"
        os.replace(made, target)
    return target, ""

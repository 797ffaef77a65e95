"""Builds the simulator's library from its C source, once per version of the source, with the system's compiler."""
from __future__ import annotations

import hashlib
import os
import pathlib
import shutil
import subprocess
import tempfile

FLAGS = ("-std=gnu11", "-O3", "-march=native", "-fPIC", "-shared", "-fvisibility=hidden", "-pthread", "-fno-math-errno")
NAME = "libascend_sim"


def source_folder() -> pathlib.Path | None:
    """Where the simulator's source lies: beside the package in a checkout, or where MINDTORCH_NPU_SIM_SOURCE says."""
    given = os.environ.get("MINDTORCH_NPU_SIM_SOURCE")
    candidates = [pathlib.Path(given)] if given else [p / "ascend_sim" for p in pathlib.Path(__file__).resolve().parents[2:5]]
    return next((c for c in candidates if (c / "sim.h").is_file()), None)


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


def build() -> tuple[pathlib.Path | None, str]:
    """The library's path, or None and the reason."""
    folder = source_folder()
    if folder is None:
        return None, "MINDTORCH_NPU_SIM=1, but the source of the simulator (ascend_sim/) is not there"
    compiler = next((c for c in (os.environ.get("CC", ""), "cc", "gcc", "clang") if c and shutil.which(c)), None)
    sources = sorted(folder.glob("*.c"))
    digest = hashlib.sha256(repr((FLAGS, compiler)).encode())
    for path in sorted([*sources, *folder.glob("*.h")]):
        digest.update(path.name.encode() + path.read_bytes())
    target = _cache_folder() / f"{NAME}-{digest.hexdigest()[:16]}.so"
    if target.is_file():
        return target, ""
    if compiler is None:
        return None, "MINDTORCH_NPU_SIM=1, but there is no C compiler to build the simulator with"
    handle, made = tempfile.mkstemp(suffix=".so", dir=target.parent)
    os.close(handle)
    done = subprocess.run([compiler, *FLAGS, "-o", made, *map(str, sources), "-lm"], capture_output=True, text=True, check=False)
    if done.returncode:
        os.unlink(made)
        return None, f"the simulator could not be built: {done.stderr[-2000:]}"
    os.replace(made, target)   # another process may have been faster: both made the same
    return target, ""

#!/usr/bin/env python3
"""Build libascend_sim.so with the system C compiler.

python ascend_sim/build.py                     optimised library
python ascend_sim/build.py --sanitize address  with AddressSanitizer and UBSan (or: thread)
python ascend_sim/build.py --without-mspti     without the MSPTI symbols, as on a machine that lacks the library
python ascend_sim/build.py --cann-root DIR     also lay out DIR/lib64 with links under the vendor's library names
"""

from __future__ import annotations

import argparse
import fcntl
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
FLAGS = ["-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-fPIC", "-fvisibility=hidden", "-pthread"]
HOT = ("ops_matmul", "ops_conv")  # worth the compiler's time
SANITIZERS = {"address": ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"], "thread": ["-fsanitize=thread"]}
LIBRARY_NAMES = (
    "ascendcl", "opapi", "nnopbase", "acl_op_compiler", "mspti", "msprofiler", "ms_tools_ext", "ascend_hal", "hccl",
    "ge_runner", "graph", "acl_tdt_channel",
)  # fmt: skip


def variant_name(sanitize: str | None, without_mspti: bool) -> str:
    parts = ["libascend_sim"]
    if sanitize:
        parts.append(sanitize)
    if without_mspti:
        parts.append("nomspti")
    return "_".join(parts)


def build(out_dir: Path, sanitize: str | None = None, without_mspti: bool = False, force: bool = False) -> Path:
    """Compile what changed and link; returns the path of the library."""
    name = variant_name(sanitize, without_mspti)
    target = out_dir / f"{name}.so"
    objects = out_dir / f"{name}.objects"
    objects.mkdir(parents=True, exist_ok=True)
    with open(objects / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # several test processes may ask for the library at once
        return _build_locked(target, objects, sanitize, without_mspti, force)


def _build_locked(target: Path, objects: Path, sanitize: str | None, without_mspti: bool, force: bool) -> Path:
    sources = sorted(HERE.glob("*.c"))
    newest_header = max(path.stat().st_mtime for path in [*HERE.glob("*.h"), HERE / "build.py"])
    flags = [*FLAGS, *(["-Werror", "-g", "-O1", *SANITIZERS[sanitize]] if sanitize else ["-O2"])]
    if without_mspti:
        flags.append("-DSIM_NO_MSPTI")
    compiler = os.environ.get("CC", "gcc")

    def compile_one(source: Path) -> Path:
        made = objects / f"{source.stem}.o"
        stale = not made.exists() or made.stat().st_mtime < max(source.stat().st_mtime, newest_header)
        if force or stale:
            further = ["-O3"] if source.stem in HOT and not sanitize else []
            subprocess.run([compiler, *flags, *further, "-c", str(source), "-o", str(made)], check=True)
        return made

    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        made = list(pool.map(compile_one, sources))
    if force or not target.exists() or any(path.stat().st_mtime > target.stat().st_mtime for path in made):
        partial = target.with_suffix(f".{os.getpid()}.tmp")
        link = [compiler, "-shared", *(SANITIZERS[sanitize] if sanitize else []), "-o", str(partial)]
        subprocess.run([*link, *map(str, made), "-pthread", "-lm"], check=True)
        partial.replace(target)
    return target


def lay_out(root: Path, library: Path) -> None:
    """Make `root` look like an installation: every library name is a link to the simulator."""
    lib64 = root / "lib64"
    lib64.mkdir(parents=True, exist_ok=True)
    for name in LIBRARY_NAMES:
        link = lib64 / f"lib{name}.so"
        link.unlink(missing_ok=True)
        link.symlink_to(library)
    for folder in ("runtime", "compiler", "opp"):  # clients look whether they are there
        (root / folder).mkdir(exist_ok=True)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=HERE / "build", help="directory for the library")
    parser.add_argument("--sanitize", choices=sorted(SANITIZERS))
    parser.add_argument("--without-mspti", action="store_true")
    parser.add_argument("--force", action="store_true", help="compile everything again")
    parser.add_argument("--cann-root", type=Path)
    options = parser.parse_args(arguments)
    library = build(options.out.resolve(), options.sanitize, options.without_mspti, options.force)
    if options.cann_root:
        lay_out(options.cann_root.resolve(), library)
    print(library)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Runs the same programs with the vendor's torch_npu and with this package, both on the simulator, and compares what
they saw.

    python scripts/npu_oracle/run.py                    all programs
    python scripts/npu_oracle/run.py memory streams     some of them

Needs torch 2.13.0 and torch_npu 2.13.0 (`make oracle` makes an environment). Differences that are wanted stand in
known.py with their reasons; any other one, and any declared one that no longer occurs, ends the run with status 1.
"""

from __future__ import annotations

import importlib.util
import json
import os
import pathlib
import subprocess
import sys
from typing import Any

from client import MARK
from compare import Difference, differences, reason, values
from known import KNOWN

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PROGRAMS = sorted(p.stem for p in (HERE / "programs").glob("*.py") if p.stem != "__init__")
TIMEOUT = 300
LINKED = ("profiler",)


def installation(folder: pathlib.Path) -> pathlib.Path:
    """A folder that looks like a CANN installation, in which every library is the simulator."""
    spec = importlib.util.spec_from_file_location("ascend_sim_build", ROOT / "ascend_sim" / "build.py")
    assert spec is not None and spec.loader is not None
    build = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(build)
    build.lay_out(folder, build.build(folder / "simulator"))
    return folder


def environment(which: str, program: str, cann: pathlib.Path) -> dict[str, str]:
    """What a client needs to find the simulator. torch_npu launches from a thread of its own, and links kernels to
    their operators only where that is switched off: a program that looks at such links has it off, the others have
    it as it comes.
    """
    base = {k: v for k, v in os.environ.items() if not k.startswith(("ASCEND_", "MINDTORCH_", "TORCH_"))}
    base["OPENBLAS_NUM_THREADS"] = base["OMP_NUM_THREADS"] = "1"
    if which == "mindtorch_v2":
        return {**base, "MINDTORCH_NPU_SIM": "1", "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(HERE)])}
    return {
        **base,
        "ASCEND_HOME_PATH": str(cann),
        "ASCEND_OPP_PATH": str(cann / "opp"),
        "LD_LIBRARY_PATH": str(cann / "lib64"),
        "TORCH_DEVICE_BACKEND_AUTOLOAD": "0",
        "KINETO_LOG_LEVEL": "99",
        "PYTHONPATH": str(HERE),
        **({"TASK_QUEUE_ENABLE": "0"} if program in LINKED else {}),
    }


def observe(which: str, program: str, cann: pathlib.Path) -> Any:
    """What a program saw with a client, or a text that says how it ended."""
    done = subprocess.run(
        [sys.executable, str(HERE / "client.py"), which, program],
        env=environment(which, program, cann),
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith(MARK)]
    if lines:
        return json.loads(lines[-1].removeprefix(MARK))
    return f"ended with status {done.returncode}: {done.stderr.strip()[-1500:]}"


def report(program: str, vendor: Any, ours: Any, used: set[str]) -> list[Difference]:
    """Prints the outcome of one program; gives the differences that nobody declared."""
    found = differences(vendor, ours, f"/{program}")
    unknown, declared = [], 0
    for difference in found:
        why = reason(difference.path, KNOWN)
        if why is None:
            unknown.append(difference)
        else:
            declared += 1
            used.update(pattern for pattern in KNOWN if reason(difference.path, {pattern: why}))
    print(f"{program:16} {values(vendor):5} values, {declared:3} declared differences, {len(unknown):3} others")
    for difference in unknown:
        print("   ", difference)
    return unknown


def main() -> int:
    programs = sys.argv[1:] or PROGRAMS
    cann = installation(ROOT / "build" / "cann")
    used: set[str] = set()
    others = 0
    for program in programs:
        vendor, ours = (observe(which, program, cann) for which in ("torch_npu", "mindtorch_v2"))
        others += len(report(program, vendor, ours, used))
    stale = [p for p in KNOWN if p not in used] if programs == PROGRAMS else []
    if used:
        print("\ndeclared differences:")
        for pattern in KNOWN:
            if pattern in used:
                print(f"  {pattern}: {KNOWN[pattern]}")
    for pattern in stale:
        print(f"STALE: {pattern} is declared but no longer differs")
    print(f"\n{len(programs)} programs, {others} differences that nobody declared")
    return 1 if others or stale else 0


if __name__ == "__main__":
    sys.exit(main())
